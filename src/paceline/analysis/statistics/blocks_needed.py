"""How many more blocks a pair needs: its sequence is played on with differences drawn from those that were observed."""

import math

import numpy as np
from numpy.typing import NDArray

from paceline.analysis.statistics.error_spending import FIRST_LOOK, HORIZON
from paceline.analysis.statistics.pair_verdict import ALPHA, MARGIN
from paceline.analysis.statistics.signed_rank import critical_count, walsh_averages

SHARE = 0.8
"""Of the played sequences that must be decided."""
PLAYED = 200
LARGEST = 4 * HORIZON


def blocks_needed(differences: NDArray[np.float64], *, family: int = 1, margin: float = MARGIN) -> int | None:
    """Return at how many blocks in all four of five runs of a fixed length would decide; None beyond ``LARGEST``.

    Failures cannot be drawn on from a few blocks: None where a difference is not finite.
    """
    if len(differences) < 2 or not np.isfinite(differences).all():
        return None
    draw = np.random.default_rng(0)
    fewest = len(differences) + 1
    tried = (10, 12, 16, 20, 26, 32, 40, 50, 64, 80, 100, 140, LARGEST)
    sizes = sorted({max(FIRST_LOOK, fewest), *(n for n in tried if n > fewest)})
    for n in sizes:
        drawn = draw.choice(differences, size=(PLAYED, n))
        if _decided(walsh_averages(drawn), n, family, margin) >= SHARE:
            return n
    return None


def _decided(averages: NDArray[np.float64], n: int, family: int, margin: float) -> float:
    """Return the share of rows that end with a verdict; rows are Walsh averages of n blocks each."""
    count, delta = critical_count(n, ALPHA / family), math.log1p(margin)
    above, below = np.sum(averages >= -delta, axis=1), np.sum(averages <= delta, axis=1)
    outside = (above <= count) | (below <= count)
    inside = (np.sum(averages >= delta, axis=1) <= count) & (np.sum(averages <= -delta, axis=1) <= count)
    return float(np.mean(outside | inside))
