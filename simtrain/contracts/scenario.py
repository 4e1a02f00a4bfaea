"""The contract of scenarios: task, world, world models, perturbations, graders and limits."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import asdict, dataclass, replace
from hashlib import blake2b
from itertools import product
from math import ceil
from typing import Annotated, Any, Final, Literal, cast

from pydantic import ConfigDict, Discriminator, Field, Tag, model_validator

from simtrain.contracts.grader import Grader
from simtrain.contracts.journal import Limits
from simtrain.contracts.perturbation import Armed, When
from simtrain.contracts.plan import Plan
from simtrain.contracts.question import SYSTEM, QuestionSet
from simtrain.contracts.trajectory import Forked, Turn
from simtrain.contracts.user import ScriptedUser, UserSpec
from simtrain.contracts.world import Variant, WorldSource
from simtrain.contracts.world_model import WorldModel
from simtrain.files.file_model import FileModel, short_for
from simtrain.files.templates import Text
from simtrain.files.yaml_files import Document
from simtrain.values.arm import Arm
from simtrain.values.types import JsonValue, as_object, canonical, is_object


class Use(FileModel):
    """One use of a plug-in: its name, its knobs, and a label if it is used twice."""

    use: str
    knobs: dict[str, JsonValue] = Field(default_factory=dict, alias="with")
    label: str | None = Field(default=None, alias="as")


class WorldUse(FileModel):
    """A world, and the knobs of its kind that a scenario may set."""

    use: str
    knobs: dict[str, JsonValue] = Field(default_factory=dict, alias="with")


class WorldModelUse(Use):
    """A world model for the tools that a glob names."""

    tools: str | list[str] = "*"


class PerturbationUse(Use):
    """A perturbation and when it fires. If client libraries raise on it, so that no agent sees it, `protocol` must allow it."""

    when: When = Field(default_factory=When)
    protocol: bool = False


class PackUse(FileModel):
    """All perturbations of a pack (a file in perturbations/); `severity` applies where the pack sets none."""

    pack: str
    severity: float | None = Field(default=None, ge=0, le=1)


class GraderUse(Use):
    """A grader in the rubric. A gate multiplies the total instead of being averaged; by default the grader decides."""

    weight: float = Field(default=1.0, gt=0)
    gate: bool | None = None


class Rubric(FileModel):
    """The graders and how their rewards become one: the weighted mean or the minimum, times every gate."""

    combine: Literal["mean", "minimum"] = "mean"
    calls: Literal["required", "optional"] = Field(
        default="required", description="Whether an answer counts only after a call, or also without any."
    )
    graders: list[GraderUse] = Field(min_length=1)


class Cases(FileModel):
    """The source of case parameters: a query over the seeded world, a literal list, questions, or broken repositories.

    `sample` draws some by seed.
    """

    sql: str | None = None
    rows: list[dict[str, JsonValue]] | None = None
    questions: QuestionSet | str | None = Field(
        default=None, description="Questions about a search world, or a file of them beside this one."
    )
    budget: float | None = Field(
        default=None, ge=1, description="Calls that a question allows, as a multiple of those that the oracle needs."
    )
    tasks: str | None = Field(
        default=None, description="A file of broken repositories beside this one, as `simtrain world bugs` writes it."
    )
    directory: str | None = Field(
        default=None,
        pattern=r"^/",
        description="Where the repository of `tasks` lies on the machine; {{ repository }} is its name.",
    )
    sample: int | None = Field(default=None, ge=1)

    @model_validator(mode="after")
    def _has_directory(self) -> Cases:
        if (self.tasks is None) != (self.directory is None):
            raise ValueError("`tasks` and `directory` belong together")
        return self


class Vary(FileModel):
    """Variations of the world: other seeds, other row counts; every combination is played."""

    seeds: list[int] = Field(default_factory=list[int])
    rows: list[dict[str, int]] = Field(default_factory=list[dict[str, int]])


def _use_or_pack(value: Any) -> str:
    """Return the intended form, a pack or a perturbation, so that an error message explains that one."""
    keys = value if is_object(value) else getattr(value, "model_fields_set", ())
    return "a pack" if "pack" in keys else "a perturbation"


MOST_CALLS: Final = 400
"""Default limit of calls for a question: wide tables take many."""

LEAST_CALLS: Final = 6
"""Minimum calls of a budget, even if the oracle needs fewer."""

_TASK = ("prompt", "rubric")

CONVENTIONS: Final = " Its README tells the conventions."
REPAIR: Final = f"""\
You work on {{{{ repository }}}}, in {{{{ directory }}}}.{CONVENTIONS} A user writes:

{{{{ report }}}}

