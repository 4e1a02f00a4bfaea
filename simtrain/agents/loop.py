"""The agent loop: a LangGraph graph of two nodes, `model` and `tools`, over a journal that lives in the runtime context."""

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any, Literal, TypedDict

from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]
from langgraph.runtime import Runtime
from langgraph.types import Command

from simtrain.contracts.agent import Player
from simtrain.contracts.journal import Journal
from simtrain.contracts.trajectory import Stop


class Cursor(TypedDict):
    """The graph's state: the number of turns begun. The transcript itself is in the journal."""

    turn: int


@dataclass(frozen=True, slots=True)
class Seat:
    """The runtime context: the player and the journal."""

    player: Player
    journal: Journal


async def model(state: Cursor, runtime: Runtime[Seat]) -> Command[Literal["tools", "__end__"]]:
    """Ask the player for the next message and append it to the journal."""
    seat = runtime.context
    stop = seat.journal.say(await seat.player.think(seat.journal))
    # Routed by Command: a conditional edge costs about a third more per superstep.
    return Command(update={"turn": state["turn"] + 1}, goto="__end__" if stop else "tools")


async def tools(state: Cursor, runtime: Runtime[Seat]) -> Command[Literal["model", "__end__"]]:
    """Carry out the calls of the last message, in order."""
    # Sequential: the calls of a message change the same world, and their order must be the recorded one.
    stop = await runtime.context.journal.act()
    return Command(goto="__end__" if stop else "model")


def build_graph(*, checkpointer: Any = None, interrupt_before: Sequence[str] = ()) -> Any:
    """Return the compiled graph: run it with a state of `{"turn": 0}` and a `Seat` as context.

    `interrupt_before=["tools"]` (with a checkpointer) stops before every tool call; invoke it again with None to go on.
    """
    # LangGraph is typed by type variables that strict checking cannot follow.
    graph: Any = StateGraph(Cursor, context_schema=Seat)
    # `destinations` only draws the edges; at run time the Command decides.
    graph.add_node("model", model, destinations=("tools", END))
    graph.add_node("tools", tools, destinations=("model", END))
    graph.add_edge(START, "model")
    return graph.compile(checkpointer=checkpointer, interrupt_before=list(interrupt_before))


# Compiled once: compiling takes milliseconds, and the graph holds nothing of an episode.
@cache
def _graph() -> Any:
    return build_graph()


async def play(player: Player, journal: Journal) -> Stop:
    """Play an episode to its stop."""
    # Two supersteps a turn and a few for start and end. The episode's own limit must be the one that stops it.
    config = {"recursion_limit": 2 * journal.limits.turns + 5}
    await _graph().ainvoke({"turn": 0}, config, context=Seat(player, journal))
    stop = journal.stop
    assert stop is not None, "the graph ends only on a stop"
    return stop
