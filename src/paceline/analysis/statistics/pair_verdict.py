"""Who is faster, by how much, how sure: the verdict on one engine against another from paired blocks (docs/method.md,
"Verdicts").

Differences are d = ln(time of the engine) - ln(time of the reference), one a block; below zero the engine is faster.
Everything is a pure function of them, of the margin and of the looks that were taken.
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
"""One-sided error of a pair over its whole sequence of looks; for ``equivalent`` as well."""
MARGIN = 0.02
"""A gap that nobody would act on."""


class Word(StrEnum):
    """What can be said of an engine against a reference."""

    FASTER = "faster"
    SLOWER = "slower"
    EQUIVALENT = "equivalent"
    INCONCLUSIVE = "inconclusive"
    INSUFFICIENT = "insufficient"


class Verdict(Model):
    """An engine against a reference: ratios are of times, engine / reference, below one for a faster engine."""

    word: Word
    blocks: int
    """That count: both engines ended, or one of them failed for good."""
    ratio: float | None
    """exp of the pseudo-median of d; null where it is infinite or there is no block."""
    low: float | None
    high: float | None
    """The repeated confidence interval of the ratio; null where it is unbounded."""
    confidence: float
    """Of the interval, over the whole sequence of looks."""
    won: int
    """Blocks in which the engine took less time."""
    mean_ratio: float | None
    """Ratio of mean times; null where a block is infinite."""
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
    """Return the verdict on blocks so far.

    ``looks``: numbers of blocks at which earlier looks were taken in a sequence; none, and this is the one look of a
    run of fixed length, which has all of the error to itself. ``family``: comparisons that share the error. ``times``:
    of the engine and of the reference in seconds, for the ratio of means. NaN in ``differences``: a block in which both
    failed, which has no direction and does not count.
    """
    found = np.asarray(differences, dtype=np.float64)
    found = found[~np.isnan(found)]
    n, alpha = len(found), ALPHA / family
    if n == 0:
        return _undecided(Word.INSUFFICIENT, 0, margin, family, "no block has ended")
    averages = walsh_averages(found)
    won = int(np.sum(found < 0))
    if n < first_look:
        said = f"{n} of the {first_look} blocks that a verdict needs at least"
        return _undecided(Word.INSUFFICIENT, n, margin, family, said, averages, won)
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


def _undecided(
    word: Word,
    n: int,
    margin: float,
    family: int,
    note: str,
    averages: NDArray[np.float64] | None = None,
    won: int = 0,
) -> Verdict:
    return Verdict(
        word=word,
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
    mine, theirs = (float(np.mean(side)) if len(side) else math.inf for side in times)
    return mine / theirs if math.isfinite(mine) and math.isfinite(theirs) and theirs > 0 else None
