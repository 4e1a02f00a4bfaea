"""Agents of somebody's own: functions, graphs, LangChain agents, and what becomes of them when they misbehave."""

from __future__ import annotations

import asyncio
import builtins
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Annotated, Any, TypedDict

import pytest
from bakery import scenario
from langchain.agents import create_agent
from langchain_core.language_models.fake_chat_models import GenericFakeChatModel
from langchain_core.messages import AIMessage, ToolMessage
from langchain_core.tools import BaseTool
from langchain_core.utils.function_calling import convert_to_openai_tool
from langgraph.checkpoint.memory import InMemorySaver
from langgraph.graph import END, START, StateGraph
from langgraph.graph.message import add_messages
from langgraph.prebuilt import ToolNode
from langgraph.types import interrupt
from pydantic import BaseModel

from simtrain import as_agent, rollout
from simtrain.agents.langchain_middleware import EpisodeTools
from simtrain.agents.langchain_tools import episode_tools
from simtrain.agents.select import build_agent
from simtrain.contracts.agent import Abstain, Loop, StepFunction
from simtrain.contracts.trajectory import Trajectory
from simtrain.values.errors import InputError, ModelFault
from simtrain.values.types import Message, ToolSpec

Tools = tuple[ToolSpec, ...]


def play(folder: Path, thing: object, *, more: str = "", case: int = 0) -> Trajectory:
    return asyncio.run(rollout(scenario(folder, more=more), as_agent(thing), case=case))


def named(prompt: str) -> str:
    """The cake that a prompt of the bakery names."""
    return prompt.split('"')[1]


async def order(prompt: str, tools: Tools, step: StepFunction) -> str:
    cake = (await step("cakes.get", {"name": named(prompt)})).content
    assert cake is not None
    placed = (await step("orders.place", {"cake_id": cake["id"], "amount": 2})).content
    assert placed is not None
    return f"All set.\nANSWER: {placed['id']}"


def test_an_async_function_plays_and_its_calls_are_recorded(tmp_path: Path) -> None:
    played = play(tmp_path, order)
    assert (played.reward, played.stop.reason) == (1.0, "answered")
    assert [step.action.tool for step in played.steps] == ["cakes.get", "orders.place"]
    assert [len(turn.steps) for turn in played.turns] == [1, 1, 0]
    assert played.answer is not None and played.answer.startswith("O")
    assert played.turns[-1].text == f"All set.\nANSWER: {played.answer}"


def test_an_object_with_an_async_call_is_a_function_too(tmp_path: Path) -> None:
    class Baker:
        async def __call__(self, prompt: str, tools: Tools, step: StepFunction) -> str:
            return await order(prompt, tools, step)

    assert play(tmp_path, Baker()).reward == 1.0


@pytest.mark.parametrize(
    ("given", "answer", "stop"),
    [
        ("ANSWER: 3", "3", "answered"),
        ("CANNOT: sold out", "sold out", "abstained"),
        (Abstain("sold out"), "sold out", "abstained"),
        (Message("Said.", answer="3"), "3", "answered"),
        (12.5, "12.5", "answered"),
        (["a", 1], '["a",1]', "answered"),
        (None, "", "answered"),
    ],
    ids=str,
)
def test_what_a_function_returns_is_read_as_its_answer(given: object, answer: str, stop: str, tmp_path: Path) -> None:
    async def agent(prompt: str, tools: Tools, step: StepFunction) -> object:
        return given

    played = play(tmp_path, agent)
    assert (played.answer, played.stop.reason) == (answer, stop)


def test_a_function_that_asks_for_the_system_prompt_gets_it(tmp_path: Path) -> None:
    async def agent(prompt: str, tools: Tools, step: StepFunction, *, system: str) -> str:
        return system

    assert play(tmp_path, agent, more="system: Be quick.\n").answer == "Be quick."


def test_calls_made_at_once_are_carried_out_in_order(tmp_path: Path) -> None:
    async def agent(prompt: str, tools: Tools, step: StepFunction) -> str:
        replies = await asyncio.gather(*(step("cakes.get", {"name": str(number)}) for number in range(5)))
        return " ".join(reply.text for reply in replies)

    played = play(tmp_path, agent)
    assert [step.action.arguments["name"] for step in played.steps] == list("01234")
    assert len({step.action.id for step in played.steps}) == 5


