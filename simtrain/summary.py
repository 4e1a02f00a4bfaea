"""The figures of a run: success with its confidence interval, steps, stop reasons, cost."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass, field
from math import sqrt
from typing import cast

from simtrain.types import JsonObject, JsonValue

SUCCESS = 1 - 1e-9
Z = 1.959963984540054


@dataclass(slots=True)
class Tally:
    """Figures over some trajectories. A success is a reward of 1; an episode without a reward does not count in the rate."""

    episodes: int = 0
    graded: int = 0
    successes: int = 0
    rewards: float = 0.0
    steps: int = 0
    errors: int = 0
    tokens: int = 0
    cost: float = 0.0
    stops: Counter[str] = field(default_factory=Counter[str])

    def add(
        self, reward: float | None, *, stop: str, steps: int, errors: int = 0, tokens: int = 0, cost: float = 0.0
    ) -> None:
        """Count one trajectory."""
        self.episodes += 1
        self.steps += steps
        self.errors += errors
        self.tokens += tokens
        self.cost += cost
        self.stops[stop] += 1
        if reward is not None:
            self.graded += 1
            self.rewards += reward
            self.successes += reward >= SUCCESS

    def facts(self) -> JsonObject:
        """The figures as JSON."""
        low, high = wilson(self.successes, self.graded)
        return {
            "episodes": self.episodes,
            "graded": self.graded,
            "success": _share(self.successes, self.graded),
            "success_low": low,
            "success_high": high,
            "mean_reward": _share(self.rewards, self.graded),
            "mean_steps": _share(self.steps, self.episodes),
            "mean_error_replies": _share(self.errors, self.episodes),
            "stops": dict(sorted(self.stops.items())),
            "tokens": self.tokens,
            "cost": round(self.cost, 6),
        }


def wilson(successes: int, total: int) -> tuple[float | None, float | None]:
    """The 95 % confidence interval of a share, by Wilson's score (1927); (None, None) without observations."""
    if total == 0:
        return None, None
    share, spread = successes / total, Z * Z / total
    centre = (share + spread / 2) / (1 + spread)
    half = Z * sqrt(share * (1 - share) / total + spread / (4 * total)) / (1 + spread)
    return round(max(0.0, centre - half), 6), round(min(1.0, centre + half), 6)


def _share(part: float, whole: int) -> float | None:
    return round(part / whole, 6) if whole else None


def summarise(rows: Iterable[JsonObject]) -> JsonObject:
    """The figures of all trajectories together, by scenario and (where it was compared in arms) by arm, as summary.json holds them."""
    total, by_scenario, by_arm = Tally(), dict[str, Tally](), dict[str, Tally]()
    for row in rows:
        _count(total, row)
        _count(by_scenario.setdefault(str(row["scenario"]), Tally()), row)
        if row.get("arm"):
            _count(by_arm.setdefault(str(row["arm"]), Tally()), row)
    found: JsonObject = {"total": total.facts(), "scenarios": _facts(by_scenario)}
    return {**found, "arms": _facts(by_arm)} if by_arm else found


def _facts(tallies: dict[str, Tally]) -> JsonObject:
    return {name: tally.facts() for name, tally in sorted(tallies.items())}


def _count(tally: Tally, row: JsonObject) -> None:
    steps: list[JsonValue] = [step for turn in row["turns"] for step in turn["steps"]]
    usage = cast(JsonObject, row.get("usage") or {})
    tally.add(
        row["reward"],
        stop=row["stop"]["reason"],
        steps=len(steps),
        errors=sum(step["observation"]["is_error"] for step in steps),
        tokens=usage.get("prompt_tokens", 0) + usage.get("completion_tokens", 0),
        cost=usage.get("cost", 0.0),
    )
