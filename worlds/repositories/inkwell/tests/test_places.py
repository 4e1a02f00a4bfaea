import pytest

from inkwell import Place, Span


@pytest.mark.parametrize(
    ("text", "place"),
    [("", (2, 3)), ("ab", (2, 5)), ("ab\n", (3, 0)), ("\nabc", (3, 3)), ("a\n\nbc", (4, 2))],
)
def test_a_text_ends_at_a_place(text, place):
    assert Place(2, 3).after(text) == place


def test_a_span_is_in_order():
    assert Span.between(Place(1, 5), Place(0, 9)) == Span(Place(0, 9), Place(1, 5))
    assert Span.between(Place(1, 5), Place(1, 7)) == Span(Place(1, 5), Place(1, 7))


def test_a_span_contains_its_start_and_not_its_end():
    span = Span(Place(0, 2), Place(1, 1))
    assert [span.contains(Place(0, 2)), span.contains(Place(1, 0))] == [True, True]
    assert [span.contains(Place(0, 1)), span.contains(Place(1, 1))] == [False, False]


def test_an_empty_span_has_no_letters():
    assert Span(Place(0, 2), Place(0, 2)).is_empty
    assert not Span(Place(0, 2), Place(1, 2)).is_empty


def test_a_span_touches_rows():
    assert list(Span(Place(1, 2), Place(3, 1)).rows()) == [1, 2, 3]
    assert list(Span(Place(1, 2), Place(3, 0)).rows()) == [1, 2]
    assert list(Span(Place(1, 0), Place(1, 0)).rows()) == [1]
