"""Check plug-ins against their contracts: docstring, described knobs, and an example that works in a tiny world."""

import asyncio
import json
from collections.abc import Callable, Coroutine
from dataclasses import replace
from inspect import getdoc
from typing import Any, TypeAlias

from pydantic import ValidationError

from simtrain.agents.select import build_agent
from simtrain.contracts.agent import Agent, Outsider
from simtrain.contracts.argument_style import ArgumentStyle
from simtrain.contracts.domain import Domain
from simtrain.contracts.exporter import Exporter
from simtrain.contracts.grader import Grader
from simtrain.contracts.kinds import kind_of
from simtrain.contracts.perturbation import Armed, Perturbation, When, right_response
from simtrain.contracts.plugin import Plugin
from simtrain.contracts.request import Request
from simtrain.contracts.scenario import Episode, PerturbationUse
from simtrain.contracts.trajectory import Reward, Trajectory, to_line
from simtrain.contracts.world import FinishedWorld
from simtrain.files.json_schemas import validator
from simtrain.llm.knobs import ModelKnobs
from simtrain.testing.example_worlds import FOLDER, Place, example_scenario, play_example
from simtrain.values.errors import InputError

Check: TypeAlias = Callable[[Any], Coroutine[Any, Any, None]]

PLACES: tuple[Place, ...] = ("shop", "web")


class ContractBroken(AssertionError):
    """Raised if a plug-in breaks its contract; the message says what to add."""


def check_plugin(kind: str, plugin: Any) -> None:
    """Check a plug-in against the contract of its kind (`grader` or `graders`). Raises ContractBroken, with one line on what to do.

    Perturbations, graders, exporters, domains and agents are also run with their `example`, without a network; those that need a
    model server or another program are only built.
    """
    found = kind_of(kind)
    named = f"{found.singular} {plugin.__module__}:{plugin.__qualname__}"
    try:
        _check_words(plugin)
        if found.contract is not None:
            _check_class(plugin, found.contract)
        if found.name in _AT_WORK:
            asyncio.run(_AT_WORK[found.name](plugin))
    except ContractBroken as broken:
        raise ContractBroken(f"{named}: {broken}") from broken.__cause__


def _ensure(held: bool, otherwise: str) -> None:
    if not held:
        raise ContractBroken(otherwise)


def _check_words(plugin: Any) -> None:
    # The class's own: getdoc would return the docstring of a base class.
    own = plugin.__dict__.get("__doc__") if isinstance(plugin, type) else getdoc(plugin)
    _ensure(bool(own), "it has no docstring; its first paragraph is what lists and tables show")


def _check_class(plugin: Any, contract: type[Plugin]) -> None:
    if not isinstance(plugin, type) or not issubclass(plugin, contract):
        raise ContractBroken(f"it does not extend {contract.__name__}")
    # pydantic builds the class anyway; without this the first call would fail far from the cause.
    missing: frozenset[str] = getattr(plugin, "__abstractmethods__", frozenset())
    _ensure(not missing, f"it leaves out {', '.join(sorted(missing))}")
    bare = [name for name, info in plugin.model_fields.items() if not info.description]
    _ensure(not bare, f"its knobs {', '.join(bare)} have no description; add Field(description=...)")
    built(plugin)


def built(plugin: type[Plugin]) -> Any:
    """Return a plug-in with the knobs of its example. Raises ContractBroken."""
    needed = [name for name, info in plugin.model_fields.items() if info.is_required()]
    _ensure(
        not needed or bool(plugin.example),
        f"it has no example, and needs {', '.join(needed)}; add example: ClassVar[JsonObject] = {{'with': {{...}}}}",
    )
    try:
        return plugin.model_validate(plugin.example.get("with", {}), context={"folder": FOLDER})
    except ValidationError as error:
        raise ContractBroken(f"its example {plugin.example} cannot be built: {error.errors()[0]['msg']}") from error


