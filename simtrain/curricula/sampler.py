"""Climbing a ladder: a stream of tasks whose level follows time or success, with a ledger that replays it."""

from collections import defaultdict, deque
from collections.abc import Iterator, Sequence
from dataclasses import dataclass, replace
from hashlib import blake2b
from itertools import islice
from pathlib import Path
from typing import Literal

from pydantic import BaseModel, Field

from simtrain.contracts.scenario import Episode
from simtrain.curricula.curriculum_file import LadderSpec, LevelMix, Split
from simtrain.curricula.ledger import as_line, read_line
from simtrain.curricula.levels import LevelScenario, no_questions
from simtrain.files.file_model import FileModel
from simtrain.files.jsonl import LineWriter, whole_lines
from simtrain.values.errors import InputError
from simtrain.values.seeding import Stream, derive
from simtrain.values.types import JsonValue, canonical

FORMAT = "simtrain-ladder/1"


@dataclass(frozen=True, slots=True, eq=False)
class Task:
    """One task dealt: its `place` in the stream, its level, and the episode to play (`rollout` and `open_episode` accept a task)."""

    place: int
    level: int
    episode: Episode


class _Head(FileModel):
    """The first line of a ledger: the arguments of the stream. `scenarios` is the digest of the scenarios of all levels."""

    format: Literal["simtrain-ladder/1"] = FORMAT
    ladder: LadderSpec
    split: Split
    seed: int
    scenarios: str


class Dealt(FileModel):
    """A task was dealt."""

    dealt: int = Field(ge=0, description="Place in the stream.")
    level: int = Field(ge=0)
    scenario: str
    episode: str
    attempt: int


class Rewarded(FileModel):
    """The reward of a task was reported."""

    rewarded: int = Field(ge=0, description="Place in the stream.")
    reward: float = Field(ge=0, le=1)


