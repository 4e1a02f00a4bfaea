import pytest

from inkwell import Buffer, Edit, History, Place, Span


@pytest.fixture
def buffer():
    return Buffer("")


@pytest.fixture
def history(buffer):
    return History(buffer)


def write(history, row, column, text, *, typed=False):
    place = Place(row, column)
    history.apply(Edit(Span(place, place), text), place, typed=typed)


def test_changes_are_undone_last_first(buffer, history):
    write(history, 0, 0, "one")
    write(history, 0, 3, " two")
    assert history.undo() == (0, 3)
    assert buffer.text == "one"
    assert history.undo() == (0, 0)
    assert buffer.text == ""
    assert history.undo() is None


def test_what_was_undone_is_done_again(buffer, history):
    write(history, 0, 0, "one")
    write(history, 0, 3, " two")
    history.undo()
    history.undo()
    assert history.redo() == (0, 3)
    assert history.redo() == (0, 7)
    assert buffer.text == "one two"
    assert history.redo() is None
    history.undo()
    assert buffer.text == "one"


def test_a_new_change_forgets_what_was_undone(buffer, history):
    write(history, 0, 0, "one")
    history.undo()
    write(history, 0, 0, "two")
    assert history.redo() is None
    assert buffer.text == "two"


def test_letters_that_are_typed_go_together(buffer, history):
    for column, letter in enumerate("abc"):
        write(history, 0, column, letter, typed=True)
    history.undo()
    assert buffer.text == ""


def test_a_letter_elsewhere_begins_anew(buffer, history):
    write(history, 0, 0, "a", typed=True)
    write(history, 0, 0, "b", typed=True)
    history.undo()
    assert buffer.text == "a"


def test_a_line_break_begins_anew(buffer, history):
    write(history, 0, 0, "a", typed=True)
    write(history, 0, 1, "\n", typed=True)
    history.undo()
    assert buffer.text == "a"


def test_a_sealed_group_takes_no_more(buffer, history):
    write(history, 0, 0, "a", typed=True)
    history.seal()
    write(history, 0, 1, "b", typed=True)
    history.undo()
    assert buffer.text == "a"


def test_a_group_is_one_change(buffer, history):
    history.begin(Place(0, 0))
    write(history, 0, 0, "one")
    history.begin(Place(0, 3))
    write(history, 0, 3, " two")
    history.end()
    history.end()
    assert history.undo() == (0, 0)
    assert buffer.text == ""
    history.redo()
    assert buffer.text == "one two"


def test_an_empty_group_leaves_no_trace(history):
    history.begin(Place(0, 0))
    history.end()
    assert history.undo() is None
    assert not history.is_modified


def test_it_knows_what_was_saved(history):
    assert not history.is_modified
    write(history, 0, 0, "a")
    assert history.is_modified
    history.saved()
    assert not history.is_modified
    history.undo()
    assert history.is_modified
    history.redo()
    assert not history.is_modified


def test_what_was_saved_may_be_out_of_reach(history):
    write(history, 0, 0, "a")
    history.saved()
    history.undo()
    write(history, 0, 0, "b")
    assert history.is_modified
    history.undo()
    assert history.is_modified


def test_letters_do_not_join_what_was_saved(history):
    write(history, 0, 0, "a", typed=True)
    history.saved()
    write(history, 0, 1, "b", typed=True)
    assert history.is_modified
    history.undo()
    assert not history.is_modified


def test_old_changes_are_forgotten(buffer):
    history = History(buffer, most=2)
    for column, letter in enumerate("abc"):
        write(history, 0, column, letter)
    assert [history.undo() is not None for _ in range(3)] == [True, True, False]
    assert buffer.text == "a"
    assert history.is_modified
