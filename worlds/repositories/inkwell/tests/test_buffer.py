import pytest

from inkwell import Buffer, Edit, InkwellError, Place, Span


def span(row, column, end_row, end_column):
    return Span(Place(row, column), Place(end_row, end_column))


@pytest.fixture
def buffer():
    return Buffer("one\ntwo two\n\nfour")


def test_a_text_is_lines(buffer):
    assert buffer.rows == 4
    assert buffer.line(1) == "two two"
    assert buffer.end == (3, 4)
    assert buffer.text == "one\ntwo two\n\nfour"


def test_an_empty_text_has_one_line():
    assert (Buffer().rows, Buffer().line(0), Buffer().end) == (1, "", (0, 0))


def test_line_breaks_of_windows_are_read():
    assert Buffer("a\r\nb").text == "a\nb"


@pytest.mark.parametrize("row", [-1, 4])
def test_other_rows_do_not_exist(buffer, row):
    with pytest.raises(InkwellError, match=f"there is no row {row}"):
        buffer.line(row)


@pytest.mark.parametrize(
    ("place", "nearest"),
    [
        ((0, 2), (0, 2)),
        ((0, 9), (0, 3)),
        ((1, -2), (1, 0)),
        ((-1, 5), (0, 0)),
        ((4, 0), (3, 4)),
        ((2, 1), (2, 0)),
    ],
)
def test_the_nearest_place_in_the_text(buffer, place, nearest):
    assert buffer.clamp(Place(*place)) == nearest


@pytest.mark.parametrize(
    ("where", "text"),
    [
        (span(0, 1, 0, 3), "ne"),
        (span(0, 2, 1, 3), "e\ntwo"),
        (span(1, 4, 3, 2), "two\n\nfo"),
        (span(2, 0, 2, 0), ""),
        (span(0, 0, 3, 4), "one\ntwo two\n\nfour"),
    ],
)
def test_a_slice_is_what_lies_in_a_span(buffer, where, text):
    assert buffer.slice(where) == text


@pytest.mark.parametrize("where", [span(0, 0, 0, 4), span(0, 0, 9, 0), span(2, 1, 3, 0)])
def test_a_slice_must_be_in_the_text(buffer, where):
    with pytest.raises(InkwellError, match="is not in the text"):
        buffer.slice(where)


@pytest.mark.parametrize(
    ("edit", "text"),
    [
        (Edit(span(0, 3, 0, 3), "!"), "one!\ntwo two\n\nfour"),
        (Edit(span(0, 1, 1, 4), ""), "otwo\n\nfour"),
        (Edit(span(1, 3, 1, 4), "\n"), "one\ntwo\ntwo\n\nfour"),
        (Edit(span(2, 0, 3, 4), "a\nb\nc"), "one\ntwo two\na\nb\nc"),
    ],
)
def test_a_change_has_an_inverse(buffer, edit, text):
    before = buffer.text
    inverse = buffer.apply(edit)
    assert buffer.text == text
    assert buffer.apply(inverse) == edit
    assert buffer.text == before


def test_whoever_listens_is_told(buffer):
    told = []
    buffer.listen(told.append)
    edit = Edit(span(0, 0, 0, 1), "O")
    buffer.apply(edit)
    assert told == [edit]


@pytest.mark.parametrize(
    ("place", "offset"), [((0, 0), 0), ((0, 3), 3), ((1, 0), 4), ((2, 0), 12), ((3, 4), 17)]
)
def test_places_and_offsets_agree(buffer, place, offset):
    assert buffer.offset(Place(*place)) == offset
    assert buffer.place(offset) == place


def test_offsets_follow_changes(buffer):
    assert buffer.offset(Place(3, 0)) == 13
    buffer.apply(Edit(span(0, 0, 0, 0), "zero\n"))
    assert buffer.offset(Place(3, 0)) == 17
    assert buffer.place(5) == (1, 0)


@pytest.mark.parametrize("offset", [-1, 18])
def test_other_letters_do_not_exist(buffer, offset):
    with pytest.raises(InkwellError, match="there is no letter"):
        buffer.place(offset)
