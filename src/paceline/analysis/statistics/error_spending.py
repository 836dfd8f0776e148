"""The level at which each look of a sequence is tested, so that all looks together keep to the error of one test.

Error spending (Lan and DeMets 1983): the share of the error that may be used up by n blocks is fixed in advance, and
does not depend on when the looks are taken. The levels follow from the joint distribution of the looks, by the
recursive integration of Armitage, McPherson and Rowe (1969). It assumes independent normal increments, which
signed-rank statistics have for all but small n.
"""

from collections.abc import Sequence
from enum import Enum
from functools import cache

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

HORIZON = 50
"""Number of blocks by which all error is spent."""
FIRST_LOOK = 8
"""Fewest blocks for a verdict."""
_POINTS = 1201
"""Points at which a density is integrated."""
_REACH = 8.0
"""Standard deviations up to which densities are integrated."""


class Spending(Enum):
    """Power of t that gives the share of the error which may be used up at a share t of the horizon."""

    DIFFERENCE = 1
    """Spent evenly, because large gaps show early."""
    EQUIVALENCE = 2
    """Spent late, because an early ``equivalent`` is not needed."""


def spent(n: int, alpha: float, spending: Spending) -> float:
    """Return the error that may have been used up by n blocks, of ``alpha`` in all."""
    return float(alpha * min(1.0, n / HORIZON) ** spending.value)


def levels(looks: Sequence[int], alpha: float, spending: Spending) -> list[float]:
    """Return the one-sided level of each look. ``looks``: the numbers of blocks at which looks are taken.

    A look beyond the horizon has no error left and gets level 0. Raises ValueError when ``looks`` do not grow.
    """
    return list(_levels(tuple(looks), alpha, spending))


@cache
def _levels(looks: tuple[int, ...], alpha: float, spending: Spending) -> tuple[float, ...]:
    if list(looks) != sorted(set(looks)) or (looks and looks[0] < 1):
        raise ValueError(f"looks must be at growing numbers of blocks, not at {list(looks)}")
    result: list[float] = []
    used, previous_n = 0.0, 0
    # The statistic is a random walk. ``weights`` are the chances that it is at ``points`` and has crossed no bound yet.
    points, weights = np.zeros(1), np.ones(1)
    for n in looks:
        share = spent(n, alpha, spending) - used
        if share <= 0:
            result.append(0.0)
            continue
        used += share
        sd = np.sqrt(n - previous_n)

        def crossing(bound: float, at: np.ndarray = points, weight: np.ndarray = weights, sd: float = sd) -> float:
            """Return the chance to cross the bound at this look and not before."""
            return float(np.sum(weight * norm.sf((bound - at) / sd)))

        bound = brentq(lambda b, share=share: crossing(b) - share, -_REACH * np.sqrt(n), 2 * _REACH * np.sqrt(n))
        result.append(float(norm.sf(bound / np.sqrt(n))))
        next_points = np.linspace(-_REACH * np.sqrt(n), bound, _POINTS)
        width = np.full(_POINTS, next_points[1] - next_points[0])
        width[[0, -1]] /= 2  # trapezoidal rule
        weights = width * (norm.pdf((next_points[:, None] - points) / sd) @ weights) / sd
        points, previous_n = next_points, n
    return tuple(result)
