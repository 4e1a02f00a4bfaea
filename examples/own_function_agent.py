"""An agent of your own as one async function: it gets the task, the tools, and a function that calls a tool.

python examples/own_function_agent.py
cd examples && simtrain run helpdesk/refund --agent own_function_agent:refund_clerk
"""

from __future__ import annotations

import asyncio
import re

from simtrain import as_agent, load_scenario, rollout
from simtrain.contracts.agent import Abstain, StepFunction
from simtrain.values.types import ToolSpec


async def refund_clerk(prompt: str, tools: tuple[ToolSpec, ...], step: StepFunction) -> str | Abstain:
    """Refund the second of two equal charges for an invoice. Yours would ask a model what to do next."""
    email, invoice = re.findall(r"<(\S+)>", prompt), re.findall(r"INV-\d+-\d+", prompt)
    if not email or not invoice:
        return Abstain("the message names no customer or no invoice")
    found = await step("customers.search", {"query": email[0]})
    if found.is_error or not found.content or not found.content["customers"]:
        return Abstain(f"no customer has the address {email[0]}")
    customer = found.content["customers"][0]
    charges = await step("billing.list_charges", {"customer_id": customer["id"], "invoice_id": invoice[0]})
    if charges.is_error or charges.content is None:
        return Abstain(charges.text)
    succeeded = [charge for charge in charges.content["charges"] if charge["status"] == "succeeded"]
    if len(succeeded) < 2:
        return Abstain("there is only one charge")
    # The newest charge comes first.
    refund = await step("billing.refund", {"charge_id": succeeded[0]["id"], "reason": "duplicate"})
    if refund.is_error or refund.content is None:
        return Abstain(refund.text)
    return f"The second charge is refunded.\nANSWER: {refund.content['amount']}"


async def main() -> None:
    scenario = load_scenario("helpdesk/refund")
    for case in range(3):
        trajectory = await rollout(scenario, as_agent(refund_clerk), case=case)
        calls = ", ".join(step.action.tool for step in trajectory.steps)
        print(f"case {case}: {calls} -> {trajectory.answer!r}, {trajectory.stop.reason}, reward {trajectory.reward}")


if __name__ == "__main__":
    asyncio.run(main())