@pytest.mark.parametrize("error", [KeyError("lost"), InputError("mine"), SystemExit(3)], ids=repr)
def test_an_exception_of_the_agent_is_its_failure_and_nobody_else_s(error: BaseException, tmp_path: Path) -> None:
    async def agent(prompt: str, tools: Tools, step: StepFunction) -> str:
        await step("cakes.list", {})
        raise error

    played = play(tmp_path, agent)
    assert (played.stop.reason, played.stop.blame, played.reward) == ("failed", "agent", 0.0)
    assert played.stop.detail == f"{type(error).__name__}: {error}"
    assert len(played.steps) == 1 and played.answer is None


def test_a_model_that_an_agent_could_not_have_is_nobody_s_fault(tmp_path: Path) -> None:
    async def agent(prompt: str, tools: Tools, step: StepFunction) -> str:
        raise ModelFault("no server")

    played = play(tmp_path, agent)
    assert (played.stop.reason, played.stop.blame, played.reward) == ("failed", None, None)


def test_an_answer_that_is_no_json_is_the_agent_s_failure(tmp_path: Path) -> None:
    async def agent(prompt: str, tools: Tools, step: StepFunction) -> object:
        return object()

    assert "not a JSON value" in str(play(tmp_path, agent).stop.detail)


async def restless(prompt: str, tools: Tools, step: StepFunction) -> str:
    while True:
        await step("cakes.list", {})


async def stubborn(prompt: str, tools: Tools, step: StepFunction) -> str:
    while True:
        try:
            await step("cakes.list", {})
        except Exception:
            continue


async def late(prompt: str, tools: Tools, step: StepFunction) -> str:
    for _ in range(9):
        try:
            await step("cakes.list", {})
        except Exception:
            return "ANSWER: too late"
    return "ANSWER: never stopped"


@pytest.mark.parametrize("agent", [restless, stubborn, late])
@pytest.mark.parametrize(("limit", "reason"), [("turns", "max_turns"), ("calls", "budget")])
def test_a_limit_ends_an_agent_whatever_it_does_with_the_exception(
    agent: Callable[..., Any], limit: str, reason: str, tmp_path: Path
) -> None:
    played = play(tmp_path, agent, more=f"limits: {{{limit}: 4}}\n")
    assert (played.stop.reason, len(played.steps), played.answer) == (reason, 4, None)


def test_an_agent_that_never_ends_is_ended_by_the_wall_clock(tmp_path: Path) -> None:
    async def agent(prompt: str, tools: Tools, step: StepFunction) -> str:
        await asyncio.Event().wait()
        return ""

    played = play(tmp_path, agent, more="limits: {wall: 0.05}\n")
    assert (played.stop.reason, played.answer) == ("wall_time", None)


def test_an_agent_that_cancels_itself_has_failed(tmp_path: Path) -> None:
    async def agent(prompt: str, tools: Tools, step: StepFunction) -> str:
        raise asyncio.CancelledError

    assert play(tmp_path, agent).stop.detail == "the agent cancelled itself"


async def test_who_cancels_a_rollout_cancels_its_agent(tmp_path: Path) -> None:
    begun, ended = asyncio.Event(), asyncio.Event()

    async def agent(prompt: str, tools: Tools, step: StepFunction) -> str:
        begun.set()
        try:
            await asyncio.Event().wait()
        finally:
            ended.set()
        return ""

    task = asyncio.ensure_future(rollout(scenario(tmp_path), as_agent(agent)))
    await begun.wait()
    task.cancel()
    with pytest.raises(asyncio.CancelledError):
        await task
    assert ended.is_set()


class Model(GenericFakeChatModel):
    """A model with fixed messages, which remembers what tools it was offered."""

    offered: list[list[str]] = []  # noqa: RUF012 - pydantic copies it

    def bind_tools(self, tools: Any, **kwargs: Any) -> Any:
        self.offered.append([convert_to_openai_tool(tool)["function"]["name"] for tool in tools])
        return self


