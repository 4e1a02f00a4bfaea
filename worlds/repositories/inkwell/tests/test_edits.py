import pytest

from inkwell import Edit, Place, Span


def edit(row, column, end_row, end_column, text):
    return Edit(Span(Place(row, column), Place(end_row, end_column)), text)


@pytest.mark.parametrize(
    ("change", "place", "moved"),
    [
        (edit(1, 2, 1, 2, "ab"), (1, 1), (1, 1)),
        (edit(1, 2, 1, 2, "ab"), (1, 2), (1, 4)),
        (edit(1, 2, 1, 2, "ab"), (1, 5), (1, 7)),
        (edit(1, 2, 1, 2, "ab"), (2, 0), (2, 0)),
        (edit(1, 2, 1, 2, "a\nb"), (1, 5), (2, 4)),
        (edit(1, 2, 1, 2, "a\nb"), (2, 5), (3, 5)),
        (edit(1, 2, 1, 5, ""), (1, 2), (1, 2)),
        (edit(1, 2, 1, 5, ""), (1, 4), (1, 2)),
        (edit(1, 2, 1, 5, ""), (1, 5), (1, 2)),
        (edit(1, 2, 1, 5, ""), (1, 7), (1, 4)),
        (edit(1, 2, 3, 1, "x"), (2, 9), (1, 2)),
        (edit(1, 2, 3, 1, "x"), (3, 4), (1, 6)),
        (edit(1, 2, 3, 1, "x"), (5, 4), (3, 4)),
    ],
)
def test_places_move_with_the_text(change, place, moved):
    assert change.moved(Place(*place)) == moved


def test_a_place_may_stick_to_the_left():
    assert edit(1, 2, 1, 2, "ab").moved(Place(1, 2), sticks_left=True) == (1, 2)
    assert edit(1, 2, 1, 2, "ab").moved(Place(1, 3), sticks_left=True) == (1, 5)


def test_the_inverse_spans_the_new_text():
    change = edit(0, 1, 0, 3, "x\nyz")
    assert change.new_end == (1, 2)
    assert change.inverse("ab") == edit(0, 1, 1, 2, "ab")
