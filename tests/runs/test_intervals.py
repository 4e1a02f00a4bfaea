"""Confidence intervals against published values, and against what they promise: that they cover in 95 of 100 drawings."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from random import Random

import pytest

from simtrain.drills.statistics import bootstrap, difference
from simtrain.runs.intervals import difference_interval, share_interval, student

Cluster = tuple[int, int]


# Any table of Student's distribution, for instance NIST's handbook, 1.3.6.7.2.
@pytest.mark.parametrize(
    ("freedom", "quantile"),
    [(1, 12.706), (2, 4.303), (3, 3.182), (4, 2.776), (5, 2.571), (10, 2.228), (17, 2.110), (30, 2.042), (100, 1.984)],
)
def test_students_quantiles_are_those_of_the_tables(freedom: int, quantile: float) -> None:
    assert student(freedom) == pytest.approx(quantile, abs=0.0005)


def test_students_quantile_goes_over_into_its_expansion_without_a_step() -> None:
    assert student(999) == pytest.approx(student(1000), abs=1e-5)
    assert 1.959964 < student(1_000_000) < 1.95998


def test_without_clusters_it_is_wilsons_interval() -> None:
    # Newcombe (1998), table I: 81 of 263 and 15 of 148 and 0 of 20, by method 3.
    for part, whole, low, high in ((81, 263, 0.2553, 0.3662), (15, 148, 0.0624, 0.1605), (0, 20, 0.0, 0.1611)):
        alone = [(1, 1)] * part + [(0, 1)] * (whole - part)
        assert share_interval(alone) == (pytest.approx(low, abs=5e-5), pytest.approx(high, abs=5e-5))
    assert share_interval([]) == share_interval([(0, 0)]) == (None, None)


def test_rows_of_one_case_count_for_less_than_their_number() -> None:
    mixed, apart = share_interval([(8, 16)] * 18), share_interval([(16, 16)] * 9 + [(0, 16)] * 9)
    assert mixed == share_interval([(1, 1)] * 144 + [(0, 1)] * 144), (
        "cases that are all alike hold no less than their rows"
    )
    assert _width(apart) > _width(share_interval([(1, 1)] * 9 + [(0, 1)] * 9)) > 4 * _width(mixed) / 1.2
    assert share_interval([(16, 16)] * 18) == share_interval([(1, 1)] * 18), (
        "without variance a case is one observation"
    )
    assert share_interval([(0, 40)]) == share_interval([(0, 1)]) and share_interval([(20, 40)])[0] < 0.06


def test_a_share_over_clusters_by_hand() -> None:
    """Two cases of four rows, 3 and 1 of them right: variance 2 * (1 + 1) / 8^2 = 1/16, so four effective rows, less for t of one."""
    effective = 4 * (1.959964 / 12.7062) ** 2
    spread = 1.959964**2 / effective
    half = 1.959964 * (0.25 / effective + spread / (4 * effective)) ** 0.5 / (1 + spread)
    assert share_interval([(3, 4), (1, 4)]) == (
        pytest.approx(0.5 - half, abs=1e-5),
        pytest.approx(0.5 + half, abs=1e-5),
    )


def test_a_paired_difference_by_hand() -> None:
    """Agresti and Min: of 3 cases all worse, with a pair added: mean -3 / 5, variance 4 / 5 - 9 / 25, and t of 4."""
    half = 2.776445 * (0.44 / 5) ** 0.5
    assert difference_interval([[-1.0], [-1.0], [-1.0]]) == (-1.0, pytest.approx(-0.6 + half, abs=1e-6))
    assert difference_interval([[-1.0, -1.0]] * 3) == pytest.approx(difference_interval([[-1.0]] * 3))
    assert difference_interval([[1.0, 1.0, 1.0], [0.0]]) == pytest.approx((-0.5, 1.0), abs=0.5)
    assert difference_interval([]) == difference_interval([[]]) == (None, None)


def _width(interval: tuple[float | None, float | None]) -> float:
    low, high = interval
    assert low is not None and high is not None
    return high - low


# Coverage: what the intervals say of data whose truth is known.


def drawn(random: Random, *, cases: int, attempts: int, share: float, alike: float) -> list[Cluster]:
    """Successes at some cases; `alike` from 0 (attempts are independent) towards 1 (all attempts at a case end the same way)."""
    found: list[Cluster] = []
    for _ in range(cases):
        chance = share
        if alike:
            scale = (1 - alike) / alike
            chance = random.betavariate(share * scale, (1 - share) * scale)
        found.append((sum(random.random() < chance for _ in range(attempts)), attempts))
    return found


def coverage(
    of: Callable[[Random], tuple[float | None, float | None]], truth: float, *, times: int, seed: int
) -> float:
    random = Random(seed)
    held = 0
    for _ in range(times):
        low, high = of(random)
        assert low is not None and high is not None
        held += low - 1e-9 <= truth <= high + 1e-9
    return held / times


@pytest.mark.parametrize("cases", [4, 8, 18, 40])
@pytest.mark.parametrize("alike", [0.0, 0.3, 0.9])
@pytest.mark.parametrize("share", [0.5, 0.8])
def test_intervals_of_shares_cover_the_truth_in_95_of_100_drawings(cases: int, alike: float, share: float) -> None:
    def interval(random: Random) -> tuple[float | None, float | None]:
        return share_interval(drawn(random, cases=cases, attempts=8, share=share, alike=alike))

    found = coverage(interval, share, times=800, seed=cases)
    assert found >= (0.9 if cases == 4 else 0.93), f"{found:.3f}"
    assert cases < 18 or found <= 0.985, f"{found:.3f}: so wide an interval says less than it could"


def test_wilsons_interval_over_rows_would_not_cover() -> None:
    def interval(random: Random) -> tuple[float | None, float | None]:
        rows = drawn(random, cases=18, attempts=16, share=0.6, alike=0.6)
        return share_interval([(int(row < part), 1) for part, whole in rows for row in range(whole)])

    assert coverage(interval, 0.6, times=800, seed=1) < 0.7, "the drawings do tell a bad interval from a good one"


@pytest.mark.parametrize("cases", [4, 8, 18, 40])
@pytest.mark.parametrize(("clean", "bent"), [(0.9, 0.5), (0.6, 0.6)])
def test_intervals_of_differences_cover_the_truth(cases: int, clean: float, bent: float) -> None:
    def clusters(random: Random) -> Sequence[Sequence[float]]:
        sides = [drawn(random, cases=cases, attempts=4, share=share, alike=0.4) for share in (bent, clean)]
        return [[(one - other) / 4] * 4 for (one, _), (other, _) in zip(*sides, strict=True)]

    def interval(random: Random) -> tuple[float | None, float | None]:
        found = difference(clusters(random))
        assert found is not None
        return found.low, found.high

    assert coverage(interval, bent - clean, times=800, seed=cases) >= 0.93


@pytest.mark.parametrize("cases", [6, 18])
def test_intervals_of_extra_calls_cover_the_truth(cases: int) -> None:
    def interval(random: Random) -> tuple[float | None, float | None]:
        clusters = [[own + random.gauss(0, 1) for _ in range(3)] for own in (random.gauss(2, 2) for _ in range(cases))]
        found = bootstrap(clusters, name=str(random.random()), resamples=300)
        assert found is not None
        return found.low, found.high

    assert 0.92 <= coverage(interval, 2.0, times=250, seed=cases) <= 0.985
