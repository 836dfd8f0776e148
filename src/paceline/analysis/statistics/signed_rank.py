"""The exact Wilcoxon signed-rank test and the estimate and interval that belong to it (Hodges and Lehmann 1963).

Everything is counted on Walsh averages (of all pairs of differences, each with itself too): the number of them above a
value is the signed-rank statistic of the differences beyond that value. scipy has the test, not its inversion.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

INFINITE = 1e9
"""Stands for a difference of infinitely many log units (a failure), so that two opposite ones average to nothing."""


def walsh_averages(differences: Array) -> Array:
    """Return the n (n + 1) / 2 averages of pairs in ascending order; with more axes, along the last."""
    finite = np.nan_to_num(differences, nan=np.nan, posinf=INFINITE, neginf=-INFINITE)
    first, second = np.triu_indices(finite.shape[-1])
    return np.sort((finite[..., first] + finite[..., second]) / 2, axis=-1)


def pseudo_median(averages: Array) -> float:
    """Return the Hodges-Lehmann estimate; infinite where most averages are."""
    return _unbounded(float(np.median(averages)))


def p_below(averages: Array, value: float) -> float:
    """Return the one-sided p-value for "the pseudo-median lies below ``value``"; ties count against it."""
    return p_of_count(_differences(averages), int(np.sum(averages >= value)))


def p_above(averages: Array, value: float) -> float:
    """Return the one-sided p-value for "the pseudo-median lies above ``value``"; ties count against it."""
    return p_of_count(_differences(averages), int(np.sum(averages <= value)))


def p_of_count(n: int, count: int) -> float:
    """Return the chance of at most ``count`` averages on the unexpected side when there is no effect."""
    return float(_cumulative(n)[count])


def critical_count(n: int, level: float) -> int:
    """Return the largest count whose p-value is at most ``level``; -1 where even none at all is not enough."""
    return int(np.searchsorted(_cumulative(n), level, side="right")) - 1


def interval(averages: Array, level: float) -> tuple[float, float]:
    """Return the limits outside of which the one-sided tests at ``level`` reject; infinite where they never can."""
    count = critical_count(_differences(averages), level)
    if count < 0:
        return -np.inf, np.inf
    return _unbounded(float(averages[count])), _unbounded(float(averages[-1 - count]))


@cache
def _cumulative(n: int) -> Array:
    """Return the null distribution of the statistic, cumulated: each rank is counted with chance one half."""
    ways = np.ones(1)
    for rank in range(1, n + 1):
        longer = np.zeros(len(ways) + rank)
        longer[: len(ways)] += ways / 2
        longer[rank:] += ways / 2
        ways = longer
    return np.cumsum(ways)


def _differences(averages: Array) -> int:
    return int((np.sqrt(8 * len(averages) + 1) - 1) / 2)


def _unbounded(value: float) -> float:
    return value if abs(value) < INFINITE / 4 else float(np.copysign(np.inf, value))
