"""Strict scoring of tables: each defect of the reference is gone, and nothing that an agent can write breaks it or beats 1."""

from __future__ import annotations

from time import perf_counter

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from widesearching import GOLD, OBSERVATORIES, cell, fenced, strict, table

from simtrain.contracts.question import Column
from simtrain.questions.widesearch.arbiter import Known
from simtrain.questions.widesearch.rules import TableRules
from simtrain.questions.widesearch.scores import FIGURES, ColumnLoss, Measure, over_questions, over_trials, total_losses
from simtrain.questions.widesearch.tables import read_tables

NUMBER = Column(name="v", preprocess=("extract_number",), metric=("number_near",), criterion=0.05)
DATE = Column(name="v", preprocess=("norm_date",), metric=("date_near",))
TEXT = Column(name="v")
LINK = Column(name="v", metric=("url_match",))
PART = Column(name="v", metric=("in_match",))


def test_the_whole_table_in_any_order_is_a_success() -> None:
    found = strict(fenced(GOLD[::-1]))
    assert set(found.figures().values()) == {1.0}
    assert {"reason", "faults"}.isdisjoint(found.facts()), "there is nothing to explain"


def test_rows_left_out_cost_recall_and_rows_made_up_cost_precision() -> None:
    assert strict(fenced(GOLD[:2])).rows == Measure(1.0, pytest.approx(2 / 3))
    assert strict(fenced([*GOLD, ("Gloam Spire", "2001-02-03", "3.3 m", "Nils Ardery")])).rows == Measure(0.75, 1.0)


def test_a_wrong_cell_costs_its_row_and_one_item() -> None:
    found = strict(fenced([("Velkora Heights", "1987-04-12", "9.9 m", "Ysolde Trammick"), *GOLD[1:]]))
    assert (found.rows.f1, found.items.f1, found.success) == (pytest.approx(2 / 3), pytest.approx(11 / 12), 0.0)
    lost = {loss.name: loss.wrong for loss in found.columns}
    assert lost == {"observatory": 0.0, "founded": 0.0, "mirror": 1.0, "director": 0.0}


def test_every_row_of_the_answer_is_told_cell_by_cell() -> None:
    stray = ("Gloam Spire", "2001-02-03", "3.3 m", "Nils Ardery")
    found = strict(fenced([("Velkora Heights", "1987-04-12", "9.9 m", "Ysolde Trammick"), stray, GOLD[1]]))
    assert [row.facts() for row in found.table] == [
        {
            "given": ["Velkora Heights", "1987-04-12", "9.9 m", "Ysolde Trammick"],
            "credit": [1.0, 1.0, 0.0, 1.0],
            "gold": [None, None, "4.2 m", None],
        },
        {"given": list(GOLD[1]), "credit": 1},
        {"given": list(stray)},
        {"gold": list(GOLD[2])},
    ]


def test_rows_given_twice_in_other_letters_do_not_lift_recall() -> None:
    found = strict(fenced([*GOLD, *[tuple(text.upper() for text in row) for row in GOLD]]))
    assert found.rows == Measure(0.5, 1.0)


def test_a_row_that_is_repeated_word_for_word_counts_once() -> None:
    assert strict(fenced([*GOLD, GOLD[0]])).success == 1.0


def test_two_keys_of_one_gold_row_count_for_it_once() -> None:
    known = Known(aliases={"VHS": "Velkora Heights"})
    assert strict(fenced([("VHS", *GOLD[0][1:]), *GOLD[1:]]), arbiter=known).success == 1.0
    assert strict(fenced([*GOLD, ("VHS", *GOLD[0][1:])]), arbiter=known).rows == Measure(0.75, 1.0)


def test_a_second_guess_for_a_row_is_a_wrong_row() -> None:
    guess = ("Velkora Heights", "1900-01-01", "9.9 m", "Nobody")
    assert strict(fenced([guess, *GOLD])).rows == Measure(0.5, pytest.approx(2 / 3))


def test_the_first_fence_may_be_empty_and_the_table_may_come_in_parts() -> None:
    assert strict(f"```markdown\n```\n\n{table(GOLD)}").success == 1.0
    assert strict(f"{table(GOLD[:1])}\n\nAnd the others:\n\n{fenced(GOLD[1:])}").success == 1.0