def alike(one: Trajectory, other: Trajectory) -> bool:
    """True if two trajectories are byte-identical except for time and the names of armed perturbations."""
    plain = [replace(each, timing={}, scenario_digest="", perturbations=()) for each in (one, other)]
    return to_line(plain[0]) == to_line(plain[1])


async def _check_perturbation(plugin: type[Perturbation]) -> None:
    _ensure(hasattr(plugin, "traits"), "it declares no traits; add traits: ClassVar[Traits] = Traits(...)")
    _ensure(bool(plugin.traits.recoverable_by), "its traits do not say what it is recoverable_by")
    _ensure(bool(right_response(plugin)), "its docstring has no sentence that begins with 'An agent should'")
    # Drills set the severity themselves, so every severity has to be valid with the example's knobs.
    for severity in (0, 0.5, 1):
        plugin.model_validate({**plugin.example.get("with", {}), "severity": severity})
    use = PerturbationUse.model_validate({"use": "example", **plugin.example})
    armed = Armed("example", "example", use.when, built(plugin))
    # A perturbation of pages never fires in the shop, one of writes never on the web; machine and app are for those of their own.
    played: dict[Place, Trajectory] = {place: await play_example(place=place, armed=[armed]) for place in PLACES}
    if not any(_fired(trajectory) for trajectory in played.values()):
        own: tuple[Place, ...] = ("host", "app")
        played |= {place: await play_example(place=place, armed=[armed]) for place in own}
    where: Place | None = next((place for place, trajectory in played.items() if _fired(trajectory)), None)
    if where is None:
        ends = ", ".join(f"{place}: {trajectory.stop.detail or 'no event'}" for place, trajectory in played.items())
        raise ContractBroken(
            f"its example {plugin.example} never fires in the worlds of simtrain.testing ({ends});"
            " give example knobs, or a trigger, with which it does"
        )
    unfit = _unfit(played[where]) if plugin.traits.semantic else None
    _ensure(unfit is None, f"its reply of {unfit} does not fit the output schema; widen or drop the schema in offer")
    again = await play_example(place=where, armed=[armed])
    _ensure(alike(played[where], again), "it does something else each time; draw from call.rng alone")
    # Armed without a chance to fire it must change nothing, or clean and perturbed arms of a drill would not be comparable.
    never = await play_example(place=where, armed=[replace(armed, when=When(probability=0))])
    clean = await play_example(place=where)
    _ensure(alike(clean, never), "it changes an episode in which its trigger leaves it no chance")


def _fired(trajectory: Trajectory) -> bool:
    return trajectory.stop.reason == "answered" and (
        bool(trajectory.bent) or any(step.events for step in trajectory.steps)
    )


def _unfit(trajectory: Trajectory) -> str | None:
    """Return the first tool whose reply does not fit its output schema; MCP clients raise on such a reply."""
    schemas = {tool.name: tool.output_schema for tool in trajectory.tools}
    for step in trajectory.steps:
        schema, reply = schemas.get(step.action.tool), step.observation
        if schema is not None and not reply.is_error and not validator(schema).is_valid(reply.content):
            return step.action.tool
    return None


async def _check_grader(plugin: type[Grader]) -> None:
    if issubclass(plugin, ModelKnobs):
        return
    grader: Grader = built(plugin)
    given: list[Reward] = []

    async def ask(_: Episode, trajectory: Trajectory, world: FinishedWorld) -> Trajectory:
        grader.check(world.initial, trajectory.case)
        before = world.final.changes()
        # Twice: a grader that draws or keeps state would grade a resumed run differently.
        given.extend([await grader.grade(trajectory, world) for _ in range(2)])
        _ensure(world.final.changes() == before, "it changes the world that it grades")
        return trajectory

    for agent in ("oracle", "nop"):
        await play_example(build_agent(agent), place="host" if plugin.of_machine else "shop", judge=ask)
    for first, second in zip(given[::2], given[1::2], strict=True):
        _ensure(
            first.value is not None and 0 <= first.value <= 1, f"it gives {first.value}, which is not within 0 and 1"
        )
        _ensure(first == second, "it gives the same episode another reward when it is asked again")
        json.dumps(first.detail)


