"""A LangGraph graph, or a LangChain agent, as an agent."""

import inspect
from collections.abc import Callable, Iterator
from typing import Any, ClassVar, TypeAlias
from uuid import uuid4

from langchain_core.messages import AIMessage, BaseMessage, HumanMessage, SystemMessage, ToolCall, ToolMessage
from langchain_core.runnables import Runnable
from pydantic import BaseModel, Field, PrivateAttr

from simtrain.agents.answers import spoken
from simtrain.agents.langchain_tools import Notice, langchain_tools, offer
from simtrain.agents.plan import answering
from simtrain.contracts.agent import Briefing, Loop, StepFunction
from simtrain.llm.tool_names import wire_names
from simtrain.values.errors import AgentFault, UnboundTools
from simtrain.values.types import Action, JsonObject, Message, Observation, Usage, as_object

GraphFactory: TypeAlias = Callable[..., Any]

_SUPERSTEPS = 1000


class GraphAgent(Loop):
    """A compiled graph whose state has `messages`, or a factory `(tools) -> graph` that is called for every episode.

    The graph is invoked with the system prompt and the task as messages; it meets the environment as LangChain tools (see
    `simtrain.agents.langchain_tools`), and its last message is the answer. A graph with a checkpointer gets a thread of its own for
    every episode. A graph that ends its first episode without having looked at a tool has forgotten to bind them: its author is
    told so, instead of earning nothing. An episode that continues a recorded one begins with the messages so far.
    """

    continues: ClassVar[bool] = True

    graph: Any = Field(description="The compiled graph, or the factory.")

    _bound: bool = PrivateAttr(False)

    async def run(self, briefing: Briefing, step: StepFunction) -> Message:
        """Invoke the graph. Raises AgentFault when it ends without an answer, UnboundTools when it did not bind the tools."""
        notice = Notice()

        async def counted(tool: str, arguments: JsonObject) -> Observation:
            notice.taken = True
            return await step(tool, arguments)

        tools = langchain_tools(briefing.tools, counted, notice)
        offer(tools)
        graph = self.graph if _is_graph(self.graph) else await _made(self.graph, tools)
        # Random on purpose: a checkpointer that outlives the run must never continue an earlier episode.
        config = {"configurable": {"thread_id": str(uuid4())}, "recursion_limit": _SUPERSTEPS}
        final = await graph.ainvoke({"messages": list(_opening(briefing))}, config)
        answer = _answer(final)
        # Checked until it was seen once: an agent may well answer a later episode without a look at its tools.
        self._bound = self._bound or notice.taken or not tools
        if not self._bound:
            raise UnboundTools(
                f"the graph answered without having looked at one of its {len(tools)} tools",
                remedy=(
                    "give its model the tools that the function (tools) -> graph is handed, or in a node: "
                    "model.bind_tools(episode_tools())"
                ),
            )
        return answer


def _opening(briefing: Briefing) -> Iterator[BaseMessage]:
    """Yield what a graph is told: the task, and the turns so far."""
    if briefing.system:
        yield SystemMessage(briefing.system)
    yield HumanMessage(briefing.prompt)
    names = wire_names([tool.name for tool in briefing.tools])
    for turn in briefing.heard:
        yield AIMessage(turn.text, tool_calls=[_called(step.action, names) for step in turn.steps])
        for step in turn.steps:
            reply = step.observation
            yield ToolMessage(
                reply.text,
                tool_call_id=step.action.id,
                name=names.get(step.action.tool, step.action.tool),
                status="error" if reply.is_error else "success",
            )


def _called(action: Action, names: dict[str, str]) -> ToolCall:
    """Return a call as a message holds it; arguments that were no JSON object are left out."""
    return {"name": names.get(action.tool, action.tool), "args": action.arguments, "id": action.id, "type": "tool_call"}


async def _made(factory: GraphFactory, tools: list[Any]) -> Any:
    graph = factory(tools)
    if inspect.isawaitable(graph):
        graph = await graph
    if not _is_graph(graph):
        raise AgentFault(f"the factory returned {type(graph).__name__}, which is not a compiled graph")
    return graph


def _is_graph(thing: object) -> bool:
    return isinstance(thing, Runnable)


def _answer(final: object) -> Message:
    state = as_object(final)
    # LangGraph returns normally from an interrupt; the last message would pass for an answer.
    if state.get("__interrupt__"):
        raise AgentFault("the graph stopped at an interrupt, and nothing resumes it")
    messages: list[Any] = state.get("messages") or []
    usage = _usage(messages)
    structured = state.get("structured_response")
    if structured is not None:
        value = structured.model_dump(mode="json") if isinstance(structured, BaseModel) else structured
        message = answering(value)
    elif messages and isinstance(messages[-1], AIMessage):
        message = spoken(str(messages[-1].text))
    else:
        raise AgentFault("the graph's state does not end with a message of the assistant under `messages`")
    return Message(message.text, usage=usage, abstain=message.abstain, answer=message.answer)


def _usage(messages: list[Any]) -> Usage | None:
    """Return the total usage of the episode's model calls; None if the messages do not report it."""
    usages = [
        message.usage_metadata for message in messages if isinstance(message, AIMessage) and message.usage_metadata
    ]
    if not usages:
        return None
    cached = sum(usage.get("input_token_details", {}).get("cache_read", 0) for usage in usages)
    prompt, completion = sum(usage["input_tokens"] for usage in usages), sum(usage["output_tokens"] for usage in usages)
    return Usage(prompt, completion, cached)
