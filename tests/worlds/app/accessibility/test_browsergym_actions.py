"""What a model writes to act, in the form of BrowserGym: read, never run."""

from __future__ import annotations

import jsonschema
import pytest
from hypothesis import given
from hypothesis import strategies as some

from simtrain.worlds.app.accessibility.browsergym_actions import (
    ACTIONS,
    GymActionError,
    GymCall,
    bid_not_found,
    parse_actions,
)


def test_there_are_twenty_one_actions_each_with_a_schema() -> None:
    assert len(ACTIONS) == 21
    for action in ACTIONS.values():
        jsonschema.Draft202012Validator.check_schema(action.schema())
    assert ACTIONS["click"].signature() == "click(bid, button='left', modifiers=[])"


def test_calls_are_read_with_their_defaults_and_by_name() -> None:
    assert parse_actions("click('a12')") == [GymCall("click", {"bid": "a12", "button": "left", "modifiers": []})]
    assert parse_actions("click('48', button=\"middle\", modifiers=['Shift'])")[0].arguments["modifiers"] == ["Shift"]
    assert parse_actions("scroll(-50.2, 100)") == [GymCall("scroll", {"delta_x": -50.2, "delta_y": 100})]
    assert parse_actions("fill('7', 'two\\nlines')")[0].arguments["value"] == "two\nlines"
    assert parse_actions("select_option('7', ['red', 'blue'])")[0].arguments["options"] == ["red", "blue"]


def test_prose_and_fences_around_a_call_are_passed_over() -> None:
    written = "I will search first (as asked).\n```python\nfill('5', \"lamp\")\n# then\nclick('6')\n```\nDone."
    assert [call.action for call in parse_actions(written)] == ["fill", "click"]
    assert [call.action for call in parse_actions("Let me go back.\n`go_back()`")] == ["go_back"]


@pytest.mark.parametrize(
    ("written", "answer"),
    [
        ("", "ValueError: Received an empty action."),
        ("I am done.", "ValueError: Received an empty action."),
        ("tap('5')", "NameError: Invalid action type 'tap'."),
        ("click()", "TypeError: click() missing 1 required positional argument: 'bid'"),
        ("fill('5')", "TypeError: fill() missing 1 required positional argument: 'value'"),
        ("scroll()", "TypeError: scroll() missing 2 required positional arguments: 'delta_x' and 'delta_y'"),
        ("click('5', colour='red')", "TypeError: click() got an unexpected keyword argument 'colour'"),
        ("click('5', bid='6')", "TypeError: click() got multiple values for argument 'bid'"),
        ("go_back(1)", "TypeError: go_back() takes 0 positional arguments but 1 were given"),
        ("__import__('os').system('true')", "ValueError: Received an empty action."),
        ("click(open('/etc/passwd').read())", "ValueError: Received an empty action."),
        ("eval('1')", "NameError: Invalid action type 'eval'."),
    ],
)
def test_what_cannot_be_carried_out_is_answered_as_browsergym_does(written: str, answer: str) -> None:
    with pytest.raises(GymActionError) as refused:
        parse_actions(written)
    assert str(refused.value) == answer


def test_several_calls_are_refused_where_one_is_allowed() -> None:
    with pytest.raises(GymActionError, match="only single-actions"):
        parse_actions("go_back()\ngo_forward()", several=False)


def test_a_stale_bid_is_answered_as_browsergym_does() -> None:
    assert bid_not_found("a99") == 'ValueError: Could not find element with bid "a99"'
    assert bid_not_found(99) == "ValueError: expected a string, got 99"


@given(some.text(max_size=200) | some.text("()[]'\"\\,=click \n\t0x{}-", max_size=400))
def test_any_text_is_read_or_refused(written: str) -> None:
    try:
        calls = parse_actions(written)
    except GymActionError:
        return
    assert all(call.action in ACTIONS for call in calls)


def test_deep_nesting_is_refused() -> None:
    for written in (
        "click(" * 5000,
        "click(" + "[" * 3000 + "]" * 3000 + ")",
        "click('" + "x" * 100_000 + "')",
        "click(" + "-" * 9000 + "1)",
    ):
        with pytest.raises(GymActionError):
            parse_actions(written)
