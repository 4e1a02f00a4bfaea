import pytest

from inkwell import commented, dedented, indented
from inkwell.indent import next_indent, width


@pytest.mark.parametrize(
    ("line", "columns"), [("", 0), ("a", 0), ("   a", 3), ("\ta", 8), ("  \ta", 8), ("\t b", 9)]
)
def test_a_line_is_indented_by_columns(line, columns):
    assert width(line) == columns


def test_lines_go_to_the_next_step():
    assert indented(["a", "  b", "    c", "", "   "]) == ["    a", "    b", "        c", "", ""]
    assert indented(["a", " b"], step=2) == ["  a", "  b"]


def test_lines_go_back_to_the_step_before():
    assert dedented(["        a", "     b", "    c", "  d", "e"]) == [
        "    a",
        "    b",
        "c",
        "d",
        "e",
    ]
    assert dedented(["\ta"], step=2) == ["      a"]


@pytest.mark.parametrize(
    ("line", "indent"),
    [
        ("x = 1", 0),
        ("    x = 1", 4),
        ("if x:", 4),
        ("  f(", 6),
        ("if x:  # why", 4),
        ("    return x", 0),
        ("  pass", 0),
        ("        raise Error(x)", 4),
        ("", 0),
    ],
)
def test_the_next_line_is_indented(line, indent):
    assert next_indent(line) == " " * indent


def test_lines_become_comments_at_one_column():
    assert commented(["  a", "", "    b"]) == ["  # a", "", "  #   b"]
    assert commented(["a"], sign="//") == ["// a"]


def test_comments_become_lines():
    assert commented(["  # a", "", "  #   b", "#c"]) == ["  a", "", "    b", "c"]


def test_one_line_without_a_sign_makes_all_comments():
    assert commented(["# a", "b"]) == ["# # a", "# b"]
    assert commented(["", " "]) == ["", " "]
