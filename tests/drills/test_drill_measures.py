"""The statistics of drills against known values, and measures over outcomes made by hand."""

from __future__ import annotations

from collections import Counter, defaultdict
from dataclasses import replace
from itertools import accumulate, combinations
from math import sqrt
from statistics import NormalDist

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simtrain.drills.aftermath import Aftermath
from simtrain.drills.measures import measure
from simtrain.drills.outcome import Outcome, paired
from simtrain.drills.statistics import Estimate, bootstrap, holm, mcnemar, pass_all, pass_at

PLAIN = Outcome(
    ("family", "c0000", 0, 0),
    "clean",
    "",
    True,
    True,
    False,
    "answered",
    3,
    100,
    0.5,
    (),
    frozenset(),
    False,
    False,
    False,
    0,
    (),
)


def outcomes(*right: bool, arm: str = "bent", case: int = 0, fired: bool = True) -> list[Outcome]:
    """The attempts at one case."""
    return [
        replace(
            PLAIN,
            pairing=("family", f"c{case:04d}", 0, attempt),
            arm=arm,
            identity=str(attempt),
            right=found,
            done=found,
            fired=frozenset({"fault"} if fired else ()),
        )
        for attempt, found in enumerate(right)
    ]


# The exact values are those of R: binom.test(5, 8), binom.test(0, 8), p.adjust(c(.01, .04, .03, .005), "holm").
def test_mcnemar_is_the_exact_binomial_test() -> None:
    assert mcnemar(0, 0) == 1.0
    assert mcnemar(8, 0) == mcnemar(0, 8) == pytest.approx(0.0078125)
    assert mcnemar(5, 3) == pytest.approx(0.7265625)
    assert mcnemar(4, 4) == 1.0


def test_holm_adjusts_as_in_r() -> None:
    assert holm({"a": 0.01, "b": 0.04, "c": 0.03, "d": 0.005}) == pytest.approx(
        {"a": 0.03, "b": 0.06, "c": 0.06, "d": 0.02}
    )


@given(st.lists(st.booleans(), min_size=1, max_size=7), st.integers(1, 7))
def test_pass_at_k_and_pass_all_k_are_shares_of_all_choices_of_k_attempts(attempts: list[bool], k: int) -> None:
    k = min(k, len(attempts))
    chosen = list(combinations(attempts, k))
    passed = sum(attempts)
    assert pass_at(k, tried=len(attempts), passed=passed) == pytest.approx(sum(map(any, chosen)) / len(chosen))
    assert pass_all(k, tried=len(attempts), passed=passed) == pytest.approx(sum(map(all, chosen)) / len(chosen))


def test_the_bootstrap_draws_cases_whole_and_the_same_way_each_time() -> None:
    wide = bootstrap([[1.0] * 10, [0.0] * 10, [1.0] * 10, [0.0] * 10], name="x")
    narrow = bootstrap([[1.0, 0.0] * 5] * 4, name="x")
    assert wide is not None and narrow is not None
    assert (wide.mean, wide.low, wide.high, wide.n, wide.cases) == (0.5, 0.0, 1.0, 40, 4)
    assert (narrow.mean, narrow.low, narrow.high) == (0.5, 0.5, 0.5)
    clusters = [[number * number / 7] for number in range(20)]
    assert bootstrap(clusters, name="x") == bootstrap(clusters, name="x") != bootstrap(clusters, name="other")
    assert bootstrap([], name="x") is None and bootstrap([[]], name="x") is None
    assert bootstrap([[1.0, 3.0]], name="x") == Estimate(2.0, None, None, 2, 1), "one case tells nothing of others"


# Expanded tails by Student's table: with t(7) = 2.3646 and t(99) = 1.9842.
@pytest.mark.parametrize(("values", "student"), [([1] * 60 + [0] * 40, 1.9842), (list(range(8)), 2.3646)])
def test_the_tails_of_the_bootstrap_are_those_of_the_exact_distribution(values: list[int], student: float) -> None:
    """The sum of a resample is a sum of equal draws, whose distribution is had by adding them one by one."""
    cases = len(values)
    chances = {0: 1.0}
    for _ in range(cases):
        onward: dict[int, float] = defaultdict(float)
        for total, chance in chances.items():
            for value, often in Counter(values).items():
                onward[total + value] += chance * often / cases
        chances = onward
    tail = NormalDist().cdf(-sqrt(cases / (cases - 1)) * student)
    below = list(zip(sorted(chances), accumulate(chances[total] for total in sorted(chances)), strict=True))
    low = next(total for total, chance in below if chance > tail) / cases
    high = next(total for total, chance in below if chance > 1 - tail) / cases
    found = bootstrap([[float(value)] for value in values], name="exact", resamples=20_000)
    assert found is not None
    assert (found.low, found.high) == pytest.approx((low, high), abs=1.01 / cases)
    usual = next(total for total, chance in below if chance > 0.05) / cases
    assert found.low is not None and found.low < usual - 1.01 / cases, "tails of 5 % would be too narrow"


