import pytest

from inkwell import Editor, InkwellError, Place


@pytest.fixture
def editor():
    return Editor("one two\nthree\n\nfour five six")


def test_the_cursor_stays_in_the_text(editor):
    editor.go(Place(1, 99))
    assert editor.cursor == (1, 5)
    editor.go(Place(99, 0))
    assert editor.cursor == (3, 13)


def test_the_cursor_moves(editor):
    assert editor.move("word_right") == (0, 4)
    assert editor.move("right", 3) == (0, 7)
    assert editor.move("right") == (1, 0)
    with pytest.raises(InkwellError, match="there is no motion 'up'"):
        editor.move("up")


def test_the_column_survives_short_lines(editor):
    editor.go(Place(0, 7))
    assert editor.move_rows(1) == (1, 5)
    assert editor.move_rows(1) == (2, 0)
    assert editor.move_rows(1) == (3, 7)
    assert editor.move_rows(-9) == (0, 7)
    editor.move_rows(2)
    editor.move("left")
    assert editor.move_rows(-1) == (0, 5)


def test_selecting_keeps_the_other_end(editor):
    editor.go(Place(0, 4))
    editor.move("line_end", select=True)
    assert editor.selected == "two"
    editor.move("text_start", select=True)
    assert editor.selected == "one "
    editor.move("right")
    assert editor.selection.is_empty
    editor.select_all()
    assert editor.selected == editor.text


def test_text_is_written_over_the_selection(editor):
    editor.go(Place(0, 4))
    editor.move("line_end", select=True)
    editor.insert("2")
    assert editor.buffer.line(0) == "one 2"
    assert editor.cursor == (0, 5)
    assert editor.selection.is_empty


def test_letters_are_removed(editor):
    editor.go(Place(1, 0))
    editor.backspace()
    assert editor.buffer.line(0) == "one twothree"
    assert editor.cursor == (0, 7)
    editor.delete()
    assert editor.buffer.line(0) == "one twohree"
    editor.select_all()
    editor.delete()
    assert editor.text == ""
    editor.backspace()
    editor.delete()
    assert editor.text == ""


def test_a_new_line_is_indented():
    editor = Editor("    if x:")
    editor.move("line_end")
    editor.newline()
    assert editor.text == "    if x:\n        "
    assert editor.cursor == (1, 8)
    editor.go(Place(0, 4))
    editor.newline()
    assert editor.buffer.line(1) == "    if x:"


def test_typing_is_undone_in_one_go(editor):
    for letter in "abc":
        editor.insert(letter)
    assert editor.undo()
    assert editor.buffer.line(0) == "one two"
    assert editor.cursor == (0, 0)
    assert not editor.undo()
    assert editor.redo()
    assert editor.buffer.line(0) == "abcone two"
    assert editor.cursor == (0, 3)


def test_moving_ends_a_group(editor):
    editor.insert("a")
    editor.move("right")
    editor.move("left")
    editor.insert("b")
    editor.undo()
    assert editor.buffer.line(0) == "aone two"


def test_what_is_cut_can_be_pasted(editor):
    editor.move("word_right", select=True)
    assert editor.cut() == "one "
    editor.move("line_end")
    editor.paste()
    assert editor.buffer.line(0) == "twoone "
    assert editor.cut() == ""


def test_cuts_in_a_row_are_one_text(editor):
    assert [editor.cut_line_end() for _ in range(3)] == ["one two", "\n", "three"]
    assert editor.ring.top() == "one two\nthree"
    editor.move("right")
    editor.cut_line_end()
    assert editor.ring.top() == "\n"
    editor.move("text_end")
    assert editor.cut_line_end() == ""


def test_replacing_is_one_change(editor):
    assert editor.replace_all("o", "0") == 3
    assert editor.text == "0ne tw0\nthree\n\nf0ur five six"
    editor.undo()
    assert editor.text == "one two\nthree\n\nfour five six"
    assert editor.replace_all("zzz", "") == 0


def test_replacing_stays_in_the_selection(editor):
    editor.move("line_end", select=True)
    assert editor.replace_all("o", "0") == 2
    assert editor.buffer.line(3) == "four five six"
    editor.select_all()
    assert editor.replace_all(r"(\w+) (\w+)", r"\2 \1", regex=True) == 2


def test_finding_selects(editor):
    assert editor.find("o")
    assert editor.selection.start == (0, 6)
    assert editor.find("o")
    assert editor.selection.start == (3, 1)
    assert editor.find("o")
    assert editor.selection.start == (0, 0)
    assert editor.find("o", backwards=True)
    assert editor.selection.start == (3, 1)
    assert editor.selected == "o"
    assert not editor.find("zzz")


def test_lines_are_indented_and_commented():
    editor = Editor("a\nb\nc")
    editor.go(Place(0, 1))
    editor.go(Place(2, 0), select=True)
    editor.indent()
    assert editor.text == "    a\n    b\nc"
    assert editor.cursor == (2, 1)
    editor.undo()
    editor.go(Place(1, 0))
    editor.comment()
    assert editor.text == "a\n# b\nc"
    assert editor.cursor == (1, 2)
    editor.comment()
    assert editor.text == "a\nb\nc"
    editor.dedent()
    assert editor.text == "a\nb\nc"


def test_lines_change_places(editor):
    editor.go(Place(1, 3))
    assert editor.swap_lines(down=False)
    assert editor.text.startswith("three\none two\n")
    assert editor.cursor == (0, 3)
    assert not editor.swap_lines(down=False)
    assert editor.swap_lines()
    assert editor.cursor == (1, 3)
    editor.go(Place(3, 0))
    assert not editor.swap_lines()


def test_the_cursor_goes_to_the_matching_bracket():
    editor = Editor("f(a)")
    assert not editor.move_to_match()
    editor.go(Place(0, 1))
    assert editor.move_to_match()
    assert editor.cursor == (0, 3)


def test_marks_follow_what_is_typed(editor):
    editor.marks.set("here", Place(1, 2))
    editor.insert("x\n")
    assert editor.marks.get("here") == (2, 2)
    editor.undo()
    assert editor.marks.get("here") == (1, 2)
