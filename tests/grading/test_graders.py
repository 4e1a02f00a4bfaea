"""Graders over real worlds: each gives what is due, and each can fail."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError
from till import REFUND, episode, finished, till

from simtrain.contracts.grader import Grader
from simtrain.contracts.trajectory import Reward, Trajectory
from simtrain.contracts.world import FinishedWorld
from simtrain.grading.graders.abstention import Abstention
from simtrain.grading.graders.answer import Answer
from simtrain.grading.graders.final_state import FinalState
from simtrain.grading.graders.forbidden import Forbidden
from simtrain.grading.graders.tool_use import ToolUse
from simtrain.values.errors import InputError

WHOLE = {
    "expect": ["select count(*) = 1 from refunds where order_id = :order"],
    "changes_only": ["refunds", "orders.status"],
    "changes": {
        "refunds": "select id as order_id, total as amount from orders where id = :order",
        "orders": "select id, 'refunded' as status from orders where id = :order",
    },
}


def ask(grader: Grader, trajectory: Trajectory | None = None, world: FinishedWorld | None = None) -> Reward:
    """A grader's answer, after it was checked as a scenario would check it."""
    played = world or finished()
    grader.check(played.initial, (trajectory or episode()).case)
    return asyncio.run(grader.grade(trajectory or episode(), played))


def answer(form: str, gold: Any, given: str, **knobs: Any) -> float | None:
    """The value of an answer, compared with a gold that is stated."""
    return ask(Answer(**{"value": gold, "as": form, **knobs}), episode(given)).value


def test_the_final_state_is_right_when_all_that_had_to_change_did_and_nothing_else() -> None:
    reward = ask(FinalState(**WHOLE), world=finished(*REFUND))
    assert (reward.value, reward.detail) == (1.0, {})


@pytest.mark.parametrize(
    ("statements", "reason"),
    [
        ((), r"expect\[0\] does not hold"),
        (REFUND[:1], "orders lacks the change to .*refunded"),
        ((*REFUND, "update orders set total = 1 where id = 'O2'"), "orders.total was changed"),
        ((*REFUND, "delete from orders where id = 'O3'"), "a row of orders was deleted"),
        ((*REFUND, "insert into orders values ('O4', 'x', 1, 'paid')"), "a row of orders was added"),
        ((*REFUND, "update orders set status = 'refunded' where id = 'O2'"), "orders has a change too many"),
        ((*REFUND, "insert into refunds values ('R2', 'O2', 1300, null)"), "refunds has a change too many"),
        ((*REFUND, "update refunds set amount = 12.49"), r"refunds lacks the change to .*12\.5"),
        ((*REFUND, "insert into refunds values ('R2', 'O1', 12.5, null)"), r"expect\[0\] does not hold"),
    ],
)
def test_the_final_state_is_wrong_after_any_other_change(statements: tuple[str, ...], reason: str) -> None:
    reward = ask(FinalState(**WHOLE), world=finished(*statements))
    assert reward.value == 0.0
    assert re.search(reason, str(reward.detail["reason"]))


def test_the_final_state_does_not_ask_how_the_episode_ended() -> None:
    world = finished(*REFUND)
    for stop in ("answered", "abstained", "max_turns", "failed"):
        assert ask(FinalState(**WHOLE), episode(stop=stop), world).value == 1.0
        assert ask(FinalState(**WHOLE), episode(stop=stop)).value == 0.0


def test_changes_only_alone_says_that_a_table_may_change_or_nothing() -> None:
    assert ask(FinalState(changes_only=[]), world=finished()).value == 1.0
    assert ask(FinalState(changes_only=[]), world=finished(*REFUND)).value == 0.0
    assert ask(FinalState(changes_only=["orders", "refunds"]), world=finished(*REFUND)).value == 1.0
    assert ask(FinalState(changes_only=["orders"]), world=finished(*REFUND)).value == 0.0


def test_a_row_written_back_as_it_was_is_no_change() -> None:
    there_and_back = (
        "update orders set status = 'void' where id = 'O1'",
        "update orders set status = 'paid' where id = 'O1'",
    )
    assert ask(FinalState(changes_only=[]), world=finished(*there_and_back)).value == 1.0


