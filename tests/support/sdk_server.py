"""A server on the official SDK, for both eras, on stdio: a counter, progress, a question to the client."""

from __future__ import annotations

from typing import Annotated

from mcp.server import MCPServer
from mcp.server.mcpserver import Context, Elicit, Resolve
from pydantic import BaseModel

server = MCPServer("sdk", log_level="ERROR")
count = 0


class Wish(BaseModel):
    """What the client is asked."""

    wish: str = "cake"


@server.tool(name="count")
def counted() -> int:
    """Count."""
    global count
    count += 1
    return count


@server.tool()
async def steps(ctx: Context) -> str:
    """Go three steps."""
    for step in range(3):
        await ctx.report_progress(step, 3, f"step {step}")
    return "there"


async def wish() -> Elicit[Wish]:
    return Elicit("What do you wish for?", Wish)


@server.tool()
async def ask(wished: Annotated[Wish, Resolve(wish)]) -> str:
    """Ask the client for a wish."""
    return f"You wish for {wished.wish}, as everybody does."


if __name__ == "__main__":
    server.run()
