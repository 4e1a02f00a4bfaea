"""The agent loop for LangGraph Studio: one episode a thread, its transcript mirrored as messages in the graph's state.

`langgraph dev --allow-blocking` in the repository serves `graph`, which langgraph.json names. The two nodes of the loop are
between one that opens the episode and one that grades it; an interrupt before `tools` shows each call before it is made.
"""

from collections.abc import Awaitable, Callable
from contextlib import AsyncExitStack
from dataclasses import dataclass
from typing import Annotated, Any, Literal, TypedDict
from uuid import uuid4

from langchain_core.messages import AIMessage, AnyMessage, HumanMessage, RemoveMessage, SystemMessage, ToolMessage
from langchain_core.runnables import RunnableConfig
from langgraph.graph import END, START, StateGraph  # pyright: ignore[reportMissingTypeStubs]
from langgraph.graph.message import REMOVE_ALL_MESSAGES, add_messages  # pyright: ignore[reportMissingTypeStubs]
from langgraph.runtime import Runtime
from langgraph.types import Command
from pydantic import BaseModel, Field

from simtrain.agents import loop
from simtrain.agents.select import build_agent
from simtrain.contracts.agent import Agent, Briefing, Policy
from simtrain.contracts.environment import Environment
from simtrain.contracts.journal import Journal
from simtrain.contracts.scenario import Episode
from simtrain.contracts.trajectory import Step
from simtrain.public import episode as numbered_episode
from simtrain.public import load_scenario
from simtrain.runs.judge import judge
from simtrain.runs.rollout import failure, record
from simtrain.scenarios.briefing import brief, outlook
from simtrain.scenarios.load import paradigm_of
from simtrain.values.errors import InputError
from simtrain.values.types import Action, JsonObject, Message

MOST_OPEN = 64
"""Maximum of open episodes; beyond it the oldest is closed, since Studio does not say when a thread is abandoned."""


class StudioTask(BaseModel):
    """The graph's input: the episode to play."""

    scenario: str = Field("helpdesk/refund", description="Name or file of a scenario.")
    case: int = Field(0, ge=0, description="Number of the case.")
    agent: str = Field("resilient", description="Name of an agent, such as resilient or chat:MODEL.")
    seed: int = Field(0, description="Seed of the run.")


class StudioOutcome(TypedDict):
    """The graph's output: the transcript, why it ended, and the rewards."""

    messages: Annotated[list[AnyMessage], add_messages]
    answer: str | None
    stop: str
    reward: float | None
    rewards: JsonObject


class StudioState(StudioOutcome):
    """The graph's state, as Studio shows it: the output, the turn, and the key of the open episode."""

    turn: int
    session: str


@dataclass(frozen=True, slots=True)
class _Session:
    """The parts of an open episode that cannot be written into a checkpoint."""

    name: str
    agent: Agent
    episode: Episode
    environment: Environment
    briefing: Briefing
    seat: loop.Seat
    stack: AsyncExitStack


_sessions: dict[str, _Session] = {}
"""The open episodes, by thread."""


async def open_episode(task: StudioTask, config: RunnableConfig) -> JsonObject:
    """Open the episode of this thread. Raises InputError for a task that cannot be played."""
    key = str(config.get("configurable", {}).get("thread_id") or uuid4())
    # A thread that starts a new run abandons the episode of the one before.
    await _close(key)
    while len(_sessions) >= MOST_OPEN:
        await _close(next(iter(_sessions)))
    session = _sessions[key] = await _opened(task)
    opening = [SystemMessage(session.briefing.system), HumanMessage(session.briefing.prompt)]
    # The messages of an earlier run on this thread would otherwise stay: add_messages only appends.
    return {"messages": [RemoveMessage(id=REMOVE_ALL_MESSAGES), *opening], "turn": 0, "session": key}


async def _opened(task: StudioTask) -> _Session:
    agent = build_agent(task.agent)
    if not isinstance(agent, Policy):
        raise InputError(f"{task.agent} brings its own loop", remedy="open its own graph in Studio")
    async with AsyncExitStack() as stack:
        stack.push_async_callback(agent.close)
        scenario = load_scenario(task.scenario)
        agent.check(scenario)
        await agent.ready()
        episode = numbered_episode(scenario, case=task.case, seed=task.seed)
        await agent.ready_for([await outlook(episode)])
        environment = await stack.enter_async_context(paradigm_of(scenario).open(episode))
        briefing = brief(episode, environment, planned=agent.planned)
        seat = loop.Seat(agent.player(briefing), Journal(environment, episode.limits))
        return _Session(task.agent, agent, episode, environment, briefing, seat, stack.pop_all())


