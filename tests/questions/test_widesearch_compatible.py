"""Compatible scoring gives the figures of WideSearch's own evaluator, defects and all."""

from __future__ import annotations

import asyncio
import sys
from datetime import date
from pathlib import Path
from typing import Any

import orjson
import pytest
from widesearching import GOLD, OBSERVATORIES, TODAY, compatible, fenced, table

from simtrain.contracts.question import Column
from simtrain.questions.widesearch.arbiter import Known
from simtrain.questions.widesearch.compatible import score_compatible
from simtrain.questions.widesearch.rules import TableRules, read_rules
from simtrain.values.errors import InputError, ModelFault

CASES = orjson.loads(((Path(__file__).parents[1] / "support") / "widesearch_golden.json").read_bytes())["cases"]
MORE = orjson.loads(((Path(__file__).parents[1] / "support") / "widesearch_cases.json").read_bytes())
PLAIN = TableRules(("k",), (Column(name="k"), Column(name="v", metric=("exact_match",))))


class Unheard(Known):
    """A model that never answers."""

    async def align_columns(self, *_: Any) -> Any:
        raise ModelFault("no answer")

    async def align_keys(self, *_: Any) -> Any:
        raise ModelFault("no answer")

    async def judge(self, *_: Any) -> Any:
        raise ModelFault("no answer")


needs_extra = pytest.mark.skipif(
    "pandas" not in sys.modules and not __import__("importlib.util").util.find_spec("pandas"),
    reason="the extra `widesearch` is not installed",
)


@needs_extra
@pytest.mark.parametrize("case", CASES, ids=lambda case: case["id"])
def test_the_golden_cases_come_out_as_the_reference_computed_them(case: Any) -> None:
    stub = case["judge_stub"]
    known = Known(stub.get("column_map", {}), stub.get("key_map", {}), exact=True)
    scoring = score_compatible(
        read_rules(case["evaluation"]), case["gold_csv"], case["response"], as_of=TODAY, arbiter=known
    )
    assert asyncio.run(scoring).figures() == pytest.approx(case["expected"], abs=1e-9)


@needs_extra
@pytest.mark.parametrize("case", MORE["cases"], ids=lambda case: case[0])
def test_a_second_implementation_gives_the_same_figures(case: Any) -> None:
    _, evaluation, gold, response, told, figures = case
    known: Any = (
        Unheard()
        if told.get("fail")
        else Known(
            told.get("column_map", {}),
            told.get("key_map", {}),
            frozenset(map(tuple, told.get("accept", []))),
            exact=True,
        )
    )
    scoring = score_compatible(
        read_rules(MORE["evaluations"][evaluation]), MORE["golds"][gold], response, as_of=TODAY, arbiter=known
    )
    assert list(asyncio.run(scoring).figures().values()) == pytest.approx(figures, abs=1e-9)


@needs_extra
def test_rows_given_twice_in_other_letters_push_recall_to_two() -> None:
    found = compatible(fenced([*GOLD, *[tuple(text.upper() for text in row) for row in GOLD]]))
    assert (found.rows.precision, found.rows.recall, found.rows.f1) == (1.0, 2.0, pytest.approx(4 / 3))


@needs_extra
def test_two_keys_aligned_to_one_push_recall_above_one() -> None:
    found = compatible(fenced([*GOLD, ("VHS", *GOLD[0][1:])]), aliases={"VHS": "Velkora Heights"})
    assert found.rows.recall == pytest.approx(4 / 3)


@needs_extra
def test_the_column_that_lost_a_cell_is_named() -> None:
    found = compatible(fenced([("Velkora Heights", "1987-04-12", "9.9 m", "Ysolde Trammick"), *GOLD[1:]]))
    assert {loss.name: loss.wrong for loss in found.columns} == {
        "observatory": 0,
        "founded": 0,
        "mirror": 1,
        "director": 0,
    }


def test_two_metrics_on_a_column_count_twice_among_the_items() -> None:
    rules = TableRules(("k",), (Column(name="k"), Column(name="v", metric=("exact_match", "in_match"))))
    found = compatible("| k | v |\n|--|--|\n| a | b |", gold=[("a", "b")], rules=rules)
    assert (found.items.recall, found.rows.recall) == (1.5, 1.0)


@needs_extra
@pytest.mark.parametrize(
    ("gold", "given", "score"),
    [
        ("007", "7", 1),
        ("n/a", "None", 1),
        ("", "NULL", 1),
        ("5", "5.0", 0),
        ("1e5", "100000.0", 1),
        ("True", "true", 1),
    ],
)
def test_cells_are_what_pandas_infers_from_them(gold: str, given: str, score: int) -> None:
    rules = TableRules(("k",), (Column(name="k"), Column(name="v", preprocess=())))
    assert compatible(f"| k | v |\n|--|--|\n| a | {given} |", gold=[("a", gold)], rules=rules).success == score


@needs_extra
def test_a_bare_year_is_read_in_the_month_of_the_day_that_is_given() -> None:
    response = fenced([("Velkora Heights", "1987", *GOLD[0][2:])])
    for day, rows in ((date(2026, 4, 1), 1.0), (date(2026, 9, 1), 0.0)):
        assert compatible(response, gold=GOLD[:1], as_of=day).rows.recall == rows


@needs_extra
@pytest.mark.parametrize(
    "response",
    [
        "```markdown\n```\n" + table(GOLD),
        fenced([('"Velkora', *GOLD[0][1:]), *GOLD[1:]]),
        fenced([("a \\| b", *GOLD[0][1:]), *GOLD[1:]]),
        fenced([("Elsewhere", *GOLD[0][1:])]),
        fenced([]),
        "",
        None,
    ],
)
def test_what_breaks_the_reference_is_zero_with_a_reason(response: str | None) -> None:
    found = compatible(response)
    assert set(found.figures().values()) == {0.0}
    assert found.reason
    assert {loss.absent for loss in found.columns} == {3.0}


def test_without_the_extra_one_line_names_it(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "pandas", None)
    scoring = score_compatible(OBSERVATORIES, "", "", as_of=TODAY)
    with pytest.raises(InputError, match=r"needs pandas, which is not installed; pip install 'simtrain\[widesearch\]'"):
        asyncio.run(scoring)
