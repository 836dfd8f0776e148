"""The verdict on one engine against another, from paired blocks (docs/method.md, "Verdicts").

It says which engine is faster, by how much and how sure that is. Differences are d = ln(time of the engine) - ln(time
of the reference engine), one a block; below zero the engine is faster. Everything is a pure function of the
differences, of the margin and of the looks that were taken.
"""

import math
from collections.abc import Sequence
from enum import StrEnum

import numpy as np
from numpy.typing import NDArray

from paceline.analysis.statistics.error_spending import FIRST_LOOK, Spending, levels
from paceline.analysis.statistics.signed_rank import interval, p_above, p_below, pseudo_median, walsh_averages
from paceline.schema.model import Model

ALPHA = 0.025
"""One-sided error of a pair over its whole sequence of looks, for each of ``faster``, ``slower`` and ``equivalent``."""
MARGIN = 0.02
"""Relative gap of times that is too small to act on."""


class Word(StrEnum):
    """The possible verdicts on an engine against a reference engine."""

    FASTER = "faster"
    SLOWER = "slower"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"
    INSUFFICIENT = "insufficient"


class Verdict(Model):
    """The verdict and its evidence. Ratios are of times, engine / reference: below one the engine is faster."""

    word: Word
    blocks: int
    """Number of blocks that count: both engines finished, or one failed."""
    ratio: float | None
    """exp of the pseudo-median of d; null where that is infinite or there is no block."""
    low: float | None
    """Lower limit of the ratio's repeated confidence interval; null where it is unbounded."""
    high: float | None
    """Upper limit of the same interval."""
    confidence: float
    """Coverage of the interval over the whole sequence of looks."""
    won: int
    """Blocks in which the engine took less time."""
    mean_ratio: float | None
    """Ratio of mean times; null where a time is infinite, and where no verdict was possible."""
    margin: float
    note: str = ""


def verdict(
    differences: Sequence[float],
    *,
    looks: Sequence[int] = (),
    family: int = 1,
    margin: float = MARGIN,
    times: tuple[Sequence[float], Sequence[float]] | None = None,
    first_look: int = FIRST_LOOK,
) -> Verdict:
    """Return the verdict on the blocks so far.

    ``differences``: d of each block; NaN for a block in which both engines failed, which has no direction and does not
    count. ``looks``: numbers of blocks at which earlier looks were taken. Empty: a run of fixed length, tested once at
    the full level. ``family``: number of comparisons that share the error. ``times``: seconds of the engine and of the
    reference engine, for the ratio of means.
    """
    d = np.asarray(differences, dtype=np.float64)
    d = d[~np.isnan(d)]
    n, alpha = len(d), ALPHA / family
    if n == 0:
        return _insufficient(0, margin, family, "no block has ended")
    averages = walsh_averages(d)
    won = int(np.sum(d < 0))
    if n < first_look:
        note = f"{n} of the {first_look} blocks that a verdict needs at least"
        return _insufficient(n, margin, family, note, averages, won)
    sequence = [*(look for look in looks if look < n), n] if looks else []
    difference_level = levels(sequence, alpha, Spending.DIFFERENCE)[-1] if looks else alpha
    equivalence_level = levels(sequence, alpha, Spending.EQUIVALENCE)[-1] if looks else alpha
    low, high = interval(averages, difference_level)
    word, note = _word(averages, won, n, margin, difference_level, equivalence_level)
    mean_ratio = _mean_ratio(times) if times else None
    if word is Word.EQUIVALENT and mean_ratio is not None and abs(math.log(mean_ratio)) > 2 * math.log1p(margin):
        note = f"typically equal, {'costlier' if mean_ratio > 1 else 'cheaper'} on average: rare slow launches"
    return Verdict(
        word=word,
        blocks=n,
        ratio=_ratio(pseudo_median(averages)),
        low=_ratio(low),
        high=_ratio(high),
        confidence=1 - 2 * alpha,
        won=won,
        mean_ratio=mean_ratio,
        margin=margin,
        note=note,
    )


def _word(
    averages: NDArray[np.float64], won: int, n: int, margin: float, difference_level: float, equivalence_level: float
) -> tuple[Word, str]:
    """Return the verdict of at least ``first_look`` blocks, and a note where the sign test vetoes it."""
    delta = math.log1p(margin)
    faster = p_below(averages, -delta) <= difference_level
    slower = p_above(averages, delta) <= difference_level
    if faster or slower:
        lost = n - won
        if (won < lost) if faster else (lost < won):
            return Word.INCONCLUSIVE, f"the sign test points the other way: {won} of {n} blocks won"
        return (Word.FASTER if faster else Word.SLOWER), ""
    if max(p_below(averages, delta), p_above(averages, -delta)) <= equivalence_level:
        return Word.EQUIVALENT, ""
    return Word.INCONCLUSIVE, ""


def _insufficient(
    n: int, margin: float, family: int, note: str, averages: NDArray[np.float64] | None = None, won: int = 0
) -> Verdict:
    return Verdict(
        word=Word.INSUFFICIENT,
        blocks=n,
        ratio=None if averages is None else _ratio(pseudo_median(averages)),
        low=None,
        high=None,
        confidence=1 - 2 * ALPHA / family,
        won=won,
        mean_ratio=None,
        margin=margin,
        note=note,
    )


def _ratio(log: float) -> float | None:
    return math.exp(log) if math.isfinite(log) else None


def _mean_ratio(times: tuple[Sequence[float], Sequence[float]]) -> float | None:
    engine, reference = (float(np.mean(side)) if len(side) else math.inf for side in times)
    return engine / reference if math.isfinite(engine) and math.isfinite(reference) and reference > 0 else None