async def model(state: StudioState) -> Command[Literal["tools", "grade"]]:
    """Run the loop's `model` node and add its message to the state."""
    session = _session(state)
    ended = await _advance(loop.model, session, state)
    journal = session.seat.journal
    messages = [_assistant(journal.message)] if len(journal.turns) > state["turn"] and journal.message else []
    return Command(update={"messages": messages, "turn": len(journal.turns)}, goto="grade" if ended else "tools")


async def tools(state: StudioState) -> Command[Literal["model", "grade"]]:
    """Run the loop's `tools` node and add its observations to the state."""
    session = _session(state)
    ended = await _advance(loop.tools, session, state)
    replies = [_reply(step) for step in session.seat.journal.turns[-1].steps]
    return Command(update={"messages": replies}, goto="grade" if ended else "model")


async def grade(state: StudioState) -> JsonObject:
    """Grade the episode and close it."""
    session = _session(state)
    journal = session.seat.journal
    assert journal.stop is not None, "only a stop leads here"
    finished = session.environment.finished()
    agent = {**session.agent.facts(), "name": session.name}
    played = record(session.episode, session.environment, session.briefing, journal, journal.stop, finished, agent)
    graded = await judge(session.episode, played, finished)
    await _close(state["session"])
    return {
        "answer": graded.answer,
        "stop": ": ".join(part for part in (journal.stop.reason, journal.stop.detail) if part),
        "reward": graded.reward,
        "rewards": {reward.grader: reward.value for reward in graded.rewards},
    }


def _session(state: StudioState) -> _Session:
    session = _sessions.get(state["session"])
    if session is None or len(session.seat.journal.turns) != state["turn"]:
        # A world cannot be wound back to an earlier checkpoint of its thread.
        raise InputError("the episode of this thread is closed, or has gone on from here", remedy="start a new run")
    return session


_Node = Callable[[loop.Cursor, Runtime[loop.Seat]], Awaitable[Command[Any]]]


async def _advance(node: _Node, session: _Session, state: StudioState) -> bool:
    """Run a node of the loop; return True if the episode has ended."""
    try:
        command = await node({"turn": state["turn"]}, Runtime(context=session.seat))
    # As in a run: a failure is recorded and graded, not shown as a crash of the graph.
    except Exception as error:
        session.seat.journal.end(failure(error))
        return True
    return command.goto == END


async def _close(key: str) -> None:
    session = _sessions.pop(key, None)
    if session is not None:
        await session.stack.aclose()


def _assistant(message: Message) -> AIMessage:
    return AIMessage(
        message.text,
        tool_calls=[
            {"name": call.tool, "args": call.arguments, "id": call.id, "type": "tool_call"}
            for call in message.calls
            if call.malformed is None
        ],
        invalid_tool_calls=[_invalid(call) for call in message.calls if call.malformed is not None],
        additional_kwargs={} if message.reasoning is None else {"reasoning_content": message.reasoning},
    )


def _invalid(call: Action) -> Any:
    return {"name": call.tool, "args": call.malformed, "id": call.id, "error": None, "type": "invalid_tool_call"}


def _reply(step: Step) -> ToolMessage:
    return ToolMessage(
        step.observation.text,
        tool_call_id=step.action.id,
        name=step.action.tool,
        status="error" if step.observation.is_error else "success",
        # For whoever watches; the agent reads the journal, not the state.
        artifact={"clock": step.clock, "perturbations": [event.label for event in step.events]},
    )


def build_graph(**options: Any) -> Any:
    """Return the compiled graph; `options` are those of LangGraph's `compile` (checkpointer, interrupt_before, ...)."""
    # LangGraph is typed by type variables that strict checking cannot follow.
    built: Any = StateGraph(StudioState, input_schema=StudioTask, output_schema=StudioOutcome)
    built.add_node("open", open_episode)
    built.add_node("model", model, destinations=("tools", "grade"))
    built.add_node("tools", tools, destinations=("model", "grade"))
    built.add_node("grade", grade)
    built.add_edge(START, "open")
    built.add_edge("open", "model")
    built.add_edge("grade", END)
    return built.compile(name="episode", **options)


graph = build_graph()