def test_columns_that_were_not_asked_for_are_left_out_and_missing_ones_are_wrong() -> None:
    more = [(*row, "https://a.example") for row in GOLD]
    assert strict(table(more, heading=("Observatory", "Founded", "Mirror", "Director", "Source"))).success == 1.0
    fewer = strict(table([row[:3] for row in GOLD], heading=("Observatory", "Founded", "Mirror")))
    assert (fewer.items.f1, fewer.rows.f1) == (0.75, 0.0)


def test_headings_are_found_in_any_order_with_markup_and_with_units() -> None:
    rows = [(row[3], row[2].removesuffix(" m"), row[0], row[1]) for row in GOLD]
    assert strict(table(rows, heading=("**Director**", "Mirror (m)", "observatory", "FOUNDED"))).success == 1.0
    in_feet = [(row[3], "13.78", row[0], row[1]) for row in GOLD[:1]]
    assert strict(table(in_feet, heading=("Director", "Mirror [ft]", "Observatory", "Founded"))).rows.precision == 1.0


def test_headings_are_found_without_the_unit_or_with_another() -> None:
    rules = TableRules(
        ("name",), (Column(name="name"), Column(name="mass (t)", metric=("number_near",), criterion=0.0))
    )
    for heading, mass in (("Mass", "4"), ("Mass (kg)", "4000"), ("mass(t)", "4")):
        assert strict(table([("a", mass)], heading=("Name", heading)), gold=[("a", "4")], rules=rules).success == 1
    two = TableRules(("name",), (*rules.columns, Column(name="mass (empty)")))
    found = strict(table([("a", "4")], heading=("Name", "Mass")), gold=[("a", "4", "3")], rules=two)
    assert found.items.recall == pytest.approx(1 / 3)  # nobody can tell which of the two is meant


def test_a_table_without_rows_is_right_where_there_are_none() -> None:
    assert set(strict(fenced([]), gold=[]).figures().values()) == {1.0}
    assert strict(fenced(GOLD[:1]), gold=[]).success == 0.0


def test_no_table_no_rows_and_no_key_in_common_are_zeros_with_a_reason() -> None:
    for response in (None, "", "I could not find them.", "| a | b |\n|---|---|\n| 1 | 2 |"):
        found = strict(response)
        assert (set(found.figures().values()), found.reason) == ({0.0}, "no table with the key columns")
        assert {loss.absent for loss in found.columns} == {3.0}
    assert set(strict(fenced([])).figures().values()) == {0.0}
    assert set(strict(fenced([("Elsewhere", *GOLD[0][1:])])).figures().values()) == {0.0}


def test_pipes_quotes_and_escapes_stay_in_their_cells() -> None:
    gold = [('The "Old" Eye', "1987-04-12", "4.2 m", "Odo | Fennwarren")]
    for written in ("Odo \\| Fennwarren", "Odo | Fennwarren", "Odo|Fennwarren"):
        response = f'| Observatory | Founded | Mirror | Director |\n|---|---|---|---|\n| The "Old" Eye | 1987-04-12 | 4.2 m | {written} |'
        assert strict(response, gold=gold).success == 1.0
    assert strict(fenced([('"Velkora Heights', *GOLD[0][1:]), *GOLD[1:]])).success == 1.0


def test_a_single_answer_may_be_a_bare_value() -> None:
    rules = type(OBSERVATORIES)(("director",), (Column(name="director"),))
    gold = [("Odo Fennwarren",)]
    assert strict("Odo Fennwarren", gold=gold, rules=rules, single=True).success == 1.0
    assert strict("| Director |\n|---|\n| odo fennwarren |", gold=gold, rules=rules, single=True).success == 1.0
    assert strict("It is Odo Fennwarren or Marit Sundegaard", gold=gold, rules=rules, single=True).success == 0.0
    known = Known(aliases={"O. F.": "Odo Fennwarren"})
    assert strict("O. F.", gold=gold, rules=rules, single=True, arbiter=known).success == 1.0
    for nothing in (None, "", " \n"):
        found = strict(nothing, gold=gold, rules=rules, single=True)
        assert (found.given_rows, found.reason) == (0, "no table with the key columns")


@pytest.mark.parametrize(
    ("given", "value"),
    [
        ("1,042", 1),
        ("1042 m", 1),
        ("104200 cm", 1),
        ("1040", 1),
        ("| Depth (km) |\n|---|\n| 1.042 |", 1),
        ("| Depth |\n|---|\n| 1042 |", 1),
        ("1100", 0),
        ("1022", 1),
        ("1063", 0),
        ("1,042 or 1,043", 0),
        ("N/A", 0),
    ],
)
def test_a_single_answer_is_held_to_the_rule_of_its_column(given: str, value: int) -> None:
    rule = Column(name="depth (m)", preprocess=("extract_number",), metric=("number_near",), criterion=0.02)
    rules = type(OBSERVATORIES)(("depth (m)",), (rule,))
    assert strict(given, gold=[("1042",)], rules=rules, single=True).success == value
    assert strict(given, gold=[("1042",)], rules=rules, single=True).items.f1 == value


