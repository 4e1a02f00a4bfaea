"""Survey perturbations over scenario families, each alone and all together: how many cases can be solved, and by which agents."""

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import asdict, dataclass, field
from multiprocessing import get_context
from pathlib import Path

from simtrain.agents.select import build_agent
from simtrain.contracts.agent import Agent
from simtrain.contracts.perturbation import Armed
from simtrain.contracts.scenario import Episode, Scenario
from simtrain.contracts.trajectory import SUCCESS
from simtrain.runs.rollout import rollout
from simtrain.runs.solvability.search import Label, Solution, solve
from simtrain.scenarios.arms import armed, bundles
from simtrain.scenarios.load import load_scenario_file, paradigm_of
from simtrain.values.arm import Arm
from simtrain.values.seeding import Stream, derive
from simtrain.values.types import JsonObject

CASES = 3
"""Default number of cases tried per family."""

TOGETHER = "(together)"


@dataclass(frozen=True, slots=True)
class PackArm:
    """Perturbations that are armed together: one of a pack, or the whole pack. `recoverable`: an agent can do more than abstain."""

    pack: str
    label: str
    scenario: Scenario
    recoverable: bool


@dataclass(frozen=True, slots=True)
class AgentEnding:
    """How an agent's episode ended: whether it succeeded, and whether the agent declined the task."""

    success: bool
    abstained: bool


@dataclass(frozen=True, slots=True)
class Pair:
    """One case under one arm, and the result; nothing is proved if nothing fired. `played`: the ending by agent."""

    family: str
    pack: str
    label: str
    recoverable: bool
    episode: str
    solution: Solution
    proof: JsonObject | None
    played: Mapping[str, AgentEnding] = field(default_factory=dict[str, "AgentEnding"])

    @property
    def counts(self) -> bool:
        """True if the case was perturbed."""
        return bool(self.solution.fired)

    def facts(self) -> JsonObject:
        """Return the pair as JSON, without its proof."""
        return {
            "scenario": self.family,
            "episode": self.episode,
            "pack": self.pack,
            "perturbation": self.label,
            "recoverable": self.recoverable,
            "fired": list(self.solution.fired),
            "label": self.solution.label,
            "reason": self.solution.reason,
            "agents": {name: asdict(ending) for name, ending in self.played.items()},
        }


@dataclass(frozen=True, slots=True)
class Job:
    """One worker's unit of work: one family under one pack. `cases` are sampled; None takes all.

    `agents` play every pair as well; `alone` leaves out the pack as a whole.
    """

    file: Path
    family: str
    pack: str
    cases: int | None
    seed: int
    agents: tuple[str, ...] = ()
    alone: bool = False


def arms_of(scenario: Scenario, pack: str, *, alone: bool = False) -> Iterator[PackArm]:
    """Yield every perturbation of a pack alone and, without `alone`, the whole pack, over a family.

    Raises InputError for a pack that does not fit the family.
    """
    # Loaded for its checks alone: a pack that does not fit is reported with file and line.
    load_scenario_file(scenario.document.path, scenario.name, packs=[pack])
    (bundle,) = bundles(scenario, (pack,))
    groups: dict[str, tuple[Armed, ...]] = {name: (item,) for name, item in bundle.armed.items()}
    if len(groups) > 1 and not alone:
        groups[TOGETHER] = tuple(bundle.armed.values())
    for name, items in groups.items():
        arm = Arm(f"{bundle.name}/{name}", (pack,), tuple(item.label for item in items))
        recoverable = all(set(item.perturbation.traits.recoverable_by) - {"abstain"} for item in items)
        yield PackArm(bundle.name, name, armed(scenario, arm), recoverable)


def survey(jobs: Sequence[Job], *, workers: int = 1, on_done: Callable[[], None] = lambda: None) -> list[Pair]:
    """Solve every case of every job. Raises InputError."""
    if workers == 1:
        return [pair for job in jobs for pair in _reported(_survey(job), on_done)]
    # Not fork: a child would share locks and SQLite connections with this process.
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return [pair for pairs in pool.map(_survey, jobs) for pair in _reported(pairs, on_done)]


def _reported(pairs: list[Pair], on_done: Callable[[], None]) -> list[Pair]:
    on_done()
    return pairs


def _survey(job: Job) -> list[Pair]:
    return asyncio.run(_solve_all(job))


