"""Reading what agents write: numbers, sets, tables, JSON."""

from __future__ import annotations

import csv
import io
import time

import orjson
import pytest
from hypothesis import given
from hypothesis import strategies as st

from simtrain.grading.answer_forms import MAX_ITEMS, MAX_TEXT, Unreadable, read_items, read_json, read_table
from simtrain.values.comparing import overlap_of_rows, overlap_of_sets, same_json
from simtrain.values.normal_text import normal_text
from simtrain.values.numerals import read_number

pytestmark = pytest.mark.slow

WORDS = st.text(st.characters(codec="utf-8", categories=["Lu", "Ll"]), min_size=1, max_size=8)
NUMBERS = st.integers(-(10**9), 10**9).map(lambda cents: cents / 100)


@pytest.mark.parametrize(
    ("text", "number"),
    [
        ("12.50", 12.5),
        ("$1,234.50", 1234.5),
        ("1 234.5", 1234.5),
        ("1 234 567", 1234567),
        ("1,234", 1234),
        ("€ 12", 12),
        ("12 %", 12),
        ("12%.", 12),
        ("45kg", 45),
        ("45 m2", 45),
        ("**12.50 USD**", 12.5),
        ("-5", -5),
        ("−5", -5),
        ("-$5", -5),
        ("$-5", -5),
        ("- 5", 5),
        ("+5", 5),
        (".5", 0.5),
        ("1.5e3", 1500),
        ("The total is 12.", 12),
        ("12.5, that is 12.50", 12.5),
        ("Order O0012 of INV-77 came to 45.50.", 45.5),
    ],
)
def test_the_one_number_in_a_text_is_read(text: str, number: float) -> None:
    assert read_number(text) == number


@pytest.mark.parametrize(
    "text",
    [
        *("", "none", "O0012", "12h30"),
        *("3 of 4", "5/5", "between 5 and 6", "2031-03-03", "03-03", "10:10", "1.2.3"),
        *("12,5", "5,5", "1.234,50", "1 234,50"),
        *("1e999", "9" * 20_000),
    ],
)
def test_no_number_or_more_than_one_is_unreadable(text: str) -> None:
    assert read_number(text) is None


@given(NUMBERS, st.sampled_from(["{}", "${}", "{} EUR", "The total is {}.", "**{}**", "{}%", "{} and again {}"]))
def test_a_number_is_read_back_however_it_is_written(number: float, frame: str) -> None:
    for written in (
        f"{number:.2f}",
        f"{number:,.2f}",
        f"{number:,.2f}".replace(",", "\u202f"),
        f"{number:,.2f}".replace(",", " "),
    ):
        assert read_number(frame.replace("{}", written)) == pytest.approx(number)


@given(st.floats(allow_nan=False, allow_infinity=False))
def test_every_number_is_read_back_from_its_json(number: float) -> None:
    assert read_number(orjson.dumps(number).decode()) == number


@given(st.text(max_size=200))
def test_no_text_makes_a_reader_fail_in_another_way(text: str) -> None:
    read_number(text)
    normal_text(text)
    for read in (read_json, read_items, lambda given: read_table(given, ["a", "b"])):
        try:
            read(text)
        except Unreadable:
            continue