def test_numbers_in_changes_are_compared_as_numbers() -> None:
    thirty = FinalState(changes={"refunds": "select 0.1 + 0.2 as amount, '007' as note"})
    assert ask(thirty, world=finished("insert into refunds values ('R1', 'O1', 0.3, '007')")).value == 1.0
    assert ask(thirty, world=finished("insert into refunds values ('R1', 'O1', 0.3001, '007')")).value == 0.0
    assert ask(thirty, world=finished("insert into refunds values ('R1', 'O1', 0.3, '7')")).value == 0.0


def test_a_deleted_row_is_compared_as_it_was() -> None:
    gone = FinalState(changes={"orders": "select id, status from orders where status = 'void'"}, changes_only=[])
    assert ask(gone, world=finished("delete from orders where id = 'O3'")).value == 1.0
    assert ask(gone, world=finished("delete from orders where id = 'O2'")).value == 0.0


def test_no_expected_change_means_that_none_may_be_there() -> None:
    none = FinalState(changes={"refunds": "select id as order_id from orders where status = 'nothing'"})
    assert ask(none).value == 1.0
    assert ask(none, world=finished(*REFUND)).value == 0.0


@given(st.lists(st.sampled_from([1.0, 2.5, 0.1]), max_size=5), st.lists(st.sampled_from([1.0, 2.5, 0.1]), max_size=5))
def test_expected_changes_match_as_often_as_they_stand(expected: list[float], made: list[float]) -> None:
    select = " union all ".join(f"select {amount} as amount" for amount in expected) or "select 1 as amount where 0"
    inserts = [f"insert into refunds values ('R{index}', 'O1', {amount}, null)" for index, amount in enumerate(made)]
    reward = ask(FinalState(changes={"refunds": select}), world=finished(*inserts))
    assert reward.value == float(sorted(expected) == sorted(made))


@pytest.mark.parametrize(
    ("predicate", "value"),
    [
        ("select 1", 1.0),
        ("select id from orders", 1.0),
        ("select 0", 0.0),
        ("select null", 0.0),
        ("select 1 where 0", 0.0),
        ("select total > 1 from orders", 0.0),
    ],
)
def test_a_predicate_holds_when_it_gives_rows_and_all_are_true(predicate: str, value: float) -> None:
    assert ask(FinalState(expect=[predicate])).value == value


@pytest.mark.parametrize("form", ["exact", "text", "number", "set", "table", "json"])
def test_an_answer_counts_only_when_the_agent_answered(form: str) -> None:
    sql = "select total from orders where id = :order"
    written = '[{"total": 12.5}]' if form == "table" else "12.5"
    grader = Answer(**{"sql": sql, "as": form})
    assert ask(grader, episode(written)).value == 1.0
    for stop in ("abstained", "max_turns", "budget", "failed"):
        assert ask(grader, episode(written, stop=stop)).value == 0.0
    assert ask(grader, episode(None)).value == 0.0
    assert ask(grader, episode("")).value == 0.0
    assert ask(grader, episode("12.6")).value == 0.0


def test_the_gold_is_computed_over_the_world_as_it_was() -> None:
    grader = Answer(sql="select status from orders where id = :order")
    world = finished(*REFUND)
    assert ask(grader, episode("paid"), world).value == 1.0
    assert ask(grader, episode("refunded"), world).value == 0.0


def test_the_gold_does_not_see_the_time_to_which_an_episode_came() -> None:
    world = till()
    state = world.open()
    state.clock.advance(3600)
    assert state.query("select datetime('now') as now") == [{"now": "2031-03-03 10:00:00"}]
    assert Answer(sql="select datetime('now')").gold(world, {}) == "2031-03-03 09:00:00"


