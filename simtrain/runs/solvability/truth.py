"""The unperturbed effect of a call: the world's own reply and state, computed on a copy."""

import re
from dataclasses import dataclass

from simtrain.agents.planned import Planned
from simtrain.contracts.request import Request
from simtrain.contracts.world import WorldState
from simtrain.episodes.proxy import Proxy
from simtrain.episodes.toolbox import Toolbox
from simtrain.values.types import Changes, JsonObject, JsonValue, Observation, canonical

_TIME = re.compile(r"\d{4}-\d\d-\d\dT\d\d:\d\d")


@dataclass(frozen=True, slots=True)
class Truth:
    """The world's own reply to a call, and the state after it; `close` frees the state."""

    reply: Observation
    state: WorldState
    left: bytes

    def close(self) -> None:
        """Free the copy of the world."""
        self.state.close()


def truth_of(environment: Proxy, planned: Planned) -> Truth | None:
    """Return the effect of a call on the current world; None for a tool that it does not have, or invalid arguments."""
    world = environment.world
    tool = next((tool for tool in world.tools if tool.name == planned.tool), None)
    if tool is None:
        return None
    checked = Toolbox((tool,), style=lambda name: world.errors_of(name).arguments).check(tool.name, planned.arguments)
    if checked.problem is not None:
        return None
    state = environment.state.fork()
    # As in the episode, where a call takes virtual time before it is answered.
    state.clock.tick()
    reply = state.answer(Request(tool, checked.arguments, len(environment.steps), 0))
    return Truth(reply, state, outcome(state.changes()))


def outcome(changes: Changes) -> bytes:
    """Return the changed rows without times: the same effect at a later time counts as equal."""
    # Sorted: the order in which rows were written does not matter.
    rows = {
        table: sorted(canonical([_timeless(change.before), _timeless(change.after)]).decode() for change in found)
        for table, found in changes.items()
    }
    return canonical(rows)


def _timeless(row: JsonObject | None) -> JsonValue:
    if row is None:
        return None
    return {name: "" if isinstance(item, str) and _TIME.match(item) else item for name, item in row.items()}