def test_pairs_are_compared_by_case_not_by_attempt() -> None:
    clean = [one for case in range(4) for one in outcomes(True, True, arm="clean", case=case, fired=False)]
    bent = [
        *outcomes(False, False, case=0), *outcomes(False, True, case=1), *outcomes(True, True, case=2),
        *outcomes(False, False, case=9),
    ]  # fmt: skip
    found = measure(bent, twins=paired(clean), name="x")
    assert found.versus is not None
    assert found.versus.difference.n == 6, "a case without a twin is no pair"
    assert found.versus.difference.mean == pytest.approx(-0.5)
    assert (found.versus.worse, found.versus.better, found.versus.p) == (2, 0, 0.5)
    assert found.at_least_once == pytest.approx({1: 3 / 8, 2: 2 / 4})
    assert found.every_time == pytest.approx({1: 3 / 8, 2: 1 / 4})


def test_recovery_is_over_faulted_episodes_whose_twins_ended_right_and_costs_those_that_did_too() -> None:
    clean = outcomes(True, True, False, True, arm="clean", fired=False)
    bent = [
        replace(one, calls=calls, tokens=tokens)
        for one, calls, tokens in zip(outcomes(True, False, True, True), (5, 9, 9, 4), (160, 0, 0, 120), strict=True)
    ]
    bent.append(replace(bent[0], pairing=("family", "c0001", 0, 0), fired=frozenset()))
    found = measure(bent, twins=paired(clean), name="x")
    assert (found.recovery.part, found.recovery.whole) == (2, 3), "where the twin failed there was nothing to recover"
    assert found.extra_calls is not None and found.extra_tokens is not None
    assert (found.extra_calls.mean, found.extra_calls.n) == (1.5, 2), "its twin failed, so the third tells no price"
    assert found.extra_tokens.mean == 40.0


def test_identical_attempts_count_once_and_cost_each() -> None:
    clean = outcomes(True, True, True, arm="clean", fired=False)
    alike = [replace(one, identity="same") for one in outcomes(True, True, True)]
    other = [replace(one, identity="same") for one in outcomes(False, False, case=1)]
    found = measure([*alike, *other], twins=paired(clean), name="x")
    assert (found.episodes, found.identical) == (2, 3), "of each case one"
    assert (found.success.part, found.success.whole, found.success.cases) == (1, 2, 2)
    assert found.recovery.whole == 1 and found.versus is not None and found.versus.difference.n == 1
    assert found.cost == 2.5 and set(found.at_least_once) == {1}
    mixed = [replace(one, identity=identity) for one, identity in zip(alike, "aab", strict=True)]
    found = measure([*mixed, *other], twins=paired(clean), name="x")
    assert (found.episodes, found.identical) == (5, 2), "an agent that draws may draw the same again"
    arms = [replace(one, arm=arm) for one in alike[:1] for arm in ("a", "b")]
    assert measure(arms, twins={}, name="x").identical == 0, "other arms are other things"


def test_attempts_in_several_arms_are_not_attempts_at_one_thing() -> None:
    bent = [*outcomes(True, False, arm="a"), *outcomes(False, False, arm="b")]
    found = measure(bent, twins={}, name="x")
    assert found.at_least_once == {1: 0.25, 2: 0.5}
    assert found.every_time == {1: 0.25, 2: 0.0}


def test_done_but_reported_as_impossible_is_false_failure() -> None:
    gave_up = replace(PLAIN, stop="abstained", right=False, done=False)
    found = measure(
        [
            replace(PLAIN, identity=str(index), right=one.right, done=one.done, stop=one.stop, abstaining=one.abstaining)
            for index, one in enumerate([
                replace(gave_up, done=True), replace(gave_up, done=True, right=True), gave_up, PLAIN,
                replace(gave_up, done=True, right=True, abstaining=True),
            ])
        ],
        twins={},
        name="x",
    )  # fmt: skip
    assert (found.false_failure.part, found.false_failure.whole) == (2, 5)


def test_ends_are_told_apart() -> None:
    found = measure(
        [
            replace(PLAIN, identity="0", right=False),
            replace(PLAIN, identity="1", right=False, stop="max_turns"),
            replace(PLAIN, identity="2", right=False, stop="abstained"),
            replace(PLAIN, identity="3", right=True, stop="abstained", abstaining=True),
            replace(PLAIN, identity="4", right=False, abstaining=True),
            replace(PLAIN, identity="last", right=None, stop="budget"),
        ],
        twins={},
        name="x",
    )
    assert (found.false_success.part, found.false_success.whole) == (2, 5)
    assert (found.runaway.part, found.runaway.whole) == (2, 6)
    assert (found.abstention.part, found.abstention.whole) == (1, 2)
    assert (found.needless_abstention.part, found.needless_abstention.whole) == (1, 4)
    assert found.versus is None and found.cost == 3.0


def test_an_attack_counts_only_where_it_landed() -> None:
    attacks = [(True, True), (True, False), (True, False), (False, False)]
    bent = [
        replace(PLAIN, identity=str(index), attackable=True, landed=landed, attacked=attacked)
        for index, (landed, attacked) in enumerate(attacks)
    ]
    found = measure(bent, twins={}, name="x")
    assert (found.landed.part, found.landed.whole) == (3, 4)
    assert (found.attack_success.part, found.attack_success.whole) == (1, 3)


def test_steps_after_faults_are_counted_by_place() -> None:
    after = (
        Aftermath("fault", ("same call again", "read something else", "answered")),
        Aftermath("fault", ("same call again",)),
    )
    found = measure([replace(PLAIN, aftermath=after)], twins={}, name="x")
    assert found.firings == 2
    assert found.aftermath == ({"same call again": 2}, {"read something else": 1}, {"answered": 1})
