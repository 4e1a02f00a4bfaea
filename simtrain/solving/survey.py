"""What perturbations leave of scenario families: cases, each perturbation alone and all together, and how many can still be solved."""

from __future__ import annotations

import asyncio
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from concurrent.futures import ProcessPoolExecutor
from dataclasses import dataclass, replace
from hashlib import blake2b
from multiprocessing import get_context
from pathlib import Path

from simtrain.assembly import arm_pack, load_scenario_file, paradigm_of
from simtrain.catalog import find
from simtrain.documents import read_document
from simtrain.errors import InputError
from simtrain.scenario import Armed, Episode, PackSpec, Scenario
from simtrain.seeding import Stream, derive
from simtrain.solving.search import Label, Solution, solve
from simtrain.types import JsonObject, canonical

CASES = 3
"""Cases of each family that are tried where nothing else is asked."""

TOGETHER = "(together)"


@dataclass(frozen=True, slots=True)
class Arm:
    """Perturbations that are armed together: one of a pack, or all of it. `recoverable`: an agent can do more than abstain."""

    pack: str
    label: str
    scenario: Scenario
    recoverable: bool


@dataclass(frozen=True, slots=True)
class Pair:
    """One case under one arm, and what was found out; nothing is to be proved where nothing fired."""

    family: str
    pack: str
    label: str
    uses: tuple[str, ...]
    recoverable: bool
    episode: str
    solution: Solution
    proof: JsonObject | None

    @property
    def counts(self) -> bool:
        """Whether the case was perturbed at all."""
        return bool(self.solution.fired)


@dataclass(frozen=True, slots=True)
class Job:
    """What one worker does at a time: one family under some packs. `cases` are sampled; None takes all."""

    file: Path
    family: str
    packs: tuple[str, ...]
    cases: int | None
    seed: int


def arms_of(scenario: Scenario, packs: Sequence[str]) -> list[Arm]:
    """Every perturbation of the packs alone, and each pack as a whole, over a family. Raises InputError for packs that do not fit."""
    found: list[Arm] = []
    for name in packs:
        document = read_document(find("perturbations", name))
        pack, armed = document.parse(PackSpec), arm_pack(document)
        alone = [Arm(pack.name, item.label, _armed(scenario, (item,)), _recoverable((item,))) for item in armed]
        found.extend(alone)
        if len(armed) > 1:
            whole = load_scenario_file(scenario.document.path, scenario.name, packs=[name])
            found.append(Arm(pack.name, TOGETHER, whole, all(arm.recoverable for arm in alone)))
    return found


def _armed(scenario: Scenario, armed: tuple[Armed, ...]) -> Scenario:
    """The scenario with these perturbations in the place of its own."""
    facts = [[item.label, item.use, item.when.model_dump(), item.perturbation.model_dump()] for item in armed]
    digest = blake2b(canonical([scenario.digest, facts]), digest_size=16).hexdigest()
    return replace(scenario, perturbations=armed, digest=digest)


def _recoverable(armed: Iterable[Armed]) -> bool:
    return all(set(item.perturbation.recoverable_by) - {"abstain"} or not item.perturbation.permanent for item in armed)


def survey(jobs: Sequence[Job], *, workers: int = 1, on_done: Callable[[], None] = lambda: None) -> list[Pair]:
    """Solve every case of every job. Raises InputError."""
    if workers == 1:
        return [pair for job in jobs for pair in _told(_survey(job), on_done)]
    with ProcessPoolExecutor(workers, mp_context=get_context("spawn")) as pool:
        return [pair for pairs in pool.map(_survey, jobs) for pair in _told(pairs, on_done)]


def _told(pairs: list[Pair], on_done: Callable[[], None]) -> list[Pair]:
    on_done()
    return pairs


def _survey(job: Job) -> list[Pair]:
    return asyncio.run(_solve_all(job))


async def _solve_all(job: Job) -> list[Pair]:
    scenario = load_scenario_file(job.file, job.family)
    return [await _pair(arm, episode) for arm in arms_of(scenario, job.packs) for episode in _episodes(arm, job)]


def _episodes(arm: Arm, job: Job) -> Iterator[Episode]:
    """The same cases under every arm."""
    episodes = list(paradigm_of(arm.scenario).episodes(arm.scenario, seed=job.seed, attempts=1))
    if job.cases is None:
        yield from episodes
    else:
        yield from Stream(derive(job.seed, job.family, "survey")).sample(episodes, job.cases)


async def _pair(arm: Arm, episode: Episode) -> Pair:
    solution = await solve(episode)
    proof = solution.trace.facts(episode) if solution.trace is not None else None
    uses = tuple(dict.fromkeys(item.use for item in arm.scenario.perturbations))
    return Pair(arm.scenario.name, arm.pack, arm.label, uses, arm.recoverable, episode.id, solution, proof)


@dataclass(frozen=True, slots=True)
class Row:
    """The figures of one perturbation over all families: pairs of a case in which it fired, and what became of them."""

    pack: str
    label: str
    recoverable: bool
    tried: int
    labels: Counter[Label]

    @property
    def pairs(self) -> int:
        """The pairs that count: those in which it fired."""
        return self.labels.total()

    @property
    def share(self) -> float | None:
        """The share of the pairs that is proved; None where it fired in none."""
        return self.labels["proved"] / self.pairs if self.pairs else None

    def facts(self) -> JsonObject:
        """The row as JSON."""
        labels: tuple[Label, ...] = ("proved", "unsolvable", "unproven", "unnoticeable")
        return {
            "pack": self.pack,
            "perturbation": self.label,
            "recoverable": self.recoverable,
            "tried": self.tried,
            "pairs": self.pairs,
            **{label: self.labels[label] for label in labels},
            "share": self.share,
        }


def rows_of(pairs: Sequence[Pair]) -> list[Row]:
    """One row for each perturbation of each pack, in the order in which they come."""
    grouped: dict[tuple[str, str], list[Pair]] = {}
    for pair in pairs:
        grouped.setdefault((pair.pack, pair.label), []).append(pair)
    return [
        Row(
            pack, label, found[0].recoverable, len(found), Counter(pair.solution.label for pair in found if pair.counts)
        )
        for (pack, label), found in grouped.items()
    ]


def proved_share(pairs: Sequence[Pair]) -> float | None:
    """The share that is proved of all pairs with a recoverable perturbation that fired, those of whole packs included."""
    counted = [pair.solution.label == "proved" for pair in pairs if pair.counts and pair.recoverable]
    return sum(counted) / len(counted) if counted else None


def check_packs(names: Sequence[str]) -> None:
    """Refuse packs that are not there or cannot be used. Raises InputError."""
    for name in names:
        path = find("perturbations", name)
        try:
            arm_pack(read_document(path))
        except InputError as error:
            raise error if error.file else InputError(error.problem, file=str(path), remedy=error.remedy) from None