def says(*messages: AIMessage | str) -> Model:
    return Model(messages=iter(messages))


def call(name: str, /, *, id: str = "1", **arguments: object) -> AIMessage:
    return AIMessage("", tool_calls=[{"name": name, "args": arguments, "id": id, "type": "tool_call"}])


class State(TypedDict):
    messages: Annotated[list[Any], add_messages]


class Ordering:
    """A deterministic 'model': it orders the cake of the prompt, whatever other episodes do meanwhile."""

    def __call__(self, messages: list[Any]) -> AIMessage:
        replies = [message for message in messages if isinstance(message, ToolMessage)]
        if not replies:
            prompt = next(message.content for message in messages if message.type == "human")
            return call("cakes_get", name=named(prompt))
        content = __import__("json").loads(replies[-1].content)
        if len(replies) == 1:
            return call("orders_place", id="2", cake_id=content["id"], amount=2)
        return AIMessage(f"ANSWER: {content['id']}")


def by_hand(tools: Callable[[], list[BaseTool]], *, checkpointer: Any = None, wait: bool = False) -> Any:
    """A hand-written graph of two nodes, which gets its tools from a function."""

    async def model(state: State) -> dict[str, Any]:
        await asyncio.sleep(0)
        return {"messages": [Ordering()(state["messages"])]}

    async def act(state: State) -> Any:
        if wait:
            interrupt("may I?")
        return await ToolNode(tools()).ainvoke(state)

    graph: Any = StateGraph(State)
    graph.add_node("model", model)
    graph.add_node("tools", act)
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    graph.add_edge("tools", "model")
    return graph.compile(checkpointer=checkpointer)


FORMS: dict[str, Callable[[], Any]] = {
    "a factory of graphs": lambda: lambda tools: by_hand(lambda: tools),
    "a compiled graph": lambda: by_hand(episode_tools),
    "a compiled graph with a checkpointer": lambda: by_hand(episode_tools, checkpointer=InMemorySaver()),
}


@pytest.mark.parametrize("form", FORMS)
async def test_graphs_play_many_episodes_at_once_without_mixing_them(form: str, tmp_path: Path) -> None:
    told, agent = scenario(tmp_path), as_agent(FORMS[form]())
    together = await asyncio.gather(*(rollout(told, agent, case=case) for case in range(8)))
    assert [played.reward for played in together] == [1.0] * 8
    for case, played in enumerate(together):
        alone = await rollout(told, agent, case=case)
        assert [step.action for step in alone.steps] == [step.action for step in played.steps]
        assert alone.answer == played.answer


async def made_later(tools: list[BaseTool]) -> Any:
    return by_hand(lambda: tools)


def test_a_factory_may_be_async(tmp_path: Path) -> None:
    assert play(tmp_path, made_later).reward == 1.0


LANGCHAIN: dict[str, Callable[[Model], Any]] = {
    "factory": lambda model: lambda tools: create_agent(model, tools),
    "middleware": lambda model: create_agent(model, middleware=[EpisodeTools()]),
}


@pytest.mark.parametrize("form", LANGCHAIN)
def test_a_langchain_agent_calls_the_tools_of_the_episode(form: str, tmp_path: Path) -> None:
    model = says(call("cakes_list"), call("cakes_get", id="2", name="no such cake"), "Well.\nANSWER: 7")
    played = play(tmp_path, LANGCHAIN[form](model))
    assert (played.answer, played.stop.reason) == ("7", "answered")
    assert [(step.action.tool, step.observation.is_error) for step in played.steps] == [
        ("cakes.list", False),
        ("cakes.get", True),
    ]
    assert model.offered == [["cakes_list", "cakes_get", "orders_place", "orders_list"]] * 3


@pytest.mark.parametrize("form", LANGCHAIN)
def test_a_tool_that_nobody_offers_is_no_exception(form: str, tmp_path: Path) -> None:
    played = play(tmp_path, LANGCHAIN[form](says(call("cakes_burn"), "CANNOT: there is no such tool")))
    assert (played.stop.reason, played.answer, played.steps) == ("abstained", "there is no such tool", [])


