"""An agent that knows nothing about simtrain: it finds its task and an MCP server in its environment.

python examples/mcp_agent.py
simtrain drill helpdesk/refund --pack flaky_network --agent "mcp:python examples/mcp_agent.py" -n 3 -c 4

Any language works. The command itself may also contain `{url}`, `{prompt}` and `{config}` (a file with `mcpServers`):

simtrain drill helpdesk/refund --pack flaky_network --agent "mcp:my_agent --mcp-config {config} --print {prompt}"
"""

from __future__ import annotations

import asyncio
import os
import re
import sys
import tempfile
from pathlib import Path
from typing import Any

from mcp import Client


async def refund(url: str, prompt: str) -> str:
    """Refund the second of two equal charges for an invoice. Yours would ask a model what to do next."""
    email, invoice = re.findall(r"<(\S+)>", prompt), re.findall(r"INV-\d+-\d+", prompt)
    async with Client(url) as client:

        async def call(tool: str, **arguments: Any) -> dict[str, Any]:
            for _ in range(5):
                result = await client.call_tool(tool, arguments)
                if not result.is_error:
                    return result.structured_content or {}
            raise LookupError(f"{tool}: {getattr(result.content[0], 'text', 'no reply')}")

        try:
            customers = (await call("customers__search", query=email[0]))["customers"]
            charges = await call("billing__list_charges", customer_id=customers[0]["id"], invoice_id=invoice[0])
            succeeded = [charge for charge in charges["charges"] if charge["status"] == "succeeded"]
            # The newest charge comes first.
            refunded = await call("billing__refund", charge_id=succeeded[0]["id"], reason="duplicate")
        except LookupError as error:
            return f"CANNOT: {error}"
    return f"The second charge is refunded.\nANSWER: {refunded['amount']}"


def main() -> None:
    """Run a drill of this very agent: simtrain starts this file again for every episode."""
    from simtrain import drill, load_scenario

    with tempfile.TemporaryDirectory() as folder:
        agent = f"mcp:{sys.executable} {Path(__file__).resolve()}"
        result = drill([load_scenario("helpdesk/refund")], agent, packs=["flaky_network"], cases=2, out=folder)
        assert result.report is not None
        for arm in result.report.runs[0].arms:
            print(f"{arm.name}: {arm.measures.episodes} episodes, reward {arm.measures.success.value}")


if __name__ == "__main__":
    if "SIMTRAIN_URL" in os.environ:
        print(asyncio.run(refund(os.environ["SIMTRAIN_URL"], os.environ["SIMTRAIN_PROMPT"])))
    else:
        main()