def test_an_answer_is_compared_in_the_form_that_was_asked_for() -> None:
    assert answer("exact", "O1", "O1") == 1.0
    assert answer("exact", "O1", "o1") == 0.0
    assert answer("exact", "{{ order }}", "O1") == 1.0
    assert answer("text", "Zoë Ünal", "**zoë  ünal.**") == 1.0
    assert answer("text", "Zoë Ünal", "zoe unal") == 0.0
    assert answer("text", "no", "yes") == 0.0
    assert answer("number", 1300, "The total is $1,300.00.") == 1.0
    assert answer("number", 1300, "1,300 of 2,000") == 0.0
    assert answer("number", "12.5", "12.505") == 1.0
    assert answer("number", 12.5, "12.51") == 0.0
    assert answer("number", 12.5, "12", tolerance=0.5) == 1.0
    assert answer("number", 12, "12.004", tolerance=0) == 0.0
    assert answer("json", {"id": "{{ order }}", "n": [1, 2]}, '```json\n{"n": [1.0, 2], "id": "O1"}\n```') == 1.0
    assert answer("json", {"id": "{{ order }}", "n": [1, 2]}, '{"n": [2, 1], "id": "O1"}') == 0.0
    assert answer("json", [1], "[1") == 0.0


def test_a_set_is_whole_or_partly_right() -> None:
    gold = ["O1", "O2", "O3"]
    assert answer("set", gold, "o3, O1\nO2;") == 1.0
    assert answer("set", gold, "O1, O2") == 0.0
    assert answer("set", gold, "O1, O2, O3, O4") == 0.0
    assert answer("set", gold, "O1, O2", partial=True) == pytest.approx(0.8)
    assert answer("set", gold, "O1, O2, O3, O4", partial=True) == pytest.approx(6 / 7)
    assert answer("set", gold, "", partial=True) == 0.0
    assert answer("set", ["Ünal, Zoë", "Jo Roe"], "Jo Roe; Ünal, Zoë") == 1.0
    assert answer("set", [1300, 12.5], "$1,300.00, $12.50") == 1.0
    assert answer("set", [100, 200], "100,200") == 1.0


def test_an_empty_set_has_to_be_stated() -> None:
    grader = Answer(**{"sql": "select id from orders where total > 9999", "as": "set"})
    assert ask(grader, episode("none")).value == 1.0
    assert ask(grader, episode("[]")).value == 1.0
    assert ask(grader, episode("")).value == 0.0
    assert ask(grader, episode("O1")).value == 0.0


def test_a_table_is_right_in_any_order_and_partly_right_by_rows() -> None:
    sql = "select id, customer, total from orders"
    whole = "| total | ID | Customer |\n|---|---|---|\n| 1,300.00 | O2 | Jo Roe |\n| 0.10 | O3 | jo roe |\n| $12.5 | O1 | Ünal, Zoë |"
    assert ask(Answer(**{"sql": sql, "as": "table"}), episode(whole)).value == 1.0
    lacking = whole.rpartition("\n")[0]
    assert ask(Answer(**{"sql": sql, "as": "table"}), episode(lacking)).value == 0.0
    assert ask(Answer(**{"sql": sql, "as": "table", "partial": True}), episode(lacking)).value == pytest.approx(0.8)
    spoilt = whole.replace("1,300.00", "1,300.10")
    assert ask(Answer(**{"sql": sql, "as": "table"}), episode(spoilt)).value == 0.0
    assert ask(Answer(**{"sql": sql, "as": "table", "partial": True}), episode(spoilt)).value == pytest.approx(2 / 3)


def test_json_from_sql_is_one_value_or_one_row() -> None:
    text = "select json_object('id', id, 'total', total) from orders where id = :order"
    row = "select id, total from orders where id = :order"
    for sql in (text, row):
        assert ask(Answer(**{"sql": sql, "as": "json"}), episode('{"total": 12.50, "id": "O1"}')).value == 1.0
        assert ask(Answer(**{"sql": sql, "as": "json"}), episode('{"total": 12.50}')).value == 0.0


def test_a_wrong_answer_says_what_was_expected_and_what_was_found() -> None:
    grader = Answer(**{"sql": "select total from orders where id = :order", "as": "number"})
    assert ask(grader, episode("13")).detail == {"expected": "12.5", "found": "13"}
    unreadable = ask(grader, episode("either 12.5 or 13 \ud800" * 1000))
    assert unreadable.detail["reason"] == "unreadable: not exactly one number"
    assert len(str(unreadable.detail)) < 500


