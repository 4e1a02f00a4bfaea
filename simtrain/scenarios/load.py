"""Load scenario files: before anything is played, every name is resolved, every plug-in built, and all SQL tried."""

from collections import Counter
from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from hashlib import blake2b
from pathlib import Path
from typing import TypeVar, cast

from pydantic import BaseModel

from simtrain.contracts.grader import Grader
from simtrain.contracts.paradigm import Paradigm
from simtrain.contracts.perturbation import Armed, Perturbation
from simtrain.contracts.registry import known, resolve
from simtrain.contracts.scenario import (
    Answering,
    Grading,
    PackSpec,
    PackUse,
    PerturbationUse,
    Scenario,
    ScenarioSpec,
    Use,
    conflict,
)
from simtrain.contracts.tool_globs import check_globs, matches, step_names
from simtrain.contracts.user import ASK, ASKING
from simtrain.contracts.world import World, WorldSource
from simtrain.contracts.world_model import WorldModel
from simtrain.files.file_bytes import file_bytes
from simtrain.files.templates import Text
from simtrain.files.yaml_files import Document, Place, read_document, read_place
from simtrain.scenarios.beginning import set_up
from simtrain.scenarios.cases import first_case, question_file
from simtrain.scenarios.find import HARBOR_TASK, find
from simtrain.scenarios.harbor.task_scenario import harbor_document
from simtrain.scenarios.plan_check import PlanCheck
from simtrain.scenarios.repository_tasks import check_tasks, task_file
from simtrain.values.errors import InputError, nearest
from simtrain.values.types import JsonObject, JsonValue, ToolSpec, canonical, is_list

PluginT = TypeVar("PluginT", bound=BaseModel)


def load_world(path: Path) -> WorldSource:
    """Return the source of a world file. Raises InputError."""
    # An edited file is loaded again, and so is one whose path from the working directory is another than before.
    return _load_world(_shorten(path.resolve()), path.stat().st_mtime_ns if path.exists() else 0)


@lru_cache(maxsize=64)
def _load_world(path: Path, _: int) -> WorldSource:
    document = read_document(path)
    kind = document.data.get("kind")
    if not isinstance(kind, str):
        raise document.error((), "a world file begins with `kind:`", f"one of {', '.join(known('worlds'))}")
    with document.locating(("kind",)):
        source = cast("type[WorldSource]", resolve("worlds", kind))
    return source.load(document)


def load_scenario_file(path: Path, name: str, *, packs: Sequence[str] = ()) -> Scenario:
    """Return the scenario in a file with additional packs, checked as far as possible without playing it. Raises InputError."""
    source: WorldSource | None = None
    if path.name == HARBOR_TASK:
        document, source = harbor_document(_shorten(path).parent)
    else:
        document = read_document(_shorten(path))
    spec = document.parse(ScenarioSpec)
    if packs:
        more = [PackUse(pack=pack) for pack in packs]
        spec = spec.model_copy(update={"perturbations": [*spec.perturbations, *more]})
    return assemble(document, spec, name, source=source)


def assemble(document: Document, spec: ScenarioSpec, name: str, *, source: WorldSource | None = None) -> Scenario:
    """Return the scenario that a spec describes; `source` replaces the world that it names. Raises InputError."""
    return _Assembler(document, spec, name, source).scenario()


def paradigm_of(scenario: Scenario) -> Paradigm:
    """Return the paradigm of a scenario, with its defaults."""
    with scenario.document.locating(("paradigm",)):
        return resolve("paradigms", scenario.spec.paradigm)()


def _shorten(path: Path) -> Path:
    """Return the path for messages: relative to the working folder if it is inside."""
    try:
        return path.resolve().relative_to(Path.cwd().resolve())
    except ValueError:
        return path