async def _check_exporter(plugin: type[Exporter]) -> None:
    exporter: Exporter = built(plugin)
    played = [await play_example(build_agent(agent)) for agent in ("oracle", "wrong", "nop")]
    once, again = [list(exporter.over(played)) for _ in range(2)]
    _ensure(once == again, "it writes other rows when it is asked again")
    written = _json(once)
    _ensure(written == once, "its rows are not JSON")
    # Wall-clock values in rows would make two exports of the same run differ.
    stamps = [str(trajectory.timing["started"]) for trajectory in played]
    _ensure(not any(stamp in json.dumps(written) for stamp in stamps), "its rows hold the wall clock")


def _json(value: Any) -> Any:
    try:
        return json.loads(json.dumps(value))
    except (TypeError, ValueError) as error:
        raise ContractBroken(f"its rows are not JSON: {error}") from error


async def _check_domain(plugin: type[Domain]) -> None:
    domain: Domain = built(plugin)
    troubles: list[str] = []
    for place in PLACES:
        try:
            await _check_domain_in(place, domain)
            return
        except ContractBroken as broken:
            troubles.append(f"in the {place} {broken}")
    raise ContractBroken("; ".join(troubles))


async def _check_domain_in(place: Place, domain: Domain) -> None:
    trajectory = await play_example(place=place)
    tools = {tool.name: tool for tool in trajectory.tools}
    prompt = domain.system_prompt(trajectory.tools)
    unnamed = [name for name in tools if name not in prompt]
    _ensure(not unnamed, f"its system prompt does not name the tools {', '.join(unnamed)}")
    for step in trajectory.steps:
        request = Request(tools[step.action.tool], step.action.arguments, step.index, step.index)
        _ensure(bool(domain.write_action(request, turn=1)), "it writes nothing for an action")
        try:
            read = domain.parse(domain.write_observation(step.observation), request)
        except ValueError as error:
            raise ContractBroken(f"it cannot parse an observation that it wrote: {error}") from error
        _ensure(
            (read.text, read.is_error) == (step.observation.text, step.observation.is_error)
            or read.content == step.observation.content is not None,
            f"it reads an observation of {step.action.tool} differently from how it wrote it",
        )


async def _check_agent(plugin: type[Agent]) -> None:
    agent: Agent = built(plugin)
    # These need a model server or a program, which a contract check must not require.
    if isinstance(agent, ModelKnobs | Outsider):
        return
    troubles: list[str] = []
    for place in PLACES:
        try:
            agent.check(example_scenario(place))
            trajectory = await play_example(agent, place=place)
        except InputError as error:
            troubles.append(f"in the {place} it refuses to play: {error}")
            continue
        if trajectory.stop.reason != "failed":
            return
        troubles.append(f"in the {place} it breaks down: {trajectory.stop.detail}")
    raise ContractBroken("; ".join(troubles))


async def _check_argument_style(style: ArgumentStyle) -> None:
    check = style(
        "orders.place", {"type": "object", "properties": {"amount": {"type": "integer"}}, "required": ["amount"]}
    )
    right, wrong = check({"amount": 2}), check({"amount": "many"})
    _ensure(right.problem is None, "it refuses arguments that fit the schema")
    _ensure(bool(wrong.problem), "it lets arguments pass that do not fit the schema")


_AT_WORK: dict[str, Check] = {
    "perturbations": _check_perturbation,
    "graders": _check_grader,
    "exporters": _check_exporter,
    "domains": _check_domain,
    "agents": _check_agent,
    "argument_styles": _check_argument_style,
}