async def _solve_all(job: Job) -> list[Pair]:
    scenario = load_scenario_file(job.file, job.family)
    agents = {name: build_agent(name) for name in job.agents}
    return [
        await _pair(arm, episode, agents)
        for arm in arms_of(scenario, job.pack, alone=job.alone)
        for episode in _episodes(arm, job)
    ]


def _episodes(arm: PackArm, job: Job) -> Iterator[Episode]:
    """Yield the same cases under every arm."""
    episodes = list(paradigm_of(arm.scenario).episodes(arm.scenario, seed=job.seed, attempts=1))
    if job.cases is None:
        yield from episodes
    else:
        yield from Stream(derive(job.seed, job.family, "survey")).sample(episodes, job.cases)


async def _pair(arm: PackArm, episode: Episode, agents: Mapping[str, Agent]) -> Pair:
    solution = await solve(episode)
    proof = solution.trace.facts(episode) if solution.trace is not None else None
    # Where nothing fired the ending says nothing about the perturbation.
    played = {name: await _ending(episode, agent, name) for name, agent in agents.items() if solution.fired}
    return Pair(arm.scenario.name, arm.pack, arm.label, arm.recoverable, episode.id, solution, proof, played)


async def _ending(episode: Episode, agent: Agent, name: str) -> AgentEnding:
    played = await rollout(episode, agent, name=name)
    return AgentEnding(played.reward is not None and played.reward >= SUCCESS, played.stop.reason == "abstained")


@dataclass(frozen=True, slots=True)
class SurveyRow:
    """The figures of one perturbation over all families: the pairs of a case in which it fired, and their outcomes.

    `earned`: by agent, the share of the proved pairs that it solves; None if nothing is proved.
    """

    pack: str
    label: str
    recoverable: bool
    tried: int
    labels: Counter[Label]
    earned: Mapping[str, float | None]

    @property
    def pairs(self) -> int:
        """Return the number of pairs in which the perturbation fired."""
        return self.labels.total()

    @property
    def share(self) -> float | None:
        """Return the share of these pairs that is proved; None if it fired in none."""
        return self.labels["proved"] / self.pairs if self.pairs else None

    def facts(self) -> JsonObject:
        """Return the row as JSON."""
        labels: tuple[Label, ...] = ("proved", "unsolvable", "unproved", "unnoticeable")
        return {
            "pack": self.pack,
            "perturbation": self.label,
            "recoverable": self.recoverable,
            "tried": self.tried,
            "pairs": self.pairs,
            **{label: self.labels[label] for label in labels},
            "share": self.share,
            "agents": dict(self.earned),
        }


def rows_of(pairs: Sequence[Pair]) -> list[SurveyRow]:
    """Return one row for each perturbation of each pack, in order of appearance."""
    grouped: dict[tuple[str, str], list[Pair]] = {}
    for pair in pairs:
        grouped.setdefault((pair.pack, pair.label), []).append(pair)
    return [
        SurveyRow(
            pack,
            label,
            found[0].recoverable,
            len(found),
            Counter(pair.solution.label for pair in found if pair.counts),
            {name: earned_share(found, name) for name in agents_of(found)},
        )
        for (pack, label), found in grouped.items()
    ]


def agents_of(pairs: Iterable[Pair]) -> list[str]:
    """Return the agents that played, in order."""
    return list(dict.fromkeys(name for pair in pairs for name in pair.played))


def earned_share(pairs: Iterable[Pair], agent: str) -> float | None:
    """Return the share of the proved pairs that an agent solves."""
    return _share(pair.played[agent].success for pair in _played(pairs, agent, "proved"))


def declined_share(pairs: Iterable[Pair], agent: str) -> float | None:
    """Return the share of the unsolvable pairs in which an agent declines."""
    return _share(pair.played[agent].abstained for pair in _played(pairs, agent, "unsolvable"))


def missed(pairs: Iterable[Pair], agent: str) -> list[Pair]:
    """Return the proved pairs that an agent does not solve."""
    return [pair for pair in _played(pairs, agent, "proved") if not pair.played[agent].success]


def _played(pairs: Iterable[Pair], agent: str, label: Label) -> Iterator[Pair]:
    return (pair for pair in pairs if agent in pair.played and pair.solution.label == label)


def _share(held: Iterable[bool]) -> float | None:
    found = list(held)
    return sum(found) / len(found) if found else None


def proved_share(pairs: Sequence[Pair]) -> float | None:
    """Return the proved share of all pairs with a recoverable perturbation that fired, whole packs included."""
    return _share(pair.solution.label == "proved" for pair in pairs if pair.counts and pair.recoverable)