def test_only_the_bare_value_of_a_single_answer_may_differ_within_the_rule_of_its_key() -> None:
    """In a table the key says which row is meant, be it the only one: a name that is nearly right names another row."""
    rules = TableRules(("depth",), (Column(name="depth", metric=("number_near",), criterion=0.02), Column(name="v")))
    assert strict("| Depth | v |\n|---|---|\n| 1,042 | a |", gold=[("1042", "a")], rules=rules).success == 1.0
    assert strict("| Depth | v |\n|---|---|\n| 1040 | a |", gold=[("1042", "a")], rules=rules).items.f1 == 0.0


def test_keys_that_are_one_number_are_one_key_unless_the_gold_tells_them_apart() -> None:
    rules = type(OBSERVATORIES)(("season",), (Column(name="season"), Column(name="v")))
    response = "| Season | v |\n|---|---|\n| 2,031 | a |\n| 2032.0 | b |"
    assert strict(response, gold=[("2031", "a"), ("2032", "b")], rules=rules).success == 1.0
    versions = [("1.1", "a"), ("1.10", "b")]
    assert strict("| Season | v |\n|---|---|\n| 1.1 | a |\n| 1.10 | b |", gold=versions, rules=rules).success == 1.0
    assert strict("| Season | v |\n|---|---|\n| 007 | a |", gold=[("7", "a")], rules=rules).success == 0.0


def test_keys_that_are_one_day_are_one_key_however_it_is_written() -> None:
    rules = TableRules(("day",), (Column(name="day", preprocess=("norm_date",)), Column(name="v")))
    gold = [("2031-03-03", "a"), ("2031-04-05", "b")]
    response = "| Day | v |\n|---|---|\n| 3 March 2031 | a |\n| April 5, 2031 | b |"
    assert strict(response, gold=gold, rules=rules).success == 1.0
    spans = response.replace("3 March 2031", "2031-03-03 to 2031-05-01")
    assert strict(spans, gold=gold, rules=rules).items.f1 == pytest.approx(0.5)


def test_rules_between_rows_quotations_and_empty_rows_are_ornaments() -> None:
    ruled = table([row for gold in GOLD for row in (gold, ("---",) * 4)])
    assert strict(ruled).success == 1.0
    unnamed = [("", *row) for row in GOLD]
    heading = ("", "Observatory", "Founded", "Mirror", "Director")
    assert strict(table([row for gold in unnamed for row in (gold, ("---",) * 5)], heading=heading)).success == 1.0
    assert strict("\ufeff" + table(GOLD)).success == 1.0
    assert strict("> " + table(GOLD).replace("\n", "\n> ")).success == 1.0
    assert strict(table([*GOLD, ("", "", "", "")])).success == 1.0
    stacked = table(GOLD[:1]) + "\n" + table(GOLD[1:])
    assert strict(stacked).success == 1.0


@pytest.mark.parametrize(
    "written",
    ["[{}](https://w.example/Eye_(old))", '[{}](https://w.example/x "An eye")', "__{}__", "~~{}~~", "\u200b{}\ufeff"],
)
def test_names_are_found_in_links_and_markup_of_every_kind(written: str) -> None:
    assert strict(table([(written.format(row[0]), *row[1:]) for row in GOLD])).success == 1.0


@pytest.mark.parametrize(
    ("gold", "given", "value"),
    [
        ("4.2 m", "4.2", 1),
        ("4.2 m", "420 cm", 1),
        ("4.2 m", "13.8 ft", 1),
        ("4.2 m", "4.2 km", 0),
        ("4.2 m", "4.2 kg", 0),
        ("4.2 m", "4.2-9.9 m", 0),
        ("4.2 m", "4.2 or 9.9", 0),
        ("4.2 m", "about 4.2 m (13.8 ft)", 1),
        ("4.2 m", "4.41 m", 1),
        ("4.2 m", "4.42 m", 0),
        ("1234", "1,234", 1),
        ("3200000", "3.2 million", 1),
        ("320000000", "3.2亿", 1),
        ("US$ 3500000", "$3.5m", 1),
        ("$5", "€5", 0),
        ("12.5%", "12.5", 1),
        ("12.5%", "12.5 percent", 1),
        ("12.5%", "0.125", 0),
        ("20 °C", "68 °F", 1),
        ("20 °C", "20 ℃", 1),
        ("20 °C", "20 °F", 0),
        ("2 years", "24 months", 1),
        ("-3", "−3", 1),
        ("-3", "3", 0),
        ("0", "0", 1),
        ("5", "", 0),
        ("5", "n/a", 0),
        ("five", "5", 0),
        ("five", "Five", 1),
        ("five", "**Five**", 1),
    ],
)
def test_numbers_are_compared_with_their_units(gold: str, given: str, value: int) -> None:
    assert cell(gold, given, NUMBER) == value