def test_nothing_forbidden_is_a_gate_that_stays_open() -> None:
    grader = Forbidden(
        sql=["select count(*) from refunds where order_id <> :order"], tables=["refunds"], tools=["*.refund"]
    )
    assert grader.gates
    assert ask(grader, episode(calls=(("orders.list", True), ("orders.refund", False)))).value == 1.0


@pytest.mark.parametrize(
    ("knobs", "reason"),
    [
        ({"sql": ["select count(*) from refunds"]}, "sql[0] found something"),
        ({"sql": ["select 0", "select id from refunds"]}, "sql[1] found something"),
        ({"sql": ["select null as note, id from refunds"]}, "sql[0] found something"),
        ({"tables": ["refunds"]}, "1 rows of refunds changed"),
        ({"tools": ["*.refund"]}, "orders.refund was called (step 1)"),
    ],
)
def test_something_forbidden_gives_nothing(knobs: dict[str, Any], reason: str) -> None:
    calls = (("orders.list", True), ("orders.refund", True))
    reward = ask(Forbidden(**knobs), episode(calls=calls), finished(*REFUND))
    assert reward.value == 0.0
    assert reason in str(reward.detail["reason"])
    assert ask(Forbidden(**knobs), episode(calls=calls[:1])).value == 1.0


@pytest.mark.parametrize("sql", ["select 0", "select null", "select 1 where 0", "select sum(amount) from refunds"])
def test_false_null_and_no_row_are_not_forbidden(sql: str) -> None:
    assert ask(Forbidden(sql=[sql])).value == 1.0


def test_tool_use_is_the_share_of_conditions_that_hold() -> None:
    grader = ToolUse(
        require=["orders.list", "*.refund"],
        forbid=["orders.r*"],
        order=["*.list", "*.refund"],
        max_calls=3,
        max_errors=0,
    )
    good = (("orders.list", True), ("orders.list", True), ("orders.refund", True))
    assert ask(grader, episode(calls=good)).value == pytest.approx(5 / 6)
    assert ask(grader, episode(calls=good[::-1])).detail == {
        "broken": ["forbid orders.r*", "order *.list, *.refund"],
    }
    failing = (*good[:2], ("orders.refund", False), ("orders.refund", False))
    assert ask(grader, episode(calls=failing)).detail["broken"] == [
        "require *.refund",
        "forbid orders.r*",
        "order *.list, *.refund",
        "max_calls 3 (4 made)",
        "max_errors 0 (2 seen)",
    ]
    assert ask(grader, episode()).value == pytest.approx(3 / 6)


def test_declining_is_right_only_where_it_is_due_and_changes_nothing() -> None:
    assert ask(Abstention(), episode(stop="abstained")).value == 1.0
    assert ask(Abstention(), episode("done")).value == 0.0
    assert ask(Abstention(), episode(stop="max_turns")).value == 0.0
    assert ask(Abstention(), episode(stop="abstained"), finished(*REFUND)).value == 0.0
    assert (
        ask(Abstention(changes_only=["refunds", "orders.status"]), episode(stop="abstained"), finished(*REFUND)).value
        == 1.0
    )
    assert (
        ask(Abstention(changes_only=["refunds", "orders.total"]), episode(stop="abstained"), finished(*REFUND)).value
        == 0.0
    )


def test_an_answer_is_right_where_declining_is_not_due() -> None:
    assert ask(Abstention(expect=False), episode("done"), finished(*REFUND)).value == 1.0
    assert ask(Abstention(expect=False), episode(stop="abstained")).value == 0.0
    assert ask(Abstention(expect=False), episode(stop="max_turns")).value == 0.0
    assert ask(Abstention(expect=False, changes_only=[]), episode("done"), finished(*REFUND)).value == 0.0


