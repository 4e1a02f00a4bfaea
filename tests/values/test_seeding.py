"""Seeds and streams: the same everywhere, different for different names."""

from __future__ import annotations

from collections import Counter
from itertools import permutations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simtrain.values.clock import instant, seconds, stamp
from simtrain.values.errors import InputError
from simtrain.values.seeding import Root, Stream, derive, draw


def test_seeds_are_these_numbers_on_every_machine() -> None:
    assert (derive(0), derive(1, "rows", 2)) == (9523843951405948789, 1138982428706118233)
    stream = Stream(7)
    assert [stream.integer(0, 99) for _ in range(6)] == [32, 15, 65, 7, 53, 36]


def test_every_kind_of_draw_gives_these_values_on_every_machine() -> None:
    stream = Stream(7)
    assert [round(stream.random(), 9) for _ in range(3)] == [0.323832765, 0.150849174, 0.650934473]
    assert [round(stream.number(-2, 3), 9) for _ in range(2)] == [-1.637818567, 0.679410022]
    assert "".join(stream.choose("abcde") for _ in range(8)) == "bacacaac"
    assert "".join(stream.choose("abc", [1, 0, 3]) for _ in range(8)) == "caaccccc"
    assert stream.sample(range(10), 4) == [0, 8, 4, 2]
    assert "".join(stream.shuffled("abcdef")) == "acfdbe"
    assert Stream(9 * 2**32 + 5).once() == 5 / 2**32


def test_names_may_be_given_at_once_or_one_after_the_other() -> None:
    assert draw(3, "x", 1) == Root(3).draw("x", 1) == Root(3, "x").draw(1) == derive(3, "x", 1) / 2**64
    assert Root(3).derive("a") == derive(3, "a") == 9256898490700992614
    assert Root(3).stream("a").random() == Stream(derive(3, "a")).random() != Root(3).stream("b").random()


def test_a_single_number_says_nothing_of_the_draw_for_the_same_names() -> None:
    root = Root(5, "episode")
    low = [root.stream("tool", index).once() for index in range(4000) if root.draw("tool", index) < 0.25]
    assert 900 < len(low) < 1100 and abs(sum(low) / len(low) - 0.5) < 0.03


def test_draws_are_spread_evenly() -> None:
    found = [draw(0, "spread", index) for index in range(2000)]
    assert abs(sum(found) / 2000 - 0.5) < 0.02 and max(found) > 0.99 and min(found) < 0.01
    stream = Stream(1)
    often = Counter(stream.choose("abc", [1, 2, 5]) for _ in range(4000))
    assert [round(often[letter] / 500) for letter in "abc"] == [1, 2, 5]
    assert {tuple(Stream(seed).shuffled("abc")) for seed in range(60)} == set(permutations("abc"))


@given(st.lists(st.text() | st.integers(), max_size=4), st.lists(st.text() | st.integers(), max_size=4))
def test_different_names_give_different_seeds(one: list[str | int], other: list[str | int]) -> None:
    assert (derive(1, *one) == derive(1, *other)) == (one == other)


@given(st.integers(0, 2**64), st.lists(st.integers(), min_size=1, max_size=30, unique=True), st.integers(0, 40))
def test_a_sample_takes_each_item_at_most_once(seed: int, items: list[int], count: int) -> None:
    found = Stream(seed).sample(items, count)
    assert len(found) == min(count, len(items)) == len(set(found)) and set(found) <= set(items)


@given(st.integers(0, 2**64))
def test_draws_lie_where_they_should(seed: int) -> None:
    stream = Stream(seed)
    assert 0 <= stream.random() < 1 and 3 <= stream.integer(3, 5) <= 5 and -1 <= stream.number(-1, 1) < 1
    assert stream.choose("ab", [0, 1]) == "b"
    assert 0 <= draw(seed, "x") < 1


@pytest.mark.parametrize(("text", "length"), [("20s", 20), ("1h30m", 5400), ("250ms", 0.25), ("2d", 172800), (5, 5.0)])
def test_durations_are_read(text: str | int, length: float) -> None:
    assert seconds(text) == length


@pytest.mark.parametrize("text", ["", "20", "5 s", "1x", "s5"])
def test_what_is_no_duration_is_refused(text: str) -> None:
    with pytest.raises(InputError):
        seconds(text)


@given(st.integers(0, 4_000_000_000))
def test_instants_survive_being_written(moment: int) -> None:
    assert instant(stamp(moment)) == moment