Find out why, and repair it. All tests have to pass. Do not change those that are there; further ones go into new files.
"""
"""The prompt of a task of the bug factory."""


def _with_defaults(data: object) -> object:
    """Return the scenario with the defaults for questions, each of which is its own prompt and is graded by its own rules, or
    for broken repositories.
    """
    written = as_object(data)
    cases = written.get("cases")
    if is_object(cases) and "tasks" in cases:
        knobs: dict[str, JsonValue] = {
            "directory": cases.get("directory"),
            "hidden": "select path, content from hidden_tests",
            "unchanged": ["tests/*", "README.md", "pyproject.toml"],
        }
        rubric = [{"use": "tests", "with": knobs}]
        return {"domain": "swe", "prompt": REPAIR, "rubric": rubric, "limits": {"turns": 60, "calls": 80}, **written}
    if not is_object(cases) or "questions" not in cases:
        return data
    limits = {"turns": MOST_CALLS, "calls": MOST_CALLS}
    task = {"system": SYSTEM, "prompt": "{{ query }}", "rubric": [{"use": "widesearch"}]}
    return {"domain": "search", **task, "limits": limits, **written}


def _task_or_questions(schema: dict[str, Any]) -> None:
    schema["required"] = [name for name in schema["required"] if name not in _TASK]
    kinds = [{"required": ["questions"]}, {"required": ["tasks"]}]
    given = {"properties": {"cases": {"type": "object", "anyOf": kinds}}, "required": ["cases"]}
    schema |= {"if": given, "else": {"required": list(_TASK)}}


class ScenarioSpec(FileModel):
    """The YAML of a scenario file."""

    model_config = ConfigDict(json_schema_extra=_task_or_questions)

    name: str = Field(pattern=r"^[a-z][a-z0-9_]*$")
    description: str = ""
    paradigm: str = "impersonation"
    domain: str = "mcp"
    world: Annotated[WorldUse, short_for("use", str, WorldUse | str)]
    prompt: str = Field(min_length=1)
    system: str | None = None
    cases: Annotated[Cases, short_for("rows", list, Cases | list[dict[str, JsonValue]])] = Field(
        default_factory=lambda: Cases(rows=[{}])
    )
    vary: Vary | None = None
    setup: list[str] = Field(
        default_factory=list[str],
        description="Statements of SQL that write to the world before an episode begins; `:name` is a parameter of its case.",
    )
    tools: list[str] = Field(default_factory=lambda: ["*"], min_length=1)
    equivalents: dict[str, list[str]] = Field(default_factory=dict)
    world_models: list[WorldModelUse] = Field(default_factory=lambda: [WorldModelUse(use="embedded")], min_length=1)
    perturbations: list[
        Annotated[
            Annotated[PerturbationUse, Tag("a perturbation")] | Annotated[PackUse, Tag("a pack")],
            Discriminator(_use_or_pack),
            short_for("pack", str, PerturbationUse | PackUse | str),
        ]
    ] = Field(default_factory=list[PerturbationUse | PackUse])
    impossible: bool = False
    twin: str | None = Field(default=None, description="The family with the same prompt and the other outcome.")
    reference: Plan | None = None
    wrong: Plan | None = None
    rubric: Annotated[Rubric, short_for("graders", list, Rubric | list[GraderUse])]
    user: UserSpec | None = Field(default=None, description="A user whom the agent can ask, with the tool `ask`.")
    limits: Limits = Field(default_factory=Limits)

    @property
    def planned(self) -> bool:
        """True if there is a reference plan: written, or derived from the patch of each task."""
        return self.reference is not None or self.cases.tasks is not None

    def variants(self) -> Iterator[Variant]:
        """Yield the variants of the world that the scenario plays: every seed with every set of row counts."""
        seeds: list[int | None] = list(self.vary.seeds) if self.vary and self.vary.seeds else [None]
        rows: list[dict[str, int]] = self.vary.rows if self.vary and self.vary.rows else [{}]
        for seed, counts in product(seeds, rows):
            yield Variant(seed, tuple(sorted(counts.items())))

    @model_validator(mode="before")
    @classmethod
    def _complete(cls, data: object) -> object:
        return _with_defaults(data)


class PackSpec(FileModel):
    """A perturbation pack file."""

    name: str
    description: str = ""
    severity: float = Field(default=0.5, ge=0, le=1)
    perturbations: list[PerturbationUse] = Field(min_length=1)


def conflict(found: Sequence[tuple[str | None, Armed]]) -> str | None:
    """Return why two of these perturbations exclude each other; None if they are compatible.

    Each comes with the name of its pack: a pack's author has combined its perturbations on purpose.
    """
    for pack, item in found:
        for other_pack, other in found:
            why = item.perturbation.traits.conflicts.get(other.use)
            if why is not None and item is not other and (pack is None or pack != other_pack):
                return f"{item.label!r} ({item.use}) and {other.label!r} ({other.use}) cannot be combined: {why}"
    return None


@dataclass(frozen=True)
class Answering:
    """A world model and the tool globs that it answers for."""

    label: str
    tools: tuple[str, ...]
    world_model: WorldModel


@dataclass(frozen=True)
class Grading:
    """A grader with its place in the rubric."""

    label: str
    weight: float
    gate: bool
    grader: Grader


@dataclass(frozen=True, eq=False)
class Scenario:
    """A scenario loaded and checked: every name resolved, every plug-in built once.

    In a paired comparison it is one `arm`, and `unarmed` the scenario that all arms come from. `seeds` are those of the worlds to
    be played, in place of the file's.
    """

    name: str
    spec: ScenarioSpec
    document: Document
    digest: str
    source: WorldSource
    prompt: Text
    answering: tuple[Answering, ...]
    perturbations: tuple[Armed, ...]
    grading: tuple[Grading, ...]
    arm: Arm | None = None
    unarmed: Scenario | None = None
    seeds: tuple[int, ...] = ()

    @property
    def stated(self) -> frozenset[str]:
        """Return the case parameters that the prompt states."""
        return self.prompt.names

    @property
    def progress(self) -> float:
        """Return the training progress, from 0 to 1, which probabilities may depend on."""
        return self.arm.progress if self.arm else 1.0

    @property
    def variants(self) -> list[tuple[str, Variant]]:
        """Return the variants of the world to play, each with its suffix in the names of episodes."""
        found = list(self.spec.variants())
        if not self.seeds:
            return [(f"v{number}" if len(found) > 1 else "", variant) for number, variant in enumerate(found)]
        rows = list(dict.fromkeys(variant.rows for variant in found))
        sizes = [(f"v{number}" if len(rows) > 1 else "", counts) for number, counts in enumerate(rows)]
        return [(f"s{seed}{size}", Variant(seed, counts)) for seed in self.seeds for size, counts in sizes]

    def user_of(self, case: Mapping[str, JsonValue]) -> ScriptedUser | None:
        """Return the user who answers questions about a case; None if the scenario has none."""
        return None if self.spec.user is None else ScriptedUser(self.spec.user, case, stated=self.stated)

    def under(self, arm: Arm, *, perturbations: tuple[Armed, ...], made_of: JsonValue = None) -> Scenario:
        """Return the scenario in one arm, with these perturbations; `made_of` is their source in files, for the digest."""
        # Each arm has a digest of its own: resume tells its episodes from those of the other arms by it.
        digest = blake2b(canonical([self.digest, asdict(arm), made_of]), digest_size=16).hexdigest()
        return replace(self, digest=digest, perturbations=perturbations, arm=arm, unarmed=self)


@dataclass(frozen=True, slots=True, eq=False)
class Fork:
    """The recorded turns that an episode continues, up to the last of `forks`; `armed` lists what each of these arms."""

    turns: Sequence[Turn]
    forks: tuple[Forked, ...]
    armed: tuple[tuple[Armed, ...], ...]


@dataclass(frozen=True, slots=True, eq=False)
class Episode:
    """One episode to be played: a case of a scenario in a variant of its world.

    With `real_time` the delays of perturbations are actually slept. With `fork` it continues a recorded episode.
    """

    scenario: Scenario
    id: str
    case: Mapping[str, JsonValue]
    variant: Variant
    seed: int
    attempt: int
    real_time: bool = False
    fork: Fork | None = None

    @property
    def limits(self) -> Limits:
        """Return the scenario's limits, tightened by a question's budget."""
        limits, budget = self.scenario.spec.limits, self.scenario.spec.cases.budget
        if budget is None:
            return limits
        measured = cast("dict[str, int]", self.case.get("difficulty") or {})
        calls = max(LEAST_CALLS, ceil(budget * (measured.get("searches", 0) + measured.get("visits", 0))))
        # One turn more than calls: the answer needs a message of its own.
        return limits.model_copy(update={"calls": min(limits.calls, calls), "turns": min(limits.turns, calls + 1)})

    @property
    def forks(self) -> tuple[Forked, ...]:
        """Return the forks that lead to it, the earliest first."""
        return self.fork.forks if self.fork else ()

    @property
    def key(self) -> tuple[str, str, int, int]:
        """Return the identity of the episode: (scenario digest, episode, seed, attempt)."""
        return (self.scenario.digest, self.id, self.seed, self.attempt)