@pytest.mark.parametrize(
    ("gold", "given", "value"),
    [
        ("1987-04-12", "12 April 1987", 1),
        ("1987-04-12", "12 April 1987 (opened)", 1),
        ("1987-04-12", "Sunday, April 12th, 1987", 1),
        ("1987-04-12", "1987年4月12日", 1),
        ("1987-04-12", "April 1987", 1),
        ("1987-04-12", "1987-05-13", 1),
        ("1987-04-12", "1987-05-14", 0),
        ("1987-04-12", "1987", 0),
        ("1987", "1987-05-13", 1),
        ("1987", "1988", 0),
        ("2147-03-02", "03/02/2147", 1),
        ("1987-04-12", "yesterday", 0),
        ("unknown when", "never told", 0),
        ("unknown when", "Unknown When", 1),
        ("N/A", "soon", 0),
        ("N/A", "-", 1),
    ],
)
def test_dates_do_not_depend_on_today_and_two_that_cannot_be_read_must_be_equal(
    gold: str, given: str, value: int
) -> None:
    assert cell(gold, given, DATE) == value


@pytest.mark.parametrize(
    ("gold", "given", "value"),
    [
        ("1987-04-12", "12 April 1987", 1),
        ("1987-04-12", "04/12/1987", 1),
        ("1987-04-12", "13 April 1987", 0),
        ("1987-04-12", "April 1987", 0),
        ("April 1987", "1987-04-12", 1),
        ("1987", "12 April 1987", 1),
        ("1987-04-12", "yesterday", 0),
        ("after the war", "After the War", 1),
        ("after the war", "1946", 0),
    ],
)
def test_a_date_that_must_match_says_all_that_the_gold_one_says(gold: str, given: str, value: int) -> None:
    assert cell(gold, given, Column(name="v", preprocess=("norm_date",))) == value


@pytest.mark.parametrize(
    ("gold", "given", "value"),
    [
        ("007", "7", 0),
        ("7", "007", 0),
        ("007", "007", 1),
        ("5", "5.0", 1),
        ("1000", "1,000", 1),
        ("Odo Fennwarren", "**odo  fennwarren**", 1),
        ("Odo Fennwarren", "[Odo Fennwarren](https://a.example/odo)", 1),
        ("Odo & Co", "Odo &amp; Co", 1),
        ("Odo Fennwarren", "Odo<br>Fennwarren[3]", 1),
        ("Odo", "Odo Fennwarren", 0),
        ("", "n/a", 1),
        ("N/A", "", 1),
        ("None", "n/a", 1),
        ("N/A", "?", 1),
        ("Odo", "n/a", 0),
        ("n/a", "Odo", 0),
    ],
)
def test_text_is_compared_as_text(gold: str, given: str, value: int) -> None:
    assert cell(gold, given, TEXT) == value


def test_of_a_cell_ten_thousand_characters_are_read() -> None:
    told = "very " * 2000
    assert cell(told + "old", told + "new", TEXT) == 1
    assert cell(told[:-2] + "old", told[:-2] + "new", TEXT) == 0


@pytest.mark.parametrize(
    ("column", "gold", "given", "value"),
    [
        (LINK, "https://127.0.0.1/x", "http://127.0.0.1:80/y", 1),
        (LINK, "https://例子.example/1", "https://例子.example/2", 1),
        (LINK, "https://a.example", "me@a.example", 0),
        (LINK, "https://a.example/x", "http://www.a.example", 1),
        (LINK, "https://a.example/x", "https://b.example", 0),
        (LINK, "unlisted", "no site", 0),
        (LINK, "https://a.example", "https://a.example https://b.example", 0),
        (PART, "red, blue and green", "blue", 1),
        (PART, "red, blue and green", "", 0),
        (PART, "red, blue and green", "re", 0),
        (PART, "东京都", "东京", 1),
    ],
)
def test_links_and_parts_earn_nothing_by_being_empty(column: Column, gold: str, given: str, value: int) -> None:
    assert cell(gold, given, column) == value


