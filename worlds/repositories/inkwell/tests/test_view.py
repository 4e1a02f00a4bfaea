import pytest

from inkwell import InkwellError, View


def test_the_cursor_stays_off_the_border():
    view = View(10, margin=2)
    assert view.follow(7, 100) == 0
    assert view.follow(8, 100) == 1
    assert view.follow(50, 100) == 43
    assert view.follow(45, 100) == 43
    assert view.follow(44, 100) == 42


def test_the_text_does_not_leave_the_screen():
    view = View(10)
    assert view.follow(99, 100) == 90
    assert view.follow(0, 100) == 0
    assert view.follow(4, 5) == 0


def test_a_small_screen_has_a_small_margin():
    assert View(1).margin == 0
    assert View(4).margin == 1
    assert View(1).follow(5, 10) == 5


def test_it_scrolls():
    view = View(10)
    assert view.scroll(5, 100) == 5
    assert view.scroll(-9, 100) == 0
    assert view.page(1, 100) == 8
    assert view.page(1, 22) == 12
    assert view.page(-1, 22) == 4
    assert View(1).page(1, 9) == 1


def test_a_row_comes_to_the_middle():
    assert View(10).center(50, 100) == 45
    assert View(10).center(2, 100) == 0
    assert View(10).center(99, 100) == 90


def test_it_knows_what_is_shown():
    view = View(10)
    view.scroll(5, 100)
    assert view.shown(100) == range(5, 15)
    assert View(10).shown(3) == range(0, 3)


@pytest.mark.parametrize(
    ("top", "rows", "bar"),
    [(0, 5, (0, 10)), (0, 10, (0, 10)), (0, 20, (0, 5)), (10, 20, (5, 5)), (0, 1000, (0, 1))],
)
def test_a_scroll_bar(top, rows, bar):
    view = View(10)
    view.scroll(top, rows)
    assert view.bar(rows) == bar


def test_a_screen_shows_something():
    with pytest.raises(InkwellError, match="shows nothing"):
        View(0)