class _Assembler:
    def __init__(self, document: Document, spec: ScenarioSpec, name: str, source: WorldSource | None = None) -> None:
        self.document = document
        self.spec = spec
        self.name = name
        self.source = source

    def scenario(self) -> Scenario:
        """Return the scenario, whole and checked."""
        self._check_kinds()
        source = self.source or self._world()
        world = self._built(source)
        if "domain" not in self.spec.model_fields_set:
            self.spec = self.spec.model_copy(update={"domain": world.domain})
        packs: list[Document] = []
        answering = self._answering(world)
        perturbations = self._perturbations(world, packs)
        case = first_case(self.spec.cases, world, self.document)
        prompt = self._prompt(case)
        with self.document.at(()):
            check_globs(world, self.spec.tools, place="tools")
        asking = self._asking(world, case)
        for key in ("reference", "wrong"):
            plan = getattr(self.spec, key)
            if plan is not None:
                PlanCheck(self.document, key, world, prompt.names, frozenset(case), self.spec.tools, asking).check(plan)
        if self.spec.cases.tasks is not None:
            check_tasks(world, self.spec.cases, self.document)
        grading = self._grading(set_up(world, self.spec, case, self.document), case)
        for item in perturbations:
            reason = code_kept(item, grading, world, case)
            if reason is not None:
                raise self.document.error(("perturbations",), reason, "leave it out of this scenario")
        files = [found for item in answering if (found := item.world_model.sources()) is not None]
        asked = question_file(self.spec.cases, self.document)
        tasks = task_file(self.spec.cases, self.document)
        files += [blake2b(file_bytes(file), digest_size=16).hexdigest() for file in (asked, tasks) if file]
        # Everything that determines the episodes: results under different digests cannot be compared.
        digest = blake2b(
            canonical([self.document.data, source.digest, *(pack.data for pack in packs), *files]), digest_size=16
        ).hexdigest()
        return Scenario(self.name, self.spec, self.document, digest, source, prompt, answering, perturbations, grading)

    def _check_kinds(self) -> None:
        for key, kind, name in (("paradigm", "paradigms", self.spec.paradigm), ("domain", "domains", self.spec.domain)):
            with self.document.locating((key,)):
                resolve(kind, name)

    def _world(self) -> WorldSource:
        written: Place = ("world",) if isinstance(self.document.data.get("world"), str) else ("world", "use")
        with self.document.locating(written):
            path = find("worlds", self.spec.world.use, beside=self.document.path.parent)
        source = load_world(path)
        knobs = self.spec.world.knobs
        return source.configured(self.document, knobs, ("world", "with")) if knobs else source

    def _built(self, source: WorldSource) -> World:
        try:
            return source.build(next(self.spec.variants()))
        except InputError as error:
            # The world's own file is at fault, and the error names it already.
            if error.file is not None:
                raise
            # For knobs that name things which the built world lacks.
            with self.document.at(("world", "with") if self.spec.world.knobs else ("world",)):
                raise error

    def _prompt(self, case: JsonObject) -> Text:
        with self.document.locating(("prompt",)):
            text = Text(self.spec.prompt)
        for name in sorted(text.names - set(case)):
            raise self.document.error(("prompt",), f"the prompt names {name!r}, which no case has", nearest(name, case))
        return text

    def _asking(self, world: World, case: JsonObject) -> tuple[ToolSpec, ...]:
        """Return the tool that asks the user, if there is a user; checks the user's answers."""
        if self.spec.user is None:
            return ()
        if any(tool.name == ASK for tool in world.tools):
            raise self.document.error(("user",), f"the world {world.name!r} has a tool {ASK!r} of its own")
        for index, fact in enumerate(self.spec.user.facts):
            place: Place = ("user", "facts", index, "says")
            with self.document.at(place):
                names = Text(fact.says).names
            for name in sorted(names - set(case)):
                raise self.document.error(place, f"the user names {name!r}, which no case has", nearest(name, case))
        return (ASKING,)

    def _answering(self, world: World) -> tuple[Answering, ...]:
        found: list[Answering] = []
        for index, use in enumerate(self.spec.world_models):
            place: Place = ("world_models", index)
            globs = (use.tools,) if isinstance(use.tools, str) else tuple(use.tools)
            plugin = self._plugin("world_models", use, place, WorldModel)
            found.append(Answering(use.label or use.use, globs, plugin))
        for tool in world.tools:
            offered = matches(tool.name, tuple(self.spec.tools))
            # Found now, and not as a fault in the middle of an episode.
            if offered and not any(matches(tool.name, answering.tools) for answering in found):
                raise self.document.error(
                    ("world_models",),
                    f"no world model answers the tool {tool.name!r}",
                    'add {tools: "*", use: embedded}',
                )
        spoken = frozenset[str]().union(*(answering.world_model.speaks_for() for answering in found))
        silent = [name for name in world.left_to_models if name not in spoken]
        if silent:
            raise self.document.error(
                ("world_models",),
                f"no world model speaks for {silent[0]!r}, which the world leaves to one",
                f"add {{use: grounded, with: {{model: NAME, programs: [{', '.join(world.left_to_models)}]}}}}",
            )
        self._distinct([item.label for item in found], "world_models")
        return tuple(found)

    def _perturbations(self, world: World, packs: list[Document]) -> tuple[Armed, ...]:
        gathered: list[tuple[str | None, Armed]] = []
        for index, item in enumerate(self.spec.perturbations):
            place: Place = ("perturbations", index)
            if isinstance(item, PackUse):
                name, armed = self._pack(item, place, packs)
                gathered += [(name, one) for one in armed]
            else:
                gathered.append((None, arm(self.document, item, place)))
        found = _qualified(gathered)
        self._distinct([item.label for item in found], "perturbations")
        problem = conflict([(pack, item) for (pack, _), item in zip(gathered, found, strict=True)])
        if problem is not None:
            raise self.document.error(("perturbations",), problem, "remove one of them")
        for item in found:
            globs = (item.when.tools,) if isinstance(item.when.tools, str) else tuple(item.when.tools)
            if not any(matches(name, globs) for name in step_names(world)):
                raise self.document.error(
                    ("perturbations",), f"the perturbation {item.label!r} matches no tool of the world {world.name!r}"
                )
            with self.document.locating(("perturbations",)):
                check_armed(item, world)
        return tuple(found)

    def _pack(self, use: PackUse, place: Place, packs: list[Document]) -> tuple[str, list[Armed]]:
        with self.document.locating(place):
            document = read_document(_shorten(find("perturbations", use.pack, beside=self.document.path.parent)))
        packs.append(document)
        return document.parse(PackSpec).name, arm_pack(document, severity=use.severity)

    def _grading(self, world: World, case: JsonObject) -> tuple[Grading, ...]:
        inner: Place = ("rubric",) if is_list(self.document.data.get("rubric")) else ("rubric", "graders")
        found: list[Grading] = []
        for index, use in enumerate(self.spec.rubric.graders):
            place: Place = (*inner, index)
            grader = self._plugin("graders", use, place, Grader)
            try:
                grader.check(world, case)
                # Where a model makes up what programs print, nothing is run for the reward either.
                if not world.left_to_models:
                    grader.check_here()
            except InputError as error:
                raise self.document.error(
                    (*place, "with", *read_place(error.place)), error.problem, error.remedy
                ) from None
            found.append(
                Grading(use.label or use.use, use.weight, grader.gates if use.gate is None else use.gate, grader)
            )
        self._distinct([item.label for item in found], "rubric")
        return tuple(found)

    def _plugin(self, kind: str, use: Use, place: Place, contract: type[PluginT]) -> PluginT:
        return build_plugin(self.document, kind, use, place, contract)

    def _distinct(self, labels: Sequence[str], key: str) -> None:
        for index, label in enumerate(labels):
            if label in labels[:index]:
                raise self.document.error(
                    (key,), f"the label {label!r} appears twice", "give one of them another name with `as`"
                )