UNBOUND: dict[str, Callable[[], Any]] = {
    "no model is told of the tools": lambda: only(lambda state: {"messages": [AIMessage("ANSWER: 1")]}),
    "a node carries calls out, and no model is told": lambda: unbound,
    "an agent made without tools": lambda: create_agent(says("ANSWER: 1", "ANSWER: 2")),
}


def unbound(tools: list[BaseTool]) -> Any:
    """The usual slip: a ToolNode with the tools beside a model without them."""
    graph: Any = StateGraph(State)
    graph.add_node("model", lambda state: {"messages": [AIMessage("ANSWER: 1")]})
    graph.add_node("tools", ToolNode(tools))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    graph.add_edge("tools", "model")
    return graph.compile()


@pytest.mark.parametrize("form", UNBOUND)
def test_a_graph_that_never_binds_its_tools_is_told_so(form: str, tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"without having looked at one of its 4 tools; .*bind_tools"):
        play(tmp_path, UNBOUND[form]())


async def test_a_graph_that_has_bound_its_tools_once_may_answer_without_them(tmp_path: Path) -> None:
    answers = iter((True, False))

    def model(state: State) -> dict[str, Any]:
        if next(answers):
            says().bind_tools(episode_tools())
        return {"messages": [AIMessage("CANNOT: no")]}

    agent = as_agent(only(model))
    for case in range(2):
        assert (await rollout(scenario(tmp_path), agent, case=case)).stop.reason == "abstained"


def test_usage_of_all_messages_is_summed_on_the_episode(tmp_path: Path) -> None:
    first = call("cakes_list")
    first.usage_metadata = {
        "input_tokens": 100,
        "output_tokens": 10,
        "total_tokens": 110,
        "input_token_details": {"cache_read": 64},
    }
    last = AIMessage("ANSWER: 7", usage_metadata={"input_tokens": 200, "output_tokens": 5, "total_tokens": 205})
    usage = play(tmp_path, create_agent(says(first, last), middleware=[EpisodeTools()])).usage
    assert usage is not None
    assert (usage.prompt_tokens, usage.completion_tokens, usage.cached_tokens) == (300, 15, 64)


def test_a_structured_response_is_the_answer(tmp_path: Path) -> None:
    class Order(BaseModel):
        id: str

    class Out(TypedDict):
        messages: list[Any]
        structured_response: Any

    graph: Any = StateGraph(Out)
    graph.add_node("only", lambda _: {"structured_response": Order(id=f"O{len(episode_tools()[1].args)}")})
    graph.add_edge(START, "only")
    assert play(tmp_path, graph.compile()).answer == '{"id":"O1"}'


def sync_graph(tools: list[BaseTool]) -> Any:
    """Nodes that are no coroutines run in threads."""

    def model(state: State) -> dict[str, Any]:
        return {"messages": [Ordering()(state["messages"])]}

    graph: Any = StateGraph(State)
    graph.add_node("model", model)
    graph.add_node("tools", lambda state: ToolNode(tools).invoke(state))
    graph.add_edge(START, "model")
    graph.add_conditional_edges("model", lambda state: "tools" if state["messages"][-1].tool_calls else END)
    graph.add_edge("tools", "model")
    return graph.compile()


def test_a_graph_of_plain_functions_works_too(tmp_path: Path) -> None:
    assert play(tmp_path, sync_graph).reward == 1.0


async def with_tools(folder: Path, use: Callable[[dict[str, BaseTool]], Any]) -> Trajectory:
    """An episode in which a factory is handed the tools and does something with them before it answers."""

    async def factory(tools: list[BaseTool]) -> Any:
        await use({tool.name: tool for tool in tools})
        return create_agent(says("ANSWER: 1"))

    return await rollout(scenario(folder), as_agent(factory))


