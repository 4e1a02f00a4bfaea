"""A handler: a tool as a Python function over the world's state."""

from __future__ import annotations

from simtrain.contracts.handler import HandlerContext, ToolError
from simtrain.values.types import JsonObject


def cheapest_cake(context: HandlerContext) -> JsonObject:
    """The cheapest cake at most as dear as `limit`."""
    found = context.read(
        "select id, name, price from cakes where price <= :limit order by price, id limit 1",
        {"limit": context.arguments["limit"]},
    )
    if not found:
        raise ToolError("Nothing is that cheap.")
    return found[0]