def test_a_column_of_two_metrics_counts_once_and_needs_both() -> None:
    both = Column(name="v", metric=("exact_match", "in_match"))
    assert cell("red, blue", "red, blue", both) == 1
    assert cell("red, blue", "red", both) == 0


def test_trials_have_a_mean_a_best_and_a_pass() -> None:
    trials = over_trials([strict(fenced(GOLD)), strict(fenced(GOLD[:2])), strict(None)])
    assert (trials["trials"], trials["pass"], trials["max"]["f1_by_row"]) == (3, 1.0, 1.0)
    assert trials["avg"]["score"] == pytest.approx(1 / 3)
    whole = over_questions([trials, over_trials([strict(None)])])
    assert (whole["questions"], whole["pass"], whole["avg"]["score"]) == (2, 0.5, pytest.approx(1 / 6))


_PIECES = st.sampled_from(
    [
        "|", "||", "\\|", "\\\\|", '"', "'", "`", "```", "```markdown\n", "\n", "\n\n", "---", "|---|", ":-:", " ", "\t", "\r\n", "\0",
        "<table><tr><td>", "</td></tr></table>", "<br>", "&amp;", "&#0;", "&#x110000;", "[a](b)", "[1]",
        "| Observatory | Founded | Mirror | Director |\n",
        "|---|---|---|---|\n", "| Velkora Heights | 1987-04-12 | 4.2 m | Ysolde Trammick |\n", "| VELKORA HEIGHTS | 1987 | 4.2 | x |\n",
        "Observatory", "Founded", "n/a", "-", "∞", "1e999", "9" * 400, "٣", "²", "1.2.3", "99/99/9999", "0000-00-00", "3000年13月", "http://[bad",
        "https://a.example:99999/", "\ud83d", "\u202e", "𝟜.𝟚", "NaN", "-0", "1,2,3", "x" * 2000,
    ]
)  # fmt: skip


def test_losses_of_several_answers_are_added_up_by_column_in_the_order_of_the_first() -> None:
    wrong = strict(fenced([("Velkora Heights", "1987-04-12", "9.9 m", "Nobody"), *GOLD[1:]]))
    found = total_losses([wrong, strict(fenced(GOLD[:2])), wrong])
    assert found == [
        ColumnLoss("observatory", 8.0, 0.0, 1.0),
        ColumnLoss("founded", 8.0, 0.0, 1.0),
        ColumnLoss("mirror", 6.0, 2.0, 1.0),
        ColumnLoss("director", 6.0, 2.0, 1.0),
    ]
    assert total_losses([]) == []


@settings(max_examples=300, deadline=None)
@given(st.lists(_PIECES, max_size=60).map("".join), st.integers(0, 3))
def test_nothing_that_can_be_written_raises_or_beats_one(noise: str, place: int) -> None:
    lines = table(GOLD).split("\n")
    for response in (noise, "\n".join([*lines[: place + 2], noise, *lines[place + 2 :]]), noise + fenced(GOLD)):
        figures = strict(response).figures()
        assert set(figures) == set(FIGURES)
        assert all(0 <= value <= 1 for value in figures.values())


@settings(max_examples=100, deadline=None)
@given(st.lists(st.tuples(*[st.text(max_size=12)] * 4), max_size=6))
def test_a_table_written_with_escapes_reads_back_as_itself(rows: list[tuple[str, str, str, str]]) -> None:
    clean = [[" ".join(text.replace("\\", "").split()) or "x" for text in row] for row in rows]
    clean = [row for row in clean if not all(set(text) <= set("-:") for text in row)]
    found = read_tables(table([[text.replace("|", "\\|") for text in row] for row in clean]))
    assert [list(row) for row in found[0].rows] == clean if clean else not found or not found[0].rows


def test_a_huge_response_takes_its_time_in_proportion() -> None:
    begun = perf_counter()
    for response in (
        table(GOLD * 20_000),
        "|" * 1_000_000,
        "| a " * 300_000,
        ("x" * 99 + "\n") * 20_000,
        "[" * 500_000,
        "| " + "9" * 1_000_000 + " |\n" * 3,
        table([("<" * 9000, "[" * 9000, "(" * 9000, "1," * 4500)] * 20),
    ):
        assert all(0 <= value <= 1 for value in strict(response).figures().values())
    assert perf_counter() - begun < 20
