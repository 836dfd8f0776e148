"""Where warm-up ends, found by change points in the medians of batches of steps (docs/method.md, "Warm-up")."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

BATCH = 5
"""Consecutive steps of which one median is taken."""
MIN_SEGMENT = 3
"""Fewest medians in a segment between two change points."""
PENALTY = 6.0
"""Penalty of one more change point, as a multiple of ln(number of medians)."""
SAME_LEVEL = 0.02
"""Largest relative distance from the last segment at which another segment counts as the same level."""
NOISE_SPAN = 3.0
"""Robust standard deviations from the steady level within which a single step belongs to it, where that is wider than
``SAME_LEVEL``."""
SMALLEST_SCALE = 1e-3
"""Smallest noise of ln(step time) by which a series is scaled: one without noise would otherwise be divided by zero."""
MIN_STEPS = BATCH * MIN_SEGMENT * 2
"""Fewer steps cannot hold two segments."""

Shape = Literal["flat", "warm-up", "slow-down", "unsteady", "too short"]


@dataclass(frozen=True)
class WarmUp:
    """How many steps come before the steady level (the very first step included), and the shape of the series."""

    steps: int
    steady_median_s: float
    shape: Shape


def detect(durations_s: NDArray[np.float64]) -> WarmUp:
    """Return the steady level at the end of a series of step times, shape (steps,), seconds.

    y = ln(step time). Change points are found by PELT (Killick et al. 2012) with squared-error cost, in the medians of
    ``BATCH`` consecutive y, scaled by the MAD of their differences. The last segment is the steady level. It extends
    back over segments at the same level, and then over single steps within the noise of the steady steps: segments of
    three medians would otherwise cut off 15 steps where 3 were slow.
    """
    level = float(np.median(durations_s))
    if len(durations_s) < MIN_STEPS:
        return WarmUp(0, level, "too short")
    y = np.log(durations_s)
    offset = len(y) % BATCH  # whole batches, counted from the end, where the steady state is
    medians = np.median(y[offset:].reshape(-1, BATCH), axis=1)
    segments = _segments(medians)
    levels = [float(np.median(medians[a:b])) for a, b in segments]
    first = len(segments) - 1
    while first > 0 and abs(levels[first - 1] - levels[-1]) <= np.log1p(SAME_LEVEL):
        first -= 1
    start = offset + segments[first][0] * BATCH
    steady = float(np.median(y[start:]))
    tolerance = max(float(np.log1p(SAME_LEVEL)), NOISE_SPAN * 1.4826 * float(np.median(np.abs(y[start:] - steady))))
    while start < len(y) - 1 and abs(y[start] - steady) > tolerance:  # the median of five can hide two slow steps
        start += 1
    while start > 0 and abs(y[start - 1] - steady) <= tolerance:
        start -= 1
    return WarmUp(start, float(np.exp(steady)), _shape(start, first, levels, y))


def _segments(medians: NDArray[np.float64]) -> list[tuple[int, int]]:
    """Return first index and end of each segment between change points."""
    import ruptures  # takes half a second, and only finished trials need it

    spread = np.median(np.abs(np.diff(medians) - np.median(np.diff(medians)))) * 1.4826
    scaled = medians / max(float(spread), SMALLEST_SCALE)
    search = ruptures.Pelt(model="l2", min_size=MIN_SEGMENT, jump=1).fit(scaled.reshape(-1, 1))
    ends: list[int] = search.predict(pen=PENALTY * np.log(len(scaled)))
    return list(zip([0, *ends[:-1]], ends, strict=True))


def _shape(start: int, first: int, levels: list[float], y: NDArray[np.float64]) -> Shape:
    if len(levels) - first > len(levels) // 2 + 1 and len(levels) > 3:
        return "unsteady"
    if first == 0:
        return "flat" if start <= 1 else "warm-up"
    if start > len(y) // 2:
        return "unsteady"
    return "warm-up" if levels[0] > levels[-1] else "slow-down"
