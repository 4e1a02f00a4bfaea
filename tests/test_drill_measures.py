"""The statistics of drills against known values, and measures over outcomes made by hand."""

from __future__ import annotations

from dataclasses import replace
from itertools import combinations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from simtrain.drilling.measures import measure
from simtrain.drilling.outcome import Aftermath, Outcome, paired
from simtrain.drilling.statistics import bootstrap, holm, mcnemar, pass_all, pass_at

PLAIN = Outcome(
    ("family", "c0000", 0, 0),
    "clean",
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
            right=found,
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
    assert (wide.mean, wide.low, wide.high) == (0.5, 0.0, 1.0)
    assert (narrow.mean, narrow.low, narrow.high) == (0.5, 0.5, 0.5)
    clusters = [[number * number / 7] for number in range(20)]
    assert bootstrap(clusters, name="x") == bootstrap(clusters, name="x") != bootstrap(clusters, name="other")
    assert bootstrap([], name="x") is None and bootstrap([[]], name="x") is None


def test_the_interval_of_a_share_is_near_that_of_theory() -> None:
    found = bootstrap([[1.0]] * 60 + [[0.0]] * 40, name="coin")
    assert found is not None
    assert found.low == pytest.approx(0.6 - 1.96 * 0.049, abs=0.02)
    assert found.high == pytest.approx(0.6 + 1.96 * 0.049, abs=0.02)


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


def test_recovery_counts_episodes_in_which_a_fault_fired_and_costs_those_that_ended_right() -> None:
    clean = outcomes(True, True, False, True, arm="clean", fired=False)
    bent = [
        replace(one, calls=calls, tokens=tokens)
        for one, calls, tokens in zip(outcomes(True, False, True, True), (5, 9, 9, 4), (160, 0, 0, 120), strict=True)
    ]
    bent.append(replace(bent[0], pairing=("family", "c0001", 0, 0), fired=frozenset()))
    found = measure(bent, twins=paired(clean), name="x")
    assert (found.recovery.part, found.recovery.whole) == (3, 4)
    assert found.extra_calls is not None and found.extra_tokens is not None
    assert (found.extra_calls.mean, found.extra_calls.n) == (1.5, 2), "its twin failed, so the third tells no price"
    assert found.extra_tokens.mean == 40.0


def test_ends_are_told_apart() -> None:
    found = measure(
        [
            replace(PLAIN, right=False),
            replace(PLAIN, right=False, stop="max_turns"),
            replace(PLAIN, right=False, stop="abstained"),
            replace(PLAIN, right=True, stop="abstained", abstaining=True),
            replace(PLAIN, right=False, abstaining=True),
            replace(PLAIN, right=None, stop="budget"),
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
    bent = [replace(PLAIN, attackable=True, landed=landed, attacked=attacked) for landed, attacked in attacks]
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
