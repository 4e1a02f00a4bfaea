"""Confidence intervals over clusters. Rows of one case are not independent, so they count for less than their number."""

from collections.abc import Sequence
from functools import cache
from math import atan, cos, hypot, pi, sqrt
from typing import TypeAlias

Z = 1.959963984540054
"""The normal distribution's 97.5 % quantile."""

Interval: TypeAlias = tuple[float | None, float | None]
NOTHING: Interval = (None, None)


def share_interval(clusters: Sequence[tuple[int, int]]) -> Interval:
    """Return the 95 % interval of a share over clusters of (hits, rows); (None, None) without observations.

    Wilson's score interval (1927) on the effective sample size of Korn and Graubard (1998), which Dean and Pagano (2015) recommend
    for clustered shares: the number of independent observations that would give the variance seen between clusters, times (z / t)^2
    with one degree of freedom less than clusters, and at most the number of rows. If no cluster has two rows, this is Wilson's
    interval. If the share is 0 or 1, the clusters show no variance, and each counts as one observation.
    """
    sizes = [(part, whole) for part, whole in clusters if whole]
    total = sum(whole for _, whole in sizes)
    if not total:
        return NOTHING
    share, count = sum(part for part, _ in sizes) / total, len(sizes)
    return _wilson(share, total if total == count else _effective(sizes, share, total))


def _effective(sizes: Sequence[tuple[int, int]], share: float, total: int) -> float:
    count = len(sizes)
    # One cluster has no variance between clusters, and shares of 0 and 1 none at all: count clusters, the cautious choice.
    if count == 1 or share in (0.0, 1.0):
        return count
    variance = count / (count - 1) * sum((part - share * whole) ** 2 for part, whole in sizes) / total**2
    if not variance:
        return total
    return min(total, share * (1 - share) / variance * (Z / student(count - 1)) ** 2)


def _wilson(share: float, total: float) -> Interval:
    spread = Z * Z / total
    centre = (share + spread / 2) / (1 + spread)
    half = Z * sqrt(share * (1 - share) / total + spread / (4 * total)) / (1 + spread)
    return round(max(0.0, centre - half), 6), round(min(1.0, centre + half), 6)


def difference_interval(clusters: Sequence[Sequence[float]]) -> Interval:
    """Return the 95 % interval of a mean of paired differences in success, each from -1 to 1; (None, None) without observations.

    After Agresti and Min (2005): half a pair that got worse, half a pair that got better and one unchanged pair are added, here as
    clusters, then Student's t over the clusters. If all pairs agree, the interval keeps its width; that of a bootstrap would not.
    """
    found = [values for values in clusters if values]
    if not found:
        return NOTHING
    total, count = sum(map(len, found)), len(found)
    mean = sum(map(sum, found)) / total
    # A cluster weighs as much as its rows: its contribution to the mean, scaled as if all clusters were of one size.
    parts = [mean + (sum(values) - mean * len(values)) * count / total for values in found]
    # Half a pair worse, half better, one unchanged: two pseudo-clusters whose values sum to 0 and whose squares sum to 1.
    padded = count + 2
    centre = sum(parts) / padded
    variance = (sum(part * part for part in parts) + 1) / padded - centre * centre
    half = student(padded - 1) * sqrt(max(0.0, variance) / padded)
    return max(-1.0, min(mean, centre - half)), min(1.0, max(mean, centre + half))


@cache
def student(freedom: int) -> float:
    """Return the 97.5 % quantile of Student's t for whole degrees of freedom; from 1,000 on by Fisher's expansion (1925)."""
    if freedom >= 1000:
        return Z + (Z**3 + Z) / (4 * freedom)
    # 12.706 is the quantile of one degree of freedom, the largest of all.
    low, high = Z, 13.0
    while high - low > 1e-12:
        middle = (low + high) / 2
        low, high = (middle, high) if _below(middle, freedom) < 0.975 else (low, middle)
    return high


def _below(value: float, freedom: int) -> float:
    """Return the probability that Student's t is below a value, by the finite series of Abramowitz and Stegun (1964), 26.7.3 and 26.7.4."""
    angle = atan(value / sqrt(freedom))
    cosine, odd = cos(angle), freedom % 2
    term = value / hypot(value, sqrt(freedom)) * (cosine if odd else 1.0)
    series = 0.0 if freedom == 1 else term
    for index in range(3 if odd else 2, freedom, 2):
        term *= cosine * cosine * (index - 1) / index
        series += term
    return 0.5 + ((angle + series) / pi if odd else series / 2)
