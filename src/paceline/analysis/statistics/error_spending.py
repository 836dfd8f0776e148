"""At which level each look of a sequence may be read, so that all looks together err as often as one was promised.

Error spending (Lan and DeMets 1983): by n blocks a share of the error may be used up that was fixed in advance,
whenever one looks. Levels follow from the joint distribution of the looks, by the recursive integration of Armitage,
McPherson and Rowe (1969) with independent normal increments, which signed-rank statistics have for all but small n.
"""

from collections.abc import Sequence
from enum import Enum
from functools import cache

import numpy as np
from scipy.optimize import brentq
from scipy.stats import norm

HORIZON = 50
"""Blocks by which all error is spent."""
FIRST_LOOK = 8
"""Blocks before which nothing is decided."""
_POINTS = 1201
_REACH = 8.0
"""Standard deviations to which densities are integrated."""


class Spending(Enum):
    """How much of the error may be used up when a share t of the horizon is reached: t to this power."""

    DIFFERENCE = 1
    """Large gaps show early."""
    EQUIVALENCE = 2
    """Nobody needs an early "equal"."""


def spent(n: int, alpha: float, spending: Spending) -> float:
    """Return the error that may have been used up by n blocks."""
    return float(alpha * min(1.0, n / HORIZON) ** spending.value)


def levels(looks: Sequence[int], alpha: float, spending: Spending) -> list[float]:
    """Return the one-sided level of each look, given at how many blocks one looks. Raises ValueError out of order.

    Looks beyond the horizon have nothing left and get level 0.
    """
    return list(_levels(tuple(looks), alpha, spending))


@cache
def _levels(looks: tuple[int, ...], alpha: float, spending: Spending) -> tuple[float, ...]:
    if list(looks) != sorted(set(looks)) or (looks and looks[0] < 1):
        raise ValueError(f"looks must be at growing numbers of blocks, not at {list(looks)}")
    found: list[float] = []
    used, before = 0.0, 0
    places, density = np.zeros(1), np.ones(1)
    for n in looks:
        share = spent(n, alpha, spending) - used
        if share <= 0:
            found.append(0.0)
            continue
        used += share
        step = np.sqrt(n - before)

        def crossing(bound: float, at: np.ndarray = places, weight: np.ndarray = density, sd: float = step) -> float:
            return float(np.sum(weight * norm.sf((bound - at) / sd)))

        bound = brentq(lambda b, share=share: crossing(b) - share, -_REACH * np.sqrt(n), 2 * _REACH * np.sqrt(n))
        found.append(float(norm.sf(bound / np.sqrt(n))))
        following = np.linspace(-_REACH * np.sqrt(n), bound, _POINTS)
        width = np.full(_POINTS, following[1] - following[0])
        width[[0, -1]] /= 2  # trapezoids
        density = width * (norm.pdf((following[:, None] - places) / step) @ density) / step
        places, before = following, n
    return tuple(found)
