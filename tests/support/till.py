"""A small service world for the tests of graders, and episodes that end in it as a test wants."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

from samples import refund, step

from simtrain.contracts.trajectory import Stop, StopReason, Trajectory, Turn
from simtrain.contracts.world import FinishedWorld, World
from simtrain.files.yaml_files import parse_document
from simtrain.values.types import JsonObject
from simtrain.worlds.service.source import ServiceSource

TILL = """
kind: service
name: till
clock: {start: 2031-03-03T09:00:00Z, per_step: 20s}
schema: |
  create table orders (id text primary key, customer text not null, total real not null, status text not null);
  create table refunds (id text primary key, order_id text not null, amount real not null, note text);
rows:
  orders:
    - {id: O1, customer: "Ünal, Zoë", total: 12.5, status: paid}
    - {id: O2, customer: Jo Roe, total: 1300, status: paid}
    - {id: O3, customer: Jo Roe, total: 0.1, status: void}
tools:
  - {name: orders.list, description: List orders., read: select * from orders order by id}
  - name: orders.refund
    description: Refund an order.
    input: {order_id: {type: string}}
    write: ["update orders set status = 'refunded' where id = :order_id"]
"""

REFUND = (
    "insert into refunds values ('R1', 'O1', 12.5, 'as asked')",
    "update orders set status = 'refunded' where id = 'O1'",
)


def till() -> World:
    """The world, built anew."""
    return ServiceSource.load(parse_document(TILL, Path("till.yaml"))).build()


def finished(*statements: str, world: World | None = None) -> FinishedWorld:
    """The world after some SQL."""
    initial = world or till()
    final = initial.open()
    for statement in statements:
        final.execute(statement)
    return FinishedWorld(initial, final, final.changes())


def episode(
    answer: str | None = None,
    *,
    stop: StopReason = "answered",
    calls: tuple[tuple[str, bool], ...] = (),
    case: JsonObject | None = None,
) -> Trajectory:
    """An episode of one turn; `calls` are tools, and whether the call went well."""
    steps = [step(index, tool, {}, "{}", is_error=not fine) for index, (tool, fine) in enumerate(calls)]
    return replace(
        refund(),
        case={"order": "O1"} if case is None else case,
        turns=[Turn("", steps=steps)],
        answer=answer,
        stop=Stop(stop),
        changes={},
        reward=None,
        rewards=(),
    )
