"""The convention by which an agent states its answer, or that there is none."""

from __future__ import annotations

import pytest

from simtrain.agents.answers import ANSWER_FORMAT, read_answer


@pytest.mark.parametrize(
    ("text", "answer", "abstain"),
    [
        ("ANSWER: 12.50", "12.50", False),
        ("I looked.\nANSWER: 12.50\n", "12.50", False),
        ("ANSWER: first\nno, wait\nANSWER: second", "second", False),
        ("ANSWER:\n| a | b |\n| 1 | 2 |", "| a | b |\n| 1 | 2 |", False),
        ("**ANSWER:** 7", "7", False),
        ("**ANSWER**: 7", "7", False),
        ("  ANSWER: 7", "7", False),
        ("CANNOT: the order is not there", "the order is not there", True),
        ("I tried.\nCANNOT: no such order", "no such order", True),
        ("CANNOT: find it\nfound it after all\nANSWER: 3", "3", False),
        ("ANSWER: 3\nCANNOT: be sure", "be sure", True),
        ("Just words.", "Just words.", False),
        ("The ANSWER: is inside a line", "The ANSWER: is inside a line", False),
        ("answer: 3", "answer: 3", False),
        ("", "", False),
    ],
)
def test_the_last_marked_line_decides(text: str, answer: str, abstain: bool) -> None:
    assert read_answer(text) == (answer, abstain)


def test_reading_an_answer_again_changes_nothing() -> None:
    answer, _ = read_answer("Well.\nANSWER: 12.50")
    assert read_answer(answer) == ("12.50", False)


def test_the_explanation_names_both_marks() -> None:
    assert '"ANSWER:"' in ANSWER_FORMAT and '"CANNOT:"' in ANSWER_FORMAT