async def test_tools_show_their_json_schema_and_give_tool_messages_with_a_status(tmp_path: Path) -> None:
    seen: dict[str, Any] = {}

    async def use(tools: dict[str, BaseTool]) -> None:
        place = tools["orders_place"]
        seen["schema"] = place.tool_call_schema
        seen["args"] = set(place.args)
        request = {"name": "orders_place", "args": {"cake_id": "none"}, "id": "7", "type": "tool_call"}
        seen["bad"] = await place.ainvoke(request)
        seen["good"] = await tools["cakes_list"].ainvoke({**request, "name": "cakes_list", "args": {}})

    await with_tools(tmp_path, use)
    assert seen["args"] == {"cake_id", "amount"}
    assert seen["schema"]["required"] == ["cake_id", "amount"]
    assert seen["schema"]["description"] == "Order a cake."
    assert (seen["bad"].status, seen["bad"].tool_call_id) == ("error", "7")
    assert "amount" in seen["bad"].content
    assert seen["good"].status == "success"


async def test_arguments_may_have_any_name(tmp_path: Path) -> None:
    async def use(tools: dict[str, BaseTool]) -> None:
        await tools["cakes_get"].ainvoke({"self": 1, "config": 2, "run_manager": 3, "arguments": 4})

    played = await with_tools(tmp_path, use)
    assert played.steps[0].action.arguments == {"self": 1, "config": 2, "run_manager": 3, "arguments": 4}


async def test_a_tool_invoked_inside_the_event_loop_says_what_to_do(tmp_path: Path) -> None:
    async def use(tools: dict[str, BaseTool]) -> None:
        tools["cakes_list"].invoke({})

    played = await with_tools(tmp_path, use)
    assert "await its `ainvoke`" in str(played.stop.detail)


def test_a_graph_whose_tool_node_swallows_everything_is_ended_by_a_limit(tmp_path: Path) -> None:
    def factory(tools: list[BaseTool]) -> Any:
        graph: Any = StateGraph(State)
        graph.add_node("model", lambda state: {"messages": [call("cakes_list", id=str(len(state["messages"])))]})
        graph.add_node("tools", ToolNode(tools, handle_tool_errors=True))
        graph.add_edge(START, "model")
        graph.add_edge("model", "tools")
        graph.add_edge("tools", "model")
        return graph.compile()

    played = play(tmp_path, factory, more="limits: {turns: 5}\n")
    assert (played.stop.reason, len(played.steps)) == ("max_turns", 5)


def only(node: Callable[..., Any]) -> Any:
    graph: Any = StateGraph(State)
    graph.add_node("only", node)
    graph.add_edge(START, "only")
    return graph.compile()


@pytest.mark.parametrize(
    ("thing", "problem"),
    [
        (only(lambda _: {}), "does not end with a message of the assistant"),
        (only(lambda _: 1 / 0), "ZeroDivisionError"),
        (lambda tools: "a graph", "the factory returned str"),
        (by_hand(episode_tools, checkpointer=InMemorySaver(), wait=True), "stopped at an interrupt"),
    ],
    ids=["no answer", "exception", "factory of nothing", "interrupt"],
)
def test_a_graph_that_ends_without_an_answer_has_failed(thing: object, problem: str, tmp_path: Path) -> None:
    played = play(tmp_path, thing)
    assert (played.stop.reason, played.stop.blame) == ("failed", "agent")
    assert problem in str(played.stop.detail)


def test_a_graph_that_runs_in_circles_without_a_call_has_failed(tmp_path: Path) -> None:
    graph: Any = StateGraph(State)
    graph.add_node("only", lambda _: {})
    graph.add_edge(START, "only")
    graph.add_edge("only", "only")
    assert "GraphRecursionError" in str(play(tmp_path, graph.compile()).stop.detail)


def test_there_are_no_episode_tools_outside_of_an_episode() -> None:
    with pytest.raises(LookupError, match="no episode is being played"):
        episode_tools()


MODULE = """
from typing import ClassVar
from langgraph.graph import StateGraph
from simtrain.contracts.agent import Agent, Loop
from simtrain.values.types import Message

class Speaker(Loop):
    words: str = "ANSWER: 1"

    async def run(self, briefing, step):
        return Message(self.words, answer=self.words)

class Nest:
    speaker = Speaker(words="nested")

class Silent(Loop):
    pass

class Half(Agent):
    pass

class Stranger:
    pass

async def speak(prompt, tools, step):
    return "ANSWER: 2"

def slow(prompt, tools, step):
    return "ANSWER: 3"

async def two(prompt, tools):
    return "ANSWER: 4"

draft = StateGraph(dict)
number = 12
"""


