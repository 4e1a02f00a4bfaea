import pytest

from inkwell import Buffer, Edit, InkwellError, Place, Span, Wrapping, column_of, width_of


@pytest.mark.parametrize(
    ("text", "start", "width"),
    [("", 0, 0), ("abc", 0, 3), ("\t", 0, 8), ("\t", 3, 5), ("ab\tc", 0, 9), ("日本", 0, 4)],
)
def test_a_text_takes_columns(text, start, width):
    assert width_of(text, start=start) == width


@pytest.mark.parametrize(
    ("text", "column", "place"),
    [
        ("abc", 0, 0),
        ("abc", 2, 2),
        ("abc", 3, 3),
        ("abc", 9, 3),
        ("a\tb", 5, 1),
        ("a\tb", 8, 2),
        ("日本", 1, 0),
        ("日本", 2, 1),
    ],
)
def test_a_column_is_a_letter(text, column, place):
    assert column_of(text, column) == place


@pytest.fixture
def buffer():
    return Buffer("one two three\nabcdefghijkl\n\nx")


@pytest.fixture
def wrapping(buffer):
    return Wrapping(buffer, 8)


def test_lines_break_at_spaces(wrapping):
    assert wrapping.breaks(0) == [0, 8]
    assert wrapping.breaks(1) == [0, 8]
    assert wrapping.breaks(2) == [0]
    assert wrapping.rows() == 6


def test_words_that_are_too_long_break_anywhere():
    assert Wrapping(Buffer("a bcdefghijklmnop q"), 5).breaks(0) == [0, 2, 7, 12, 17]


def test_wide_letters_do_not_stand_across_the_border():
    assert Wrapping(Buffer("日本語"), 5).breaks(0) == [0, 2]


@pytest.mark.parametrize(
    ("place", "screen"),
    [
        ((0, 0), (0, 0)),
        ((0, 7), (0, 7)),
        ((0, 8), (1, 0)),
        ((0, 13), (1, 5)),
        ((1, 3), (2, 3)),
        ((2, 0), (4, 0)),
        ((3, 1), (5, 1)),
    ],
)
def test_places_are_on_the_screen(wrapping, place, screen):
    assert wrapping.screen(Place(*place)) == screen
    assert wrapping.place(*screen) == place


def test_beyond_a_row_is_its_last_place(wrapping):
    assert wrapping.place(0, 20) == (0, 7)
    assert wrapping.place(1, 20) == (0, 13)
    assert wrapping.place(4, 3) == (2, 0)
    assert wrapping.place(9, 0) == (3, 1)


def test_breaks_follow_changes(buffer, wrapping):
    assert wrapping.rows() == 6
    buffer.apply(Edit(Span(Place(0, 3), Place(0, 13)), ""))
    assert wrapping.breaks(0) == [0]
    assert wrapping.rows() == 5


def test_breaks_belong_to_the_caller(wrapping):
    wrapping.breaks(0).append(99)
    assert wrapping.breaks(0) == [0, 8]


def test_a_screen_has_two_columns_at_least(buffer):
    with pytest.raises(InkwellError, match="too narrow"):
        Wrapping(buffer, 1)
    assert Wrapping(buffer, 2).rows() > 0