@pytest.mark.parametrize(
    "text",
    [
        "```\n" + " " * (MAX_TEXT - 10),
        " " * (MAX_TEXT // 2) + "x-" + " " * (MAX_TEXT // 2 - 10),
        "|" * (MAX_TEXT - 4) + "\n|-|",
        "1 " * (MAX_TEXT // 2 - 1),
        "a|\n-|\n" * (MAX_TEXT // 8),
        "[" * (MAX_TEXT - 1),
        "1" + "a" * (MAX_TEXT - 2),
    ],
    ids=["fence", "spaces", "pipes", "numbers", "rules", "brackets", "letters"],
)
def test_no_long_text_takes_long_to_read(text: str) -> None:
    begun = time.process_time()
    read_number(text[:10_000])
    for read in (read_json, read_items, lambda given: read_table(given, ["a", "b"])):
        try:
            read(text)
        except Unreadable:
            continue
    assert time.process_time() - begun < 2


def test_text_longer_than_the_limit_is_not_read() -> None:
    with pytest.raises(Unreadable, match="longer than"):
        read_items("a," * MAX_TEXT)
    with pytest.raises(Unreadable, match="more than"):
        read_items("a," * (MAX_ITEMS + 1))


@pytest.mark.parametrize(
    ("text", "items"),
    [
        ('["O1", 2]', ["O1", 2]),
        ('```json\n["O1"]\n```', ["O1"]),
        ("O1, O2;O3", ["O1", "O2", "O3"]),
        ("- O1\n- O2\n", ["O1", "O2"]),
        ("1. O1\n2. O2", ["O1", "O2"]),
        ("O1,\nO2,", ["O1", "O2"]),
        ("none", []),
        ("[]", []),
    ],
)
def test_a_set_is_a_json_list_or_what_commas_semicolons_and_lines_divide(text: str, items: list[object]) -> None:
    assert read_items(text) == items


def test_a_mark_that_belongs_to_the_items_does_not_divide_them() -> None:
    assert read_items("Doe, Jane; Roe, Jo", apart=";") == ["Doe, Jane", "Roe, Jo"]
    assert read_items("1,234, 500", grouped=True) == ["1,234", "500"]
    assert read_items("100,200") == ["100", "200"]


@pytest.mark.parametrize("text", ["", " \n", ",;", "[1", "[[1]]", '[{"a": 1}]'])
def test_what_is_no_set_of_single_values_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        read_items(text)


TABLE = [["O1", "12.50"], ["O2", "7"]]


@pytest.mark.parametrize(
    "text",
    [
        "| Order ID | Total |\n|---|---:|\n| O1 | 12.50 |\n| O2 | 7 |",
        "Here it is:\n\nOrder_id | Total\n--- | ---\nO1 | 12.50\nO2 | 7\n\nThat is all.",
        "| total | note | order id |\n|-|-|-|\n| 12.50 | a \\| b | O1 |\n| 7 | | O2 |",
        "| Number | Amount |\n|---|---|\n| O1 | 12.50 |\n| O2 | 7 |",
        "order_id,total\nO1,12.50\nO2,7",
        "O1,12.50\nO2,7",
        "total;order_id\n12.50;O1\n7;O2",
        'order_id\ttotal\n"O1"\t12.50\nO2\t7',
        "```csv\norder_id, total\nO1, 12.50\n\nO2, 7\n```",
    ],
)
def test_a_table_is_read_from_markdown_and_csv(text: str) -> None:
    assert read_table(text, ["order_id", "total"]) == TABLE


def test_a_table_is_read_from_json() -> None:
    columns = ["order_id", "total"]
    assert read_table('[{"total": 7, "Order ID": "O2"}]', columns) == [["O2", 7]]
    assert read_table('{"total": 7, "order_id": "O2", "note": [1]}', columns) == [["O2", 7]]
    assert read_table('[["O2", 7]]', columns) == [["O2", 7]]
    assert read_table('[{"order_id": "O2"}]', columns) == [["O2", None]]


@pytest.mark.parametrize(
    "text",
    [
        "",
        "just words",
        "| a |\n|---|\n| O1 |",
        "| order_id | total |\n|---|---|\n| O1 | 1 | 2 |",
        "| order_id | total |\n|---|---|\n| O1 | 1 |\n\n| order_id | total |\n|---|---|\n| O2 | 2 |",
        "order_id,total\nO1,1,234.50",
        "| order_id | total | total |\n|---|---|---|\n| O1 | 1 | 2 |",
        "[1, 2]",
        '[{"a": 1}]',
        '[{"order_id": {"x": 1}, "total": 1}]',
        '[["O1"]]',
    ],
)
def test_what_is_no_table_with_these_columns_is_unreadable(text: str) -> None:
    with pytest.raises(Unreadable):
        read_table(text, ["order_id", "total"])


@given(st.lists(st.tuples(WORDS, NUMBERS), min_size=1, max_size=8), st.randoms(use_true_random=False))
def test_a_table_is_the_same_in_any_order_of_rows_and_columns_and_in_any_form(
    rows: list[tuple[str, float]], random: object
) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)  # type: ignore[attr-defined]
    written = io.StringIO()
    csv.writer(written, lineterminator="\n").writerows(
        [("total", "name"), *((total, name) for name, total in shuffled)]
    )
    markdown = "\n".join(["| name | total |", "|---|---|", *(f"| {name} | {total:,.2f} |" for name, total in shuffled)])
    as_json = orjson.dumps([{"total": total, "name": name} for name, total in shuffled]).decode()
    for text in (written.getvalue(), markdown, as_json):
        assert overlap_of_rows(rows, read_table(text, ["name", "total"]), tolerance=0.005).whole
        fewer = read_table(text, ["name", "total"])[1:]
        assert not overlap_of_rows(rows, fewer, tolerance=0.005).whole


@given(st.lists(st.integers(0, 20), max_size=12), st.lists(st.integers(0, 20), max_size=12))
def test_the_overlap_of_two_sets_is_that_of_mathematics(expected: list[int], found: list[int]) -> None:
    overlap = overlap_of_sets(expected, [str(number) for number in found], tolerance=0.005)
    one, other = set(expected), set(found)
    assert (overlap.shared, overlap.missing, overlap.extra) == (len(one & other), len(one - other), len(other - one))
    assert overlap.whole == (one == other)
    assert 0 <= overlap.f1 <= 1
    assert overlap.f1 == overlap_of_sets(found, [str(number) for number in expected], tolerance=0.005).f1


def test_text_is_compared_without_case_punctuation_around_it_and_white_space() -> None:
    assert normal_text(' **"Zoë  Ünal".** ') == normal_text("ZOË ünal")
    assert normal_text("C#") != normal_text("C")
    assert normal_text("-5") != normal_text("5")
    assert normal_text("?") == "?"


def test_json_is_compared_with_numbers_as_numbers_and_lists_in_order() -> None:
    right = {"id": "O1", "total": 12.5, "lines": [1, 2], "paid": 1, "note": None}
    assert same_json(right, {**right, "total": 12.501, "paid": True}, tolerance=0.005)
    for wrong in (
        {"total": 12.6},
        {"lines": [2, 1]},
        {"lines": [1]},
        {"id": 1},
        {"note": ""},
        {"more": 1},
        {"paid": "1"},
    ):
        assert not same_json(right, {**right, **wrong}, tolerance=0.005)
    assert not same_json(right, None, tolerance=0.005)
    assert not same_json("1", 1, tolerance=0.005)


def test_a_tolerance_is_not_stretched_for_large_numbers() -> None:
    assert not same_json(1_900_000_000, 1_900_000_001, tolerance=0.005)
    assert same_json(0.3, 0.305, tolerance=0.005)