def code_kept(item: Armed, grading: Sequence[Grading], world: World, case: JsonObject) -> str | None:
    """Return why a perturbation does not go with the graders: it rewrites code, and one of them lets none change; None if it does."""
    if not item.perturbation.traits.rewrites_code or world.kind != "machine":
        return None
    strict = next((one.label for one in grading if one.grader.keeps_code(world, case)), None)
    return strict and f"{item.label} changes files of code, and the grader {strict} lets none change"


def check_armed(item: Armed, world: World) -> None:
    """Raise InputError for a perturbation whose trigger or knobs cannot work in a world."""
    try:
        if item.when.state is not None:
            world.query(item.when.state)
        item.perturbation.check(world)
    except InputError as error:
        raise InputError(
            f"the perturbation {item.label!r} cannot be used over the world {world.name!r}: {error.place or 'when.state'}: {error.problem}",
            remedy=error.remedy,
        ) from None


def _qualified(gathered: Sequence[tuple[str | None, Armed]]) -> list[Armed]:
    """Return all perturbations; a label used by several packs becomes `pack.label`."""
    often = Counter(item.label for _, item in gathered)
    return [
        replace(item, label=f"{pack}.{item.label}") if pack and often[item.label] > 1 else item
        for pack, item in gathered
    ]


def build_plugin(
    document: Document,
    kind: str,
    use: Use,
    place: Place,
    contract: type[PluginT],
    extra: Mapping[str, JsonValue] | None = None,
) -> PluginT:
    """Return the plug-in that a `use` names, with its knobs. Raises InputError at the place of the mistake."""
    with document.locating((*place, "use")):
        plugin = cast(type[PluginT], resolve(kind, use.use))
    return document.parse(plugin, {**(extra or {}), **use.knobs}, (*place, "with"))


def arm(document: Document, use: PerturbationUse, place: Place, *, severity: float | None = None) -> Armed:
    """Return one perturbation of a scenario or a pack, ready to fire; `severity` is the default for its knob. Raises InputError."""
    extra = {} if severity is None else {"severity": severity}
    perturbation = build_plugin(document, "perturbations", use, place, Perturbation, extra)
    # Such a fault would only measure the client library.
    if not perturbation.traits.semantic and not use.protocol:
        raise document.error(
            (*place, "use"),
            f"at {use.use} client libraries raise, so that no agent sees it",
            "say `protocol: true` beside it if that is what you want",
        )
    return Armed(use.label or use.use, use.use, use.when, perturbation)


def arm_pack(document: Document, *, severity: float | None = None) -> list[Armed]:
    """Return all perturbations of a pack, ready to fire, with the pack's severity unless `severity` is given. Raises InputError."""
    pack = document.parse(PackSpec)
    return [
        arm(document, item, ("perturbations", index), severity=pack.severity if severity is None else severity)
        for index, item in enumerate(pack.perturbations)
    ]
