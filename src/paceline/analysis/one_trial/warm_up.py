"""Where warm-up ends: change points of batched medians (docs/method.md, "Warm-up")."""

from dataclasses import dataclass
from typing import Literal

import numpy as np
from numpy.typing import NDArray

BATCH = 5
MIN_SEGMENT = 3
PENALTY = 6.0
"""Times ln(number of batches)."""
SAME_LEVEL = 0.02
"""Segments within 2 % of the last one count as the same level."""
NOISE_SPAN = 3.0
"""Single steps belong to the level within 2 % or this many robust standard deviations, whichever is wider."""
SMALLEST_SCALE = 1e-3
"""Of ln(step time): a series without noise would otherwise be scaled by zero."""
MIN_STEPS = BATCH * MIN_SEGMENT * 2
"""Fewer steps cannot hold two segments."""

Shape = Literal["flat", "warm-up", "slow-down", "unsteady", "too short"]


@dataclass(frozen=True)
class WarmUp:
    """Steps before the steady level (the first one included), and what kind of series it is."""

    steps: int
    steady_median_s: float
    shape: Shape


def detect(durations_s: NDArray[np.float64]) -> WarmUp:
    """Find the last level of a series of step times, shape (steps,), seconds.

    y = ln(step); medians of consecutive fives, scaled by the MAD of their differences; PELT (Killick et al. 2012)
    with squared-error cost; the last segment extends back over segments within 2 %, then over single steps that the
    steady steps' own noise explains (segments of three fives would otherwise cut 15 steps where 3 were slow).
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
    while start < len(y) - 1 and abs(y[start] - steady) > tolerance:  # a median of five can hide two slow steps
        start += 1
    while start > 0 and abs(y[start - 1] - steady) <= tolerance:
        start -= 1
    return WarmUp(start, float(np.exp(steady)), _shape(start, first, levels, y))


def _segments(medians: NDArray[np.float64]) -> list[tuple[int, int]]:
    import ruptures  # half a second, of which only finished trials have need

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
