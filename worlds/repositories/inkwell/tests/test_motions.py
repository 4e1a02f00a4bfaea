import pytest

from inkwell import Buffer, Place
from inkwell.motions import MOTIONS, matching

TEXT = "  foo_bar(x, y)\n\nlast  line\n"


@pytest.mark.parametrize(
    ("motion", "start", "end"),
    [
        ("left", (0, 3), (0, 2)),
        ("left", (1, 0), (0, 15)),
        ("left", (0, 0), (0, 0)),
        ("right", (0, 3), (0, 4)),
        ("right", (0, 15), (1, 0)),
        ("right", (3, 0), (3, 0)),
        ("line_start", (0, 9), (0, 2)),
        ("line_start", (0, 2), (0, 0)),
        ("line_start", (0, 0), (0, 2)),
        ("line_end", (0, 2), (0, 15)),
        ("text_start", (2, 2), (0, 0)),
        ("text_end", (0, 0), (3, 0)),
        ("word_right", (0, 0), (0, 2)),
        ("word_right", (0, 2), (0, 9)),
        ("word_right", (0, 9), (0, 10)),
        ("word_right", (0, 11), (0, 13)),
        ("word_right", (0, 15), (1, 0)),
        ("word_right", (2, 0), (2, 6)),
        ("word_right", (2, 6), (2, 10)),
        ("word_right", (3, 0), (3, 0)),
        ("word_left", (0, 15), (0, 14)),
        ("word_left", (0, 9), (0, 2)),
        ("word_left", (0, 5), (0, 2)),
        ("word_left", (0, 2), (0, 0)),
        ("word_left", (2, 6), (2, 0)),
        ("word_left", (2, 0), (1, 0)),
        ("paragraph_down", (0, 4), (1, 0)),
        ("paragraph_down", (1, 0), (3, 0)),
        ("paragraph_down", (3, 0), (3, 0)),
        ("paragraph_up", (2, 4), (1, 0)),
        ("paragraph_up", (1, 0), (0, 0)),
        ("paragraph_up", (0, 5), (0, 0)),
    ],
)
def test_a_motion_goes_somewhere(motion, start, end):
    assert MOTIONS[motion](Buffer(TEXT), Place(*start)) == end


@pytest.mark.parametrize(
    ("start", "end"),
    [
        ((0, 1), (2, 0)),
        ((2, 0), (0, 1)),
        ((0, 3), (0, 7)),
        ((0, 7), (0, 3)),
        ((0, 5), (0, 6)),
        ((0, 0), None),
        ((2, 1), None),
        ((3, 0), None),
        ((1, 0), None),
    ],
)
def test_brackets_belong_together(start, end):
    buffer = Buffer("f(a[b()]\n\n)\n}")
    assert matching(buffer, Place(*start)) == end
