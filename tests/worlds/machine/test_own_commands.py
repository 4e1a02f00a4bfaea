"""Commands of a world's own: a template, a SELECT, and a handler, which keeps the contract of handlers."""

from __future__ import annotations

import pytest

from simtrain.contracts.handler import HandlerContext, Reply, ToolError
from simtrain.plugins import PLUGINS
from simtrain.values.errors import SimulatorFault
from simtrain.worlds.machine.world import MachineState
from tests.support.machines import bash, state_of

WORLD = """
kind: machine
name: desk
hostname: desk
user: kim
users: {kim: {}}
schema: create table bookings (id integer primary key, account text not null, cents integer not null check (cents <> 13));
commands:
  book: {handler: book}
  totals: {sql: "select account, sum(cents) from bookings group by account"}
  greet: {template: "Good morning, {{ arguments[0] }}."}
"""


def book(context: HandlerContext) -> Reply:
    """Book cents to an account."""
    argv: list[str] = context.arguments["argv"]
    account, cents = str(argv[0]), int(argv[1])
    context.write("insert into bookings (account, cents) values (:a, :c)", {"a": account, "c": cents})
    if cents < 0:
        raise ToolError("no negative amounts")
    return Reply(f"booked {cents} in {context.arguments['directory']}\n")


@pytest.fixture
def state(monkeypatch: pytest.MonkeyPatch) -> MachineState:
    monkeypatch.setitem(PLUGINS["handlers"], "book", f"{book.__module__}:book")
    return state_of(WORLD)


def test_a_handler_reads_and_writes_the_world(state: MachineState) -> None:
    assert bash(state, "cd /tmp; book rent 250; book rent 5; totals | tr '\\t' =; greet Kim").splitlines()[:4] == [
        "booked 250 in /tmp",
        "booked 5 in /tmp",
        "rent=255",
        "Good morning, Kim.",
    ]


def test_what_a_handler_refuses_is_undone(state: MachineState) -> None:
    told = bash(
        state, "echo kept > note; book rent 1; book rent -5 || echo $?; book rent 13 || echo $?; totals; cat note"
    )
    assert "book: no negative amounts\n1\n" in told
    assert told.endswith("rent\t1\nkept")
    assert "CHECK constraint" in told
    assert state.query("select content from files where path = '/home/kim/note'") == [{"content": "kept\n"}]


def test_a_refusal_within_a_job_is_undone_too(state: MachineState) -> None:
    told = bash(state, "(sleep 5; book rent -5; book rent 2) & book rent 1; wait; totals")
    assert told.endswith("rent\t3")


def test_a_mistake_in_a_handler_is_a_fault_of_the_simulator(state: MachineState) -> None:
    with pytest.raises(SimulatorFault, match="the handler 'book' failed: IndexError"):
        bash(state, "book rent; echo and so on")
    with pytest.raises(SimulatorFault, match="the handler 'book' failed: ValueError"):
        bash(state, "echo rent much | xargs book; echo and so on")


def test_they_are_found_as_programs(state: MachineState) -> None:
    assert bash(state, "which book greet ls if cd nothing; echo $?").splitlines() == [
        "/usr/local/bin/book",
        "/usr/local/bin/greet",
        "/usr/bin/ls",
        "1",
    ]
