"""Estimates by resampling how many blocks a pair needs for a verdict."""

import math

import numpy as np
from numpy.typing import NDArray

from paceline.analysis.statistics.error_spending import FIRST_LOOK, HORIZON
from paceline.analysis.statistics.pair_verdict import ALPHA, MARGIN
from paceline.analysis.statistics.signed_rank import critical_count, walsh_averages

SHARE = 0.8
"""Share of simulated runs that must end in a verdict."""
SIMULATED_RUNS = 200
"""Simulated runs of each length."""
LARGEST = 4 * HORIZON
"""Longest run that is simulated, in blocks."""
LENGTHS = (10, 12, 16, 20, 26, 32, 40, 50, 64, 80, 100, 140, LARGEST)
"""Lengths of run that are tried, in blocks."""


def blocks_needed(differences: NDArray[np.float64], *, family: int = 1, margin: float = MARGIN) -> int | None:
    """Return the length of the shortest run, in blocks, of which ``SHARE`` would decide; None beyond ``LARGEST``.

    Simulated runs draw from the observed ``differences``, so the answer is longer than what was observed. None for
    fewer than two differences, and where one is infinite: a few blocks do not tell how often an engine fails.
    """
    if len(differences) < 2 or not np.isfinite(differences).all():
        return None
    generator = np.random.default_rng(0)
    fewest = len(differences) + 1
    lengths = sorted({max(FIRST_LOOK, fewest), *(n for n in LENGTHS if n > fewest)})
    for n in lengths:
        runs = generator.choice(differences, size=(SIMULATED_RUNS, n))
        if _decided_share(walsh_averages(runs), n, family, margin) >= SHARE:
            return n
    return None


def _decided_share(averages: NDArray[np.float64], n: int, family: int, margin: float) -> float:
    """Return the share of runs that end with a verdict; ``averages``: Walsh averages of n blocks, a row a run."""
    count, delta = critical_count(n, ALPHA / family), math.log1p(margin)
    above, below = np.sum(averages >= -delta, axis=1), np.sum(averages <= delta, axis=1)
    outside = (above <= count) | (below <= count)
    inside = (np.sum(averages >= delta, axis=1) <= count) & (np.sum(averages <= -delta, axis=1) <= count)
    return float(np.mean(outside | inside))
