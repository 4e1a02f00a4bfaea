"""How values are written on pages."""

from __future__ import annotations

import pytest

from simtrain.values.errors import InputError
from simtrain.worlds.search.facts.attributes import Value, iso
from simtrain.worlds.search.pages.formats import Filter, article, writer
from simtrain.worlds.search.spec.schema import Attribute
from simtrain.worlds.search.spec.units import with_invented
from simtrain.worlds.search.spec.world_file import UnitSpec

UNITS = with_invented({"skein": UnitSpec.model_validate({"is": 3.6, "of": "km"})})


def attribute(kind: str, unit: str | None = None, digits: int = 0) -> Attribute:
    return Attribute(1, "thing", "fact", kind, "fact", unit=unit, digits=digits)


@pytest.mark.parametrize(
    ("one", "filters", "value", "words"),
    [
        (attribute("date"), [], "2121-03-04", "4 March 2121"),
        (attribute("date"), [("us", [])], "2121-03-14", "March 14, 2121"),
        (attribute("date"), [("short", [])], "2121-09-14", "14 Sep 2121"),
        (attribute("date"), [("iso", [])], "2121-03-14", "2121-03-14"),
        (attribute("date"), [("dotted", [])], "2121-03-14", "14.03.2121"),
        (attribute("date"), [("month", [])], "2121-03-14", "March 2121"),
        (attribute("date"), [("year", [])], "2121-03-14", "2121"),
        (attribute("number"), [], 12345, "12,345"),
        (attribute("number"), [("plain", [])], 12345, "12345"),
        (attribute("number", digits=2), [], 12345.5, "12,345.50"),
        (attribute("number"), [("about", [2])], 12345, "12,000"),
        (attribute("number"), [("about", [1])], 0, "0"),
        (attribute("number", digits=3), [("about", [2])], 0.01234, "0.012"),
        (attribute("number"), [("scaled", [1])], 2_440_000, "2.4 million"),
        (attribute("number"), [("scaled", [0])], 940, "940"),
        (attribute("number", "%"), [], 12, "12%"),
        (attribute("quantity", "km", 1), [], 1234.5, "1,234.5 km"),
        (attribute("quantity", "km", 1), [("bare", [])], 1234.5, "1,234.5"),
        (attribute("quantity", "t"), [("in", ["kg"]), ("digits", [0])], 12, "12,000 kg"),
        (attribute("quantity", "t"), [("in", ["kg"])], 12, "12,000 kg"),
        (attribute("quantity", "skein"), [("in", ["km"])], 10, "36.00 km"),
        (attribute("quantity", "km"), [("in", ["miles"]), ("digits", [1])], 100, "62.1 miles"),
        (attribute("money", "marks"), [], 1500, "1,500 marks"),
        (attribute("money", "₡"), [("scaled", [2])], 1_250_000, "₡1.25 million"),
        (attribute("flag"), [], 1, "yes"),
        (attribute("flag"), [("words", ["armed", "unarmed"])], 0, "unarmed"),
        (attribute("coordinates"), [], "12.5, -45.25", "12.5, -45.25"),
        (attribute("coordinates"), [("hemispheres", [])], "12.5, -45.25", "12.5° N, 45.25° W"),
        (attribute("coordinates"), [("dms", [])], "-12.5042, 45.25", "12°30′15″ S, 45°15′00″ E"),
        (attribute("category"), [("capitalize", [])], "coolant leak", "Coolant leak"),
    ],
)
def test_a_value_is_written_so(one: Attribute, filters: list[Filter], value: Value, words: str) -> None:
    assert writer(one, filters, UNITS)(value) == words


def test_numbers_and_days_are_written_alike_however_many_were_written_before() -> None:
    amount, day = writer(attribute("quantity", "km", 1), [], UNITS), writer(attribute("date"), [("dotted", [])], UNITS)
    days = [iso(number) for number in range(700_000, 720_000)]
    for _ in range(2):
        assert [amount(value / 10) for value in range(20_000)] == [f"{value / 10:,.1f} km" for value in range(20_000)]
        assert [day(one) for one in days] == [f"{one[8:]}.{one[5:7]}.{one[:4]}" for one in days]
    assert writer(attribute("quantity", "km", 2), [], UNITS)(0.1) == "0.10 km"
    assert writer(attribute("quantity", "t", 1), [], UNITS)(0.1) == "0.1 t"


@pytest.mark.parametrize(
    ("one", "filters", "said"),
    [
        (attribute("date"), [("scaled", [1])], "a date has no filter 'scaled'"),
        (attribute("quantity", "km"), [("in", ["kg"])], "km measures length and kg mass"),
        (attribute("quantity", "furlongs"), [("in", ["km"])], "unknown unit 'furlongs'"),
        (attribute("number"), [("in", ["km"])], "only a quantity can be converted"),
        (attribute("number"), [("about", ["two"])], "one whole number from 0 to 6"),
        (attribute("flag"), [("words", ["armed"])], "two texts"),
    ],
)
def test_forms_that_do_not_fit_are_refused(one: Attribute, filters: list[Filter], said: str) -> None:
    with pytest.raises(InputError, match=said):
        writer(one, filters, UNITS)


@pytest.mark.parametrize(
    ("words", "expected"),
    [
        ("orbital", "an"),
        ("relay", "a"),
        ("hour", "an"),
        ("house", "a"),
        ("heir", "an"),
        ("university", "a"),
        ("unimportant matter", "an"),
        ("uninhabited rock", "an"),
        ("used ship", "a"),
        ("usher", "an"),
        ("urban seat", "an"),
        ("European", "a"),
        ("one-way street", "a"),
        ("oneiric tale", "an"),
        ("8.5 km", "an"),
        ("80", "an"),
        ("11,000 crowns", "an"),
        ("110", "a"),
        ("18", "an"),
        ("Orequeil", "an"),
    ],
)
def test_the_article_goes_by_how_words_are_said(words: str, expected: str) -> None:
    assert article(words) == f"{expected} "
