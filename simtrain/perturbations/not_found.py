"""An id is gone or renamed."""

from collections.abc import Mapping
from dataclasses import replace
from typing import ClassVar, cast

from pydantic import Field

from simtrain.contracts.perturbation import Call, Traits
from simtrain.contracts.request import Answer
from simtrain.contracts.world import WorldState
from simtrain.mcp_wire.raw_replies import reworded
from simtrain.perturbations.addresses import opened_by
from simtrain.perturbations.catalogued import Lasting
from simtrain.perturbations.reply_edits import leaves, respoken
from simtrain.perturbations.world_rows import Home, named_row
from simtrain.values.json_walk import each_text
from simtrain.values.seeding import Stream
from simtrain.values.types import JsonObject, JsonValue, Observation

MOST_TRIED = 50


class NotFound(Lasting):
    """A valid id is no longer found, in the service's own words, until a list or a search shows its record.

    Source: ToolMaze, AgentDisruptBench, ToolBench-X. An agent should search for the thing by what else it knows, and go
    on with what it finds. Calls that name no record by a textual id pass. With `renamed`, the record has another id
    from then on. The gold is that of the clean task, so use it only if the id is not part of the answer.
    """

    traits: ClassVar[Traits] = Traits(
        side="call", layer="D", recoverable_by=("switch", "retry"), needs_world=True, follows="fired"
    )

    renamed: bool = Field(default=False, description="Whether the record is found again under another id.")

    def begin(self, call: Call) -> None:
        """Lose the record that the call names."""
        # A row that only a recording or a model knows cannot be looked up here.
        found = None if call.world is None or not call.in_world else named_row(call.world, _named(call))
        if call.world is not None and found is not None and isinstance(found[1].value, str):
            home = found[1]
            other = _unused(call.world, home, call.rng)
            if other is not None:
                call.memory.setdefault(home.value, other)

    async def follow(self, call: Call, proceed: Answer) -> Observation:
        """Answer that lost rows do not exist, and show again what is found."""
        lost = call.memory
        arguments = call.request.arguments
        for _, value in leaves(arguments):
            if isinstance(value, str) and value in lost and call.in_world:
                return self._missing(call, value)
        if self.renamed and lost:
            # The world keeps the old id, so calls are translated on the way in and replies on the way out.
            old = {other: name for name, other in lost.items()}
            request = replace(call.request, arguments=_respelt(arguments, old))
            return _retold(await proceed(request), lost)
        observation = await proceed(call.request)
        if not observation.is_error:
            for name in [name for name in lost if respoken(observation.text, {name: ""}) != observation.text]:
                del call.memory[name]
        return observation

    def _missing(self, call: Call, name: str) -> Observation:
        """Return the service's reply for an unknown id, with this id in its place."""
        other = str(call.memory[name])
        world = cast(WorldState, call.world)
        arguments = _respelt(call.request.arguments, {name: other})
        # An id of the same form that no row has, so that the service words the error itself.
        with world.savepoint():
            observation = world.answer(replace(call.request, arguments=arguments))
        # Some writes create what they do not find; the caller must not be told that it worked.
        if not observation.is_error and call.request.tool.writes:
            return self.refusal(call, "not_found", f"There is no {name}.")
        return self.signed(_retold(observation, {other: name}))


def _named(call: Call) -> JsonObject:
    """Return the arguments that may name a record: all of them; on the web only URLs of pages."""
    if call.domain != "search":
        return call.request.arguments
    return {str(address.place[0]): address.url for address in opened_by(call.request)}


def _unused(world: WorldState, home: Home, rng: Stream) -> str | None:
    """Return an unused id of the same form."""
    value = str(home.value)
    # The last digits or letters: prefixes such as C or ord_ name the kind, which must stay.
    digits = [index for index, sign in enumerate(value) if sign.isdigit()][-6:]
    places = digits or [index for index, sign in enumerate(value) if sign.isalpha()][-3:]
    for _ in range(MOST_TRIED if places else 0):
        signs = list(value)
        for index in places:
            # Without vowels no word comes out, and without l none that reads as a 1.
            signs[index] = rng.choose("0123456789" if digits else "bcdfghjkmnpqrstvwxz")
        candidate = "".join(signs)
        if candidate != value and Home(home.table, home.column, candidate).row(world) is None:
            return candidate
    return None


def _respelt(value: JsonValue, names: Mapping[str, str]) -> JsonValue:
    """Return a JSON value with names replaced, where they are whole texts."""
    return each_text(value, lambda text: names.get(text, text))


def _retold(observation: Observation, names: Mapping[str, str]) -> Observation:
    """Return the reply with names replaced, in its text and its structured content."""
    text = respoken(observation.text, names)
    if text == observation.text:
        return observation
    structured = _respelt(observation.content, names) if observation.content else None
    return replace(observation, text=text) if observation.json else reworded(observation, text, structured)