class Climb:
    """An endless stream of tasks: `for task in climb`, or `deal()`; `reward(task, value)` reports the reward of one.

    The same ladder, split, seed and rewards in the same order give the same tasks. With a `ledger`, everything is
    written down as it happens: reopened, the stream continues where it stopped, with unrewarded tasks first.
    Only one process at a time may write it.
    """

    def __init__(
        self,
        spec: LadderSpec,
        families: Sequence[Sequence[LevelScenario]],
        *,
        split: Split = "train",
        seed: int = 0,
        ledger: Path | None = None,
    ) -> None:
        """`families` are those of each level. Raises InputError for a ledger of another ladder, or a damaged one."""
        self.spec = spec
        self.level = 0
        self._families = families
        self._root = derive(seed, spec.name, split)
        self._dealt = 0
        self._used: dict[str, int] = defaultdict(int)
        self._open: dict[int, Task] = {}
        self._waiting: dict[int, Task] = {}
        self._recent: deque[float] = deque(maxlen=spec.adaptive.window if spec.adaptive else None)
        self._ledger: LineWriter | None = None
        if ledger is not None:
            digests: JsonValue = [[family.scenario.digest for family in level] for level in families]
            digest = blake2b(canonical(digests), digest_size=16).hexdigest()
            self._resume(ledger, _Head(ladder=spec, split=split, seed=seed, scenarios=digest))

    def __iter__(self) -> Iterator[Task]:
        while True:
            yield self.deal()

    def deal(self) -> Task:
        """Return the next task."""
        if self._waiting:
            return self._waiting.pop(next(iter(self._waiting)))
        task = self._draw()
        self._write(_dealt(task))
        return task

    def reward(self, task: Task | int, value: float | None) -> None:
        """Record the reward (0 to 1) of a task, or of the task at this place in the stream; once per task. Raises InputError.

        None (the simulator or a model server failed) does not count: the task is dealt again.
        """
        place = task if isinstance(task, int) else task.place
        if place not in self._open:
            raise InputError(f"there is no open task {place}", remedy="each task is rewarded once, after it was dealt")
        if value is None:
            # The same task again: another one would make the stream depend on failures of a server.
            self._waiting[place] = self._open[place]
            return
        if not 0 <= value <= 1:
            raise InputError(f"a reward is from 0 to 1, and this one is {value}")
        # Written before it takes effect, so that a crash in between loses nothing.
        self._write(Rewarded(rewarded=place, reward=value))
        self._take(place, value)

    @property
    def rewarded(self) -> int:
        """Return how many tasks were rewarded, those in the ledger included."""
        return self._dealt - len(self._open)

    @property
    def success(self) -> float | None:
        """Return the mean reward that decides when to climb; None before the first reward."""
        return sum(self._recent) / len(self._recent) if self._recent else None

    @property
    def example(self) -> Episode:
        """Return an episode of the easiest level without dealing it. Raises InputError if there is none."""
        family = next((family for family in self._families[0] if family.clean), None)
        if family is None:
            raise no_questions(self._families[0])
        return family.clean[0]

    def close(self) -> None:
        """Close the ledger."""
        if self._ledger is not None:
            self._ledger.close()

    def _draw(self) -> Task:
        place = self._dealt
        if self.spec.pace is not None:
            self.level = min(len(self._families) - 1, int(self.spec.pace.share(place) * len(self._families)))
        # A stream per place: how often earlier tasks drew does not shift this one.
        stream = Stream(derive(self._root, "task", place))
        level = self._even(place) if self.spec.uniform else self._mixed(stream)
        episode = self._next(self._chosen(level, stream))
        self._dealt += 1
        task = self._open[place] = Task(place, level, episode)
        return task

    def _even(self, place: int) -> int:
        """Return each level once in every run of as many tasks as there are levels."""
        run, at = divmod(place, len(self._families))
        self.level = Stream(derive(self._root, "levels", run)).shuffled(range(len(self._families)))[at]
        return self.level

    def _mixed(self, stream: Stream) -> int:
        mark, mix = stream.random(), self.spec.mix or LevelMix()
        if mark < mix.easier and self.level:
            return stream.integer(0, self.level - 1)
        if mark >= 1 - mix.harder and self.level + 1 < len(self._families):
            return self.level + 1
        return self.level

    def _chosen(self, level: int, stream: Stream) -> LevelScenario:
        """Return one of a level's families that have episodes. Raises InputError if none has."""
        family = next(
            (family for family in stream.shuffled(self._families[level]) if family.clean),
            None,
        )
        if family is None:
            raise no_questions(self._families[level])
        return family

    def _next(self, family: LevelScenario) -> Episode:
        """Return the next episode of a family: all in a random order of the family's own, then all again as the next attempt."""
        name, episodes = family.scenario.name, family.clean
        attempt, place = divmod(self._used[name], len(episodes))
        self._used[name] += 1
        order = Stream(derive(self._root, "order", name, attempt)).shuffled(range(len(episodes)))
        return replace(episodes[order[place]], attempt=attempt)

    def _take(self, place: int, value: float) -> None:
        task = self._open.pop(place)
        self._waiting.pop(place, None)
        band = self.spec.adaptive
        # Easier and harder tasks of the mix say nothing about the level itself.
        if band is None or task.level != self.level:
            return
        self._recent.append(value)
        if len(self._recent) < band.window:
            return
        mean = sum(self._recent) / len(self._recent)
        moved = self.level + (mean > band.high) - (mean < band.low)
        if moved != self.level and 0 <= moved < len(self._families):
            self.level = moved
            # Success at the old level would move the new one at once.
            self._recent.clear()

    def _resume(self, path: Path, head: _Head) -> None:
        # Checked before opening for writing, which would cut off the last line of a file that is not a ledger.
        begun = next(iter(whole_lines(path)), None) if path.exists() else None
        if begun is not None:
            self._check_head(path, begun, head)
        self._ledger = LineWriter(path, alone=True)
        try:
            for line in islice(whole_lines(path), 1, None):
                self._repeat(path, line)
            self._waiting = dict(self._open)
            if begun is None:
                self._write(head)
        except BaseException:
            self.close()
            raise

    def _check_head(self, path: Path, line: tuple[int, bytes], head: _Head) -> None:
        found = read_line(_Head, line, path)
        if found != head:
            other = next(name for name in _Head.model_fields if getattr(found, name) != getattr(head, name))
            raise InputError(
                "the ledger was begun with other worlds or perturbations"
                if other == "scenarios"
                else f"the ledger was begun with another {other}",
                remedy="name a new ledger",
                file=path,
                line=1,
            )

    def _repeat(self, path: Path, line: tuple[int, bytes]) -> None:
        """Replay one line of the ledger."""
        number, text = line
        if text.startswith(b'{"rewarded"'):
            entry = read_line(Rewarded, line, path)
            if entry.rewarded not in self._open:
                raise InputError(f"the task {entry.rewarded} is not open here", file=path, line=number)
            self._take(entry.rewarded, entry.reward)
            return
        # Drawn again and compared: a changed world or level would deal other tasks than the ledger says.
        if read_line(Dealt, line, path) != _dealt(self._draw()):
            raise InputError("the ledger tells of a task that is not dealt here", file=path, line=number)

    def _write(self, line: BaseModel) -> None:
        if self._ledger is not None:
            self._ledger.write(as_line(line))


def _dealt(task: Task) -> Dealt:
    episode = task.episode
    return Dealt(
        dealt=task.place, level=task.level, scenario=episode.scenario.name, episode=episode.id, attempt=episode.attempt
    )