@pytest.fixture
def folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """A working folder with modules in it."""
    monkeypatch.setattr(sys, "path", [entry for entry in sys.path if entry != ""])
    monkeypatch.chdir(tmp_path)
    (tmp_path / "guest_agents.py").write_text(MODULE)
    (tmp_path / "guest_broken.py").write_text("def x(:\n")
    (tmp_path / "guest_raising.py").write_text("raise ValueError('no key')\n")
    (tmp_path / "guest_needy.py").write_text("import no_such_package\n")
    (tmp_path / "guest_names.py").write_text("from simtrain import nothing_like_it\n")
    (tmp_path / "guest_chain.py").write_text("from simtrain.agents.langchain_middleware import EpisodeTools\n")
    return tmp_path


@pytest.fixture(autouse=True)
def _forget() -> Any:
    yield
    for name in [name for name in sys.modules if name.startswith("guest_")]:
        del sys.modules[name]


def test_agents_are_found_in_the_working_folder(folder: Path) -> None:
    agent = build_agent("guest_agents:Speaker", {"words": "ANSWER: 9"})
    assert isinstance(agent, Loop)
    played = asyncio.run(rollout(scenario(folder), agent))
    assert played.answer == "ANSWER: 9"
    assert asyncio.run(rollout(scenario(folder), "guest_agents:speak")).answer == "2"
    assert asyncio.run(rollout(scenario(folder), "guest_agents:Nest.speaker")).answer == "nested"


@pytest.mark.parametrize(
    ("name", "knobs", "problem"),
    [
        ("guest_nowhere:x", {}, "there is no module guest_nowhere; it is looked for in"),
        ("guest_agents.inner:x", {}, "there is no module guest_agents.inner"),
        ("guest_agents:speek", {}, "there is no guest_agents:speek; did you mean 'speak'"),
        ("guest_agents:", {}, "there is no guest_agents:"),
        (":speak", {}, "there is no module"),
        ("guest_agents:number", {}, "not an agent but an object of type int; it may be"),
        ("guest_agents:slow", {}, "not an agent but a function (prompt, tools, step)"),
        ("guest_agents:two", {}, "not an agent but an async function (prompt, tools)"),
        ("guest_agents:Stranger", {}, "not an agent but a class that does not extend Agent"),
        ("guest_agents:Silent", {}, "cannot play; subclass Policy"),
        ("guest_agents:Half", {}, "cannot play; subclass Policy"),
        ("guest_agents:draft", {}, "not compiled; name what its compile"),
        ("guest_agents:speak", {"words": "x"}, "has no knobs; leave out words"),
        ("guest_agents:Speaker", {"wards": "x"}, "did you mean 'words'"),
        ("guest_broken:x", {}, "cannot be imported: SyntaxError"),
        ("guest_raising:x", {}, "cannot be imported: ValueError: no key"),
        ("guest_needy:x", {}, "needs no_such_package, which is not installed"),
        ("guest_names:x", {}, "cannot be imported: "),
    ],
)
def test_what_is_no_agent_is_refused_in_one_line(name: str, knobs: dict[str, Any], problem: str, folder: Path) -> None:
    with pytest.raises(InputError) as caught:
        build_agent(name, knobs)
    assert problem in str(caught.value) and "\n" not in str(caught.value)


def test_an_agent_that_needs_langchain_names_the_extra(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    real = builtins.__import__

    def without(name: str, *rest: Any, **more: Any) -> Any:
        if name.partition(".")[0] == "langchain":
            raise ModuleNotFoundError(f"No module named {name!r}", name=name)
        return real(name, *rest, **more)

    monkeypatch.delitem(sys.modules, "simtrain.agents.langchain_middleware")
    monkeypatch.setattr(builtins, "__import__", without)
    with pytest.raises(InputError, match=r"simtrain\[langchain\]"):
        build_agent("guest_chain:x")
