import pytest

from inkwell import InkwellError, Ring


@pytest.fixture
def ring():
    found = Ring(3)
    for text in ("one", "two", "three"):
        found.push(text)
    return found


def test_the_newest_is_on_top(ring):
    assert ring.top() == "three"
    assert len(ring) == 3


def test_it_turns_to_older_ones_and_round(ring):
    assert [ring.turn() for _ in range(4)] == ["two", "one", "three", "two"]
    assert ring.top() == "two"


def test_a_new_text_comes_to_the_top(ring):
    ring.turn()
    ring.push("four")
    assert ring.top() == "four"
    assert [ring.turn() for _ in range(3)] == ["three", "two", "four"]


def test_the_same_text_and_nothing_are_not_added(ring):
    ring.push("three")
    ring.push("")
    assert len(ring) == 3
    ring.push("one")
    assert [ring.turn() for _ in range(2)] == ["three", "two"]


def test_a_text_can_grow(ring):
    ring.turn()
    ring.extend("!")
    ring.extend("(", before=True)
    assert ring.top() == "(three!"
    empty = Ring()
    empty.extend("a")
    assert empty.top() == "a"


def test_an_empty_ring_has_no_top():
    with pytest.raises(InkwellError, match="nothing was cut"):
        Ring().top()
    with pytest.raises(InkwellError, match="nothing was cut"):
        Ring().turn()
