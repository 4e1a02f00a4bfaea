"""The figures of a run: success with its confidence interval over cases, steps, stop reasons, cost."""

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from typing import TypeAlias, cast

from simtrain.contracts.trajectory import SUCCESS
from simtrain.runs.intervals import share_interval
from simtrain.values.types import JsonObject, JsonValue

REASONS = 5
"""How many reasons for missing rewards a summary lists, the most frequent first."""

Case: TypeAlias = tuple[str, str]
"""Scenario and episode: shared by all attempts and arms."""


@dataclass(slots=True)
class Tally:
    """Figures over some trajectories. A success is a reward of 1. Episodes without a reward do not count in the success rate.

    Attempts at one case are not independent, so the confidence interval of the rate is computed over cases.
    """

    episodes: int = 0
    graded: int = 0
    successes: int = 0
    rewards: float = 0.0
    steps: int = 0
    errors: int = 0
    tokens: int = 0
    cost: float = 0.0
    stops: Counter[str] = field(default_factory=Counter[str])
    ungraded: Counter[str] = field(default_factory=Counter[str])
    cases: dict[Case, tuple[int, int]] = field(default_factory=dict[Case, tuple[int, int]])

    def add(self, row: JsonObject) -> None:
        """Count one trajectory."""
        steps: list[JsonValue] = [step for turn in row["turns"] for step in turn["steps"]]
        usage = cast(JsonObject, row.get("usage") or {})
        self.episodes += 1
        self.steps += len(steps)
        self.errors += sum(step["observation"]["is_error"] for step in steps)
        self.tokens += usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0)
        self.cost += usage.get("cost", 0.0)
        self.stops[row["stop"]["reason"]] += 1
        self.ungraded.update(
            f"{reward['grader']}: {reward['error']}" for reward in row["rewards"] if reward["value"] is None
        )
        reward = row["reward"]
        if reward is not None:
            self.graded += 1
            self.rewards += reward
            self.successes += reward >= SUCCESS
            case = (row["scenario"], row["episode"])
            passed, tried = self.cases.get(case, (0, 0))
            self.cases[case] = (passed + (reward >= SUCCESS), tried + 1)

    def facts(self) -> JsonObject:
        """Return the figures as JSON."""
        low, high = share_interval(list(self.cases.values()))
        return {
            "episodes": self.episodes,
            "graded": self.graded,
            "cases": len(self.cases),
            "success": _share(self.successes, self.graded),
            "success_low": low,
            "success_high": high,
            "mean_reward": _share(self.rewards, self.graded),
            "mean_steps": _share(self.steps, self.episodes),
            "mean_error_replies": _share(self.errors, self.episodes),
            "stops": dict(sorted(self.stops.items())),
            "ungraded": dict(sorted(self.ungraded.items(), key=lambda item: (-item[1], item[0]))[:REASONS]),
            "tokens": self.tokens,
            "cost": round(self.cost, 6),
        }


def _share(part: float, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None


def summarise(rows: Iterable[JsonObject]) -> JsonObject:
    """Return the content of summary.json: figures of all trajectories, by scenario and, if there are arms, by arm."""
    total, by_scenario, by_arm = Tally(), dict[str, Tally](), dict[str, Tally]()
    for row in rows:
        total.add(row)
        by_scenario.setdefault(str(row["scenario"]), Tally()).add(row)
        if row.get("arm"):
            by_arm.setdefault(str(row["arm"]), Tally()).add(row)
    found: JsonObject = {"total": total.facts(), "scenarios": _facts(by_scenario)}
    return {**found, "arms": _facts(by_arm)} if by_arm else found


def _facts(tallies: dict[str, Tally]) -> JsonObject:
    return {name: tally.facts() for name, tally in sorted(tallies.items())}
