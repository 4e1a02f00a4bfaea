import pytest

from inkwell import Buffer, Edit, InkwellError, Marks, Place, Span


@pytest.fixture
def buffer():
    return Buffer("one\ntwo\nthree")


@pytest.fixture
def marks(buffer):
    found = Marks(buffer)
    found.set("b", Place(1, 1))
    found.set("a", Place(2, 3))
    return found


def insert(buffer, row, column, text):
    place = Place(row, column)
    buffer.apply(Edit(Span(place, place), text))


def test_marks_are_where_they_were_put(marks):
    assert marks.get("b") == (1, 1)
    marks.set("b", Place(0, 0))
    assert marks.get("b") == (0, 0)
    assert marks.names() == ["b", "a"]


def test_marks_move_with_the_text(buffer, marks):
    insert(buffer, 0, 0, "zero\n")
    insert(buffer, 2, 0, "xx")
    assert (marks.get("b"), marks.get("a")) == ((2, 3), (3, 3))


def test_text_at_a_mark_goes_before_it_unless_it_sticks(buffer, marks):
    marks.set("left", Place(1, 1), sticks_left=True)
    insert(buffer, 1, 1, "XX")
    assert (marks.get("b"), marks.get("left")) == ((1, 3), (1, 1))
    marks.set("left", Place(1, 1))
    insert(buffer, 1, 1, "Y")
    assert marks.get("left") == (1, 2)


def test_marks_must_be_in_the_text(marks):
    with pytest.raises(InkwellError, match="is not in the text"):
        marks.set("c", Place(0, 4))
    with pytest.raises(InkwellError, match="there is no mark 'c'"):
        marks.get("c")
    marks.remove("a")
    with pytest.raises(InkwellError, match="there is no mark 'a'"):
        marks.remove("a")


def test_the_next_mark_comes_round(marks):
    assert marks.following(Place(0, 0)) == "b"
    assert marks.following(Place(1, 1)) == "a"
    assert marks.following(Place(2, 3)) == "b"
    assert Marks(Buffer("")).following(Place(0, 0)) is None