@pytest.mark.parametrize(
    ("grader", "message"),
    [
        (FinalState(expect=["select 1", "selekt 2"]), 'expect[1]: the SQL fails: near "selekt"'),
        (FinalState(expect=["select x from orders"]), "expect[0]: the SQL fails: no such column: x"),
        (FinalState(expect=["select :ordr"]), "expect[0]: the SQL names :ordr, which no case has; did you mean 'order'?"),
        (FinalState(expect=["delete from orders"]), "expect[0]: the SQL fails: not authorized"),
        (FinalState(expect=["select id, total from orders where 0;"]), "expect[0]: a predicate gives one value, not the columns id, total"),
        (FinalState(changes_only=["order"]), "changes_only[0]: the world 'till' has no table 'order'; did you mean 'orders'?"),
        (FinalState(changes_only=["Orders"]), "changes_only[0]: the world 'till' has no table 'Orders'; did you mean 'orders'?"),
        (FinalState(changes_only=["orders.state"]), "changes_only[0]: the table 'orders' has no column 'state'; did you mean 'status'?"),
        (FinalState(changes={"refund": "select 1"}), "changes.refund: the world 'till' has no table 'refund'; did you mean 'refunds'?"),
        (FinalState(changes={"refunds": "select id as order_i from orders"}), "changes.refunds: the table 'refunds' has no column"),
        (Answer(sql="select total from orders"), "sql: the gold is not unique: the SQL gave 3 rows; make it give one"),
        (Answer(sql="select total from orders where 0"), "sql: the gold is not unique: the SQL gave 0 rows; make it give one"),
        (Answer(sql="select id, total from orders limit 1"), "sql: `as: text` needs one column, not id, total"),
        (Answer(sql="select max(amount) from refunds"), "sql: the gold is null, not a single value"),
        (Answer(sql="select ''"), "sql: the gold is empty text, not a single value"),
        (Answer(**{"sql": "select id from orders where id = :order", "as": "number"}), "sql: the gold 'O1' is not a number"),
        (Answer(**{"sql": "select id from orders where 0", "as": "table"}), "sql: the gold is an empty table"),
        (Answer(**{"sql": "select null", "as": "set"}), "sql: an item of the gold is null"),
        (Answer(value="{{ ordr }}"), "value: the template names 'ordr', which no case has; did you mean 'order'?"),
        (Answer(value="{{ order"), "value: the template does not parse"),
        (Answer(**{"value": "O1", "as": "set"}), "value: `as: set` needs a list"),
        (Answer(**{"value": [{"a": 1}, {"b": 1}], "as": "table"}), "value: the rows of a table must have the same keys"),
        (Forbidden(sql=["select :orders"]), "sql[0]: the SQL names :orders, which no case has; did you mean 'order'?"),
        (Forbidden(tables=["refund"]), "tables[0]: the world 'till' has no table 'refund'; did you mean 'refunds'?"),
        (Forbidden(tools=["orders.*", "order.*"]), "tools[1]: no tool of the world 'till' matches 'order.*'; did you mean 'orders."),
        (ToolUse(order=["orders.list", "orders.refnd"]), "order[1]: no tool of the world 'till' matches 'orders.refnd'; did you mean"),
        (Abstention(changes_only=["orders.x"]), "changes_only[0]: the table 'orders' has no column 'x'"),
    ],
)  # fmt: skip
def test_knobs_that_cannot_work_are_refused_before_anything_is_played(grader: Grader, message: str) -> None:
    with pytest.raises(InputError) as caught:
        grader.check(till(), {"order": "O1"})
    assert str(caught.value).startswith(message)


@pytest.mark.parametrize(
    ("build", "message"),
    [
        (lambda: FinalState(), "final_state needs"),
        (lambda: Forbidden(), "forbidden needs"),
        (lambda: ToolUse(), "tool_use needs"),
        (lambda: Answer(), "either `sql` or `value`"),
        (lambda: Answer(sql="select 1", value=1), "either `sql` or `value`"),
        (lambda: Answer(**{"value": 1, "as": "number", "partial": True}), "`partial` needs"),
        (lambda: Answer(value="x", tolerance=1), "`tolerance` needs"),
        (lambda: Answer(**{"value": 1, "as": "number", "tolerance": float("nan")}), "finite"),
        (lambda: Answer(**{"value": 1, "as": "nmber"}), "'exact', 'text', 'number'"),
        (lambda: FinalState(expect="select 1"), "valid tuple"),
    ],
)
def test_knobs_that_do_not_fit_together_are_refused(build: Any, message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        build()
