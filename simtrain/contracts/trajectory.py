"""The complete record of one episode: everything downstream reads only this."""

from dataclasses import dataclass, field
from functools import cache
from hashlib import blake2b
from typing import Literal, TypeAlias

import orjson
from pydantic import TypeAdapter, ValidationError

from simtrain.values.errors import InputError
from simtrain.values.tokens import Tokens
from simtrain.values.types import Action, Change, JsonObject, Observation, ToolSpec, Usage, as_object

FORMAT = "simtrain/1"

SUCCESS = 1 - 1e-9
"""The minimum reward at which an episode counts as a success."""

# No slots for parts of a trajectory: orjson writes a dataclass from its `__dict__` several times faster than from slots.

StopReason: TypeAlias = Literal["answered", "abstained", "max_turns", "budget", "wall_time", "failed"]

Solvability: TypeAlias = Literal["solvable", "unsolvable", "unproved"]
"""Whether any agent could solve an episode: known to be solvable, known to be unsolvable, or unknown."""


Changed: TypeAlias = Literal["clock", "prompt", "reply", "rows", "tools", "wire"]


# Not frozen: one is created for every firing, and creating a frozen dataclass costs several times as much.
@dataclass
class Event:
    """One firing of a perturbation: which, on which matching call (0: a later call that it changed), and the reply without and with it.

    `clean` is None if there was no world to give the clean reply. `changed` names what differs from the unperturbed call,
    sorted; it is empty only in records of versions that did not compare.
    """

    label: str
    use: str
    layer: str
    matching: int
    clean: Observation | None
    perturbed: Observation
    changed: tuple[Changed, ...] = ()


@dataclass(frozen=True)
class Step:
    """One action and its observation. `index` counts from 0 through the episode; `clock` is virtual time when the call began."""

    index: int
    action: Action
    observation: Observation
    clock: str
    events: tuple[Event, ...] = ()


@dataclass
class Turn:
    """One assistant message: text, reasoning, and the steps that its calls became. The final answer's turn has no steps.

    `finish_reason` is the server's reason for the end of the reply. `written` is what the model wrote, if its chat template
    would write the same differently, and `tokens` its token ids. `by` is who acted, if several acted in the episode. A record without
    them has no such key.
    """

    text: str = ""
    reasoning: str | None = None
    usage: Usage | None = None
    steps: list[Step] = field(default_factory=list[Step])
    finish_reason: str | None = None
    written: str | None = None
    tokens: Tokens | None = None
    by: str | None = None

    def __post_init__(self) -> None:
        # The attribute of the class answers for what is deleted here, and nothing is written of it.
        if self.written is None:
            del self.written
        if self.tokens is None:
            del self.tokens
        if self.by is None:
            del self.by


@dataclass(frozen=True)
class Stop:
    """Why the episode ended, with `detail` if it failed.

    `blame` is `simulator` if the simulator failed, `agent` if the agent failed or, once graded, did not earn everything that could
    be earned, and None if neither is known to be at fault.
    """

    reason: StopReason
    blame: Literal["agent", "simulator"] | None = None
    detail: str | None = None


@dataclass(frozen=True)
class Reward:
    """One grader's answer. `value` is in [0, 1], or None if the grader failed (`error` says how).

    A gate multiplies the total by its value; the others are combined as the scenario's rubric says.
    """

    grader: str
    value: float | None
    weight: float = 1.0
    gate: bool = False
    detail: JsonObject = field(default_factory=dict[str, object])
    error: str | None = None


@dataclass(frozen=True)
class WorldFacts:
    """Which world was played: name, digest of its file, seed and row counts of the variant; `ended` is virtual time at the end."""

    name: str
    digest: str
    seed: int
    rows: dict[str, int] = field(default_factory=dict[str, int])
    ended: str = ""


@dataclass(frozen=True)
class Forked:
    """The point where a trajectory left another one of the same episode: before its step `step`, the first of its own.

    `scenario_digest`, `attempt` and `agent` are those of the other. From there on the agent's randomness came from `seed`, and, unless
    `same_faults`, also the draws of perturbations; None: both went on as before. `armed` are the labels armed there, those
    of `packs` at this `severity`. `replies` says whether the earlier steps were played again or taken from the record.
    """

    scenario_digest: str
    attempt: int
    agent: str
    step: int
    seed: int | None = None
    same_faults: bool = False
    armed: tuple[str, ...] = ()
    packs: tuple[str, ...] = ()
    severity: float | None = None
    replies: Literal["played", "recorded"] = "played"

    @property
    def bends(self) -> bool:
        """True if the fork meets other faults than the original episode from there on."""
        return bool(self.armed) or (self.seed is not None and not self.same_faults)


