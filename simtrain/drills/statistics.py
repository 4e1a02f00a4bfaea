"""The statistics of paired comparisons: means with their intervals, McNemar's test, Holm's correction, pass@k and pass^k."""

from collections.abc import Mapping, Sequence
from math import comb, sqrt
from statistics import NormalDist

from pydantic import ConfigDict
from pydantic.dataclasses import dataclass

from simtrain.runs.intervals import difference_interval, student
from simtrain.values.seeding import Stream, derive

RESAMPLES = 2000

EXACT = ConfigDict(extra="forbid")
"""Pydantic settings for the JSON Schema of reports: no additional keys."""


@dataclass(frozen=True, slots=True, config=EXACT)
class Estimate:
    """A mean with its 95 % confidence interval, over `n` observations of `cases` cases; no interval for a single case."""

    mean: float
    low: float | None
    high: float | None
    n: int
    cases: int

    @property
    def interval(self) -> tuple[float, float]:
        """Return the interval for a chart; for a single case, the mean twice."""
        return (self.mean if self.low is None else self.low, self.mean if self.high is None else self.high)


def difference(clusters: Sequence[Sequence[float]]) -> Estimate | None:
    """Return the mean of paired differences in success with its interval over cases; None without a pair."""
    found = [values for values in clusters if values]
    low, high = difference_interval(found)
    if low is None or high is None:
        return None
    count = sum(map(len, found))
    return Estimate(sum(map(sum, found)) / count, low, high, count, len(found))


def bootstrap(clusters: Sequence[Sequence[float]], *, name: str, resamples: int = RESAMPLES) -> Estimate | None:
    """Return the mean of all values, with the expanded percentile interval of a cluster bootstrap; None without a
    value.

    Clusters (the attempts at one case) are drawn whole, since attempts at one case are not independent: Davison and
    Hinkley (1997), section 3.8. The tails are widened for few clusters, as Student's t is: Hesterberg (2015), section
    3.2. `name` seeds the draws, so that the same data always give the same interval.
    """
    # Sums and sizes suffice for a mean, and keep each resample to one addition per case.
    sums = [(sum(values), len(values)) for values in clusters if values]
    count = sum(size for _, size in sums)
    if not count:
        return None
    mean, most = sum(total for total, _ in sums) / count, len(sums)
    if most == 1:
        return Estimate(mean, None, None, count, 1)
    if all(value == mean for values in clusters for value in values):
        return Estimate(mean, mean, mean, count, most)
    draw = Stream(derive(0, "bootstrap", name)).random
    means: list[float] = []
    for _ in range(resamples):
        total, size = 0.0, 0
        for _ in range(most):
            part, values = sums[int(draw() * most)]
            total += part
            size += values
        means.append(total / size)
    means.sort()
    # Percentiles of the bootstrap are too narrow by (n - 1) / n in variance, and by normal instead of t tails.
    outside = int(resamples * NormalDist().cdf(-sqrt(most / (most - 1)) * student(most - 1)))
    return Estimate(mean, means[outside], means[-1 - outside], count, most)


def mcnemar(worse: int, better: int) -> float:
    """Return the two-sided exact p-value of McNemar's test (1947): worse and better pairs are equally likely; 1 if none differs."""
    differing = worse + better
    if not differing:
        return 1.0
    tail = sum(comb(differing, count) for count in range(min(worse, better) + 1))
    return min(1.0, 2 * tail / 2**differing)


def holm(values: Mapping[str, float]) -> dict[str, float]:
    """Return the p-values of several tests adjusted for multiple comparisons: Holm (1979)."""
    adjusted: dict[str, float] = {}
    highest = 0.0
    for rank, (name, value) in enumerate(sorted(values.items(), key=lambda item: (item[1], item[0]))):
        # Adjusted values must not fall with rank, or a weaker result would look stronger.
        highest = max(highest, min(1.0, value * (len(values) - rank)))
        adjusted[name] = highest
    return adjusted


def pass_at(k: int, *, tried: int, passed: int) -> float:
    """Return the unbiased estimate of pass@k, at least one of `k` attempts passes: Chen et al. (arXiv 2107.03374)."""
    return 1 - comb(tried - passed, k) / comb(tried, k)


def pass_all(k: int, *, tried: int, passed: int) -> float:
    """Return the unbiased estimate of pass^k, all of `k` attempts pass: Yao et al. (arXiv 2406.12045)."""
    return comb(passed, k) / comb(tried, k)
