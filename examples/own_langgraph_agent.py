"""An agent of your own as a LangGraph graph, written by hand and compiled once for all episodes.

    python examples/own_langgraph_agent.py
    cd examples && simtrain run helpdesk/refund --agent own_langgraph_agent:graph

The graph is compiled without tools, because each scenario has its own; its nodes ask for those of the running episode. The model here
follows rules, so the example runs without a key. Yours would be `llm.bind_tools(episode_tools())`.
"""

from __future__ import annotations

import asyncio
import json
import re
from typing import Any

from langchain_core.messages import AIMessage, HumanMessage, ToolMessage
from langgraph.graph import END, START, MessagesState, StateGraph
from langgraph.prebuilt import ToolNode

from simtrain import as_agent, load_scenario, rollout
from simtrain.agents.langchain_tools import episode_tools


def call(tool: str, arguments: dict[str, Any]) -> AIMessage:
    """Return a message with one tool call."""
    return AIMessage("", tool_calls=[{"name": tool, "args": arguments, "id": f"call_{tool}", "type": "tool_call"}])


async def model(state: MessagesState) -> dict[str, Any]:
    """Decide what to do next. Tools have the names that chat servers accept: `billing.refund` is `billing_refund`."""
    messages = state["messages"]
    prompt = next(str(message.content) for message in messages if isinstance(message, HumanMessage))
    replies = {str(message.name): message for message in messages if isinstance(message, ToolMessage)}
    failed = [reply for reply in replies.values() if reply.status == "error"]
    if failed:
        message = AIMessage(f"CANNOT: {failed[0].content}")
    elif "customers_search" not in replies:
        message = call("customers_search", {"query": re.findall(r"<(\S+)>", prompt)[0]})
    elif "billing_list_charges" not in replies:
        customer = json.loads(str(replies["customers_search"].content))["customers"][0]["id"]
        invoice = re.findall(r"INV-\d+-\d+", prompt)[0]
        message = call("billing_list_charges", {"customer_id": customer, "invoice_id": invoice})
    elif "billing_refund" not in replies:
        charges = json.loads(str(replies["billing_list_charges"].content))["charges"]
        charge = next(charge["id"] for charge in charges if charge["status"] == "succeeded")
        message = call("billing_refund", {"charge_id": charge, "reason": "duplicate"})
    else:
        message = AIMessage(f"ANSWER: {json.loads(str(replies['billing_refund'].content))['amount']}")
    return {"messages": [message]}


async def tools(state: MessagesState) -> Any:
    """Make the calls. An error reply comes back as a tool message with the status `error`."""
    return await ToolNode(episode_tools()).ainvoke(state)


def after_model(state: MessagesState) -> str:
    """Return the next node: the tools while there are calls."""
    last = state["messages"][-1]
    return "tools" if isinstance(last, AIMessage) and last.tool_calls else END


builder = StateGraph(MessagesState)
builder.add_node("model", model)
builder.add_node("tools", tools)
builder.add_edge(START, "model")
builder.add_conditional_edges("model", after_model)
builder.add_edge("tools", "model")
graph = builder.compile()


async def main() -> None:
    scenario = load_scenario("helpdesk/refund")
    agent = as_agent(graph)
    # Concurrent episodes never see each other's tools.
    trajectories = await asyncio.gather(*(rollout(scenario, agent, case=case) for case in range(5)))
    for case, trajectory in enumerate(trajectories):
        calls = ", ".join(step.action.tool for step in trajectory.steps)
        print(f"case {case}: {calls} -> {trajectory.answer!r}, reward {trajectory.reward}")


if __name__ == "__main__":
    asyncio.run(main())