@dataclass(frozen=True)
class Trajectory:
    """The record of one episode; one line of a run folder.

    `arm` names the arm of a paired comparison. `perturbations` were armed, those in `bent` changed the task or the
    tools before the first turn; `noticeable` is the first step whose reply the same calls do not get where nothing is
    armed (-1: the task or a tool reads otherwise). `solvability` says whether the task can still be done. `reward` is
    None while ungraded, when a grader failed and when the simulator is to blame. `forks` says which others it goes
    on from, the earliest fork first. All wall-clock facts are under `timing`: without it the line is the same for the
    same scenario, seed and version.
    """

    scenario: str
    scenario_digest: str
    episode: str
    case: JsonObject
    seed: int
    attempt: int
    paradigm: str
    world: WorldFacts
    agent: JsonObject
    system: str
    prompt: str
    tools: tuple[ToolSpec, ...]
    turns: list[Turn]
    answer: str | None
    stop: Stop
    changes: dict[str, tuple[Change, ...]] = field(default_factory=dict[str, tuple[Change, ...]])
    impossible: bool = False
    arm: str = ""
    perturbations: tuple[str, ...] = ()
    bent: tuple[str, ...] = ()
    noticeable: int | None = None
    solvability: Solvability = "unproved"
    reward: float | None = None
    rewards: tuple[Reward, ...] = ()
    usage: Usage | None = None
    forks: tuple[Forked, ...] = ()
    timing: JsonObject = field(default_factory=dict[str, object])
    version: str = ""
    format: str = FORMAT

    @property
    def steps(self) -> list[Step]:
        """Return all steps, in order."""
        return [step for turn in self.turns for step in turn.steps]

    @property
    def cost(self) -> float:
        """Return the cost of the models of agent and world, in US dollars, as far as prices are known."""
        answers = (step.observation.provenance for step in self.steps)
        return (self.usage.cost if self.usage else 0.0) + sum(
            answer.usage.cost for answer in answers if answer is not None and answer.usage is not None
        )

    @property
    def key(self) -> tuple[str, str, int, int]:
        """Return the identity of the episode: (scenario digest, episode, seed, attempt)."""
        return (self.scenario_digest, self.episode, self.seed, self.attempt)


def record_name(key: tuple[str, str, int, int]) -> str:
    """Return a short name for the record of an episode, made from its identity: letters and digits alone."""
    return blake2b("\0".join(map(str, key)).encode(), digest_size=10).hexdigest()


def to_line(trajectory: Trajectory) -> bytes:
    """Return one JSON line, newline included."""
    return orjson.dumps(trajectory, option=orjson.OPT_APPEND_NEWLINE)


def from_line(line: bytes | str) -> Trajectory:
    """Return the trajectory in one JSON line. Raises InputError when the line is not one."""
    try:
        return trajectory_of(orjson.loads(line))
    except orjson.JSONDecodeError as error:
        raise InputError(f"not JSON: {error}") from None


def trajectory_of(value: object) -> Trajectory:
    """Return the trajectory in a JSON value; fields that older versions lack get their defaults. Raises InputError if it is not one."""
    header = as_object(value)
    form = header.get("format", FORMAT)
    if form != FORMAT:
        # The version that wrote it can still read it; a newer reader would guess at missing meanings.
        wrote = header.get("version") or "of an unknown version"
        raise InputError(
            f"the trajectory has the format {form}, not {FORMAT}",
            remedy=f"read it with simtrain {wrote}, which wrote it, or play it again",
        )
    try:
        return _adapter().validate_python(value)
    except ValidationError as error:
        first = error.errors(include_url=False)[0]
        place = ".".join(str(part) for part in first["loc"])
        raise InputError(f"not a trajectory: {place}: {first['msg'].lower()}") from None


@cache
def _adapter() -> TypeAdapter[Trajectory]:
    return TypeAdapter(Trajectory)
