"""The exact Wilcoxon signed-rank test, with the estimate and the interval that belong to it (Hodges and Lehmann 1963).

Everything is counted on Walsh averages: the averages of all pairs of differences, each difference also with itself. The
number of averages above a value is the signed-rank statistic of the differences less that value. scipy has the test,
but not its inversion to an interval.
"""

from functools import cache

import numpy as np
from numpy.typing import NDArray

Array = NDArray[np.float64]

INFINITE = 1e9
"""Stands for an infinite difference (a failure), so that the average of two opposite ones is zero, not NaN."""


def walsh_averages(differences: Array) -> Array:
    """Return the n (n + 1) / 2 averages in ascending order, shape (..., n (n + 1) / 2), of differences (..., n)."""
    finite = np.nan_to_num(differences, nan=np.nan, posinf=INFINITE, neginf=-INFINITE)
    first, second = np.triu_indices(finite.shape[-1])
    return np.sort((finite[..., first] + finite[..., second]) / 2, axis=-1)


def pseudo_median(averages: Array) -> float:
    """Return the Hodges-Lehmann estimate; infinite where most averages are infinite."""
    return _unbounded(float(np.median(averages)))


def p_below(averages: Array, value: float) -> float:
    """Return the one-sided p-value for "the pseudo-median lies below ``value``"; ties count against it."""
    return p_of_count(_number_of_differences(averages), int(np.sum(averages >= value)))


def p_above(averages: Array, value: float) -> float:
    """Return the one-sided p-value for "the pseudo-median lies above ``value``"; ties count against it."""
    return p_of_count(_number_of_differences(averages), int(np.sum(averages <= value)))


def p_of_count(n: int, count: int) -> float:
    """Return the chance that at most ``count`` averages lie on one side of zero where there is no effect."""
    return float(_cumulative(n)[count])


def critical_count(n: int, level: float) -> int:
    """Return the largest count whose p-value is at most ``level``; -1 where even the count 0 has a larger one."""
    return int(np.searchsorted(_cumulative(n), level, side="right")) - 1


def interval(averages: Array, level: float) -> tuple[float, float]:
    """Return the limits outside of which one-sided tests at ``level`` reject; infinite for too few differences."""
    count = critical_count(_number_of_differences(averages), level)
    if count < 0:
        return -np.inf, np.inf
    return _unbounded(float(averages[count])), _unbounded(float(averages[-1 - count]))


@cache
def _cumulative(n: int) -> Array:
    """Return the cumulative null distribution of the statistic: each rank is added with chance one half."""
    ways = np.ones(1)
    for rank in range(1, n + 1):
        longer = np.zeros(len(ways) + rank)
        longer[: len(ways)] += ways / 2
        longer[rank:] += ways / 2
        ways = longer
    return np.cumsum(ways)


def _number_of_differences(averages: Array) -> int:
    return int((np.sqrt(8 * len(averages) + 1) - 1) / 2)


def _unbounded(value: float) -> float:
    return value if abs(value) < INFINITE / 4 else float(np.copysign(np.inf, value))
