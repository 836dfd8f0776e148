"""Verdicts err as rarely as is promised: against scipy where it has the quantity, by simulation where nobody has."""

import math

import numpy as np
import pytest
from numpy.typing import NDArray

from paceline.analysis.statistics.pair_verdict import MARGIN, Verdict, Word, verdict

LOOKS = (8, 12, 20, 32, 50)
DELTA = math.log1p(MARGIN)
RUNS = 2500
_DIRECTIONS = (Word.FASTER, Word.SLOWER)


def noise(draw: np.random.Generator, kind: str, shape: tuple[int, int], sd: float = 0.03) -> NDArray[np.float64]:
    """Return paired differences of launches: what engines differ by in a block beside their true gap."""
    if kind == "normal":
        return draw.normal(0, sd, shape)
    if kind == "heavy":  # launches that differ for good, as on machines whose memory is laid out by chance
        return sd * draw.standard_t(3, shape) / math.sqrt(3)
    if kind == "rare slow":
        return draw.normal(0, sd, shape) + np.where(draw.random(shape) < 0.05, draw.choice([-0.3, 0.3], shape), 0.0)
    assert kind == "drift"  # the machine slows down within a block; the balanced order lets it take turns
    signs = np.where(np.arange(shape[1]) % 2 == 0, 1.0, -1.0)
    return draw.normal(0, sd, shape) + signs * 0.01


def sequences(gap: float, kind: str, sd: float = 0.03, runs: int = RUNS, family: int = 1) -> list[list[Verdict]]:
    """Return, of each simulated run, the verdicts up to the look that decided it."""
    draw = np.random.default_rng(20_261_201)
    found = []
    for d in gap + noise(draw, kind, (runs, LOOKS[-1]), sd):
        seen = []
        for i, n in enumerate(LOOKS):
            seen.append(verdict(d[:n], looks=LOOKS[: i + 1], family=family))
            if seen[-1].word is not Word.INCONCLUSIVE:
                break
        found.append(seen)
    return found


def share(runs: list[list[Verdict]], *words: Word, by: int = LOOKS[-1]) -> float:
    return float(np.mean([run[-1].word in words and run[-1].blocks <= by for run in runs]))


def test_failures_are_infinite_and_have_no_direction_together() -> None:
    d = [-0.1] * 19 + [math.inf]
    found = verdict(d)
    assert found.word is Word.FASTER
    assert found.won == 19
    assert verdict([*[-0.1] * 9, math.inf]).word is Word.INCONCLUSIVE, "of ten blocks one failure is too many"
    always = verdict([math.inf] * 10)
    assert always.word is Word.SLOWER
    assert always.ratio is None
    both = verdict([*[-0.1] * 9, math.nan])
    assert both.blocks == 9


def test_a_pair_needs_eight_blocks() -> None:
    found = verdict([-0.5] * 7)
    assert found.word is Word.INSUFFICIENT
    assert found.ratio == pytest.approx(math.exp(-0.5))
    assert found.low is found.high is None
    assert verdict([]).word is Word.INSUFFICIENT


def test_typically_equal_and_costlier_on_average_is_said() -> None:
    reference = [1.0] * 30
    mine = [1.0 + 0.0001 * i for i in range(28)] + [3.0, 3.0]
    found = verdict(np.log(mine), times=(mine, reference))
    assert found.word is Word.EQUIVALENT
    assert "costlier on average" in found.note


def test_the_sign_test_has_a_veto() -> None:
    d = [*[0.001] * 11, *[-1.0] * 9]
    assert verdict(d).word is not Word.FASTER


@pytest.mark.parametrize("kind", ["normal", "heavy", "rare slow", "drift"])
def test_wrong_verdicts_at_the_margin_are_rare_over_the_whole_sequence(kind: str) -> None:
    runs = sequences(DELTA, kind)
    for words, promised in ((_DIRECTIONS, 0.025), ((Word.EQUIVALENT,), 0.025), ((*_DIRECTIONS, Word.EQUIVALENT), 0.05)):
        by_chance = 3 * math.sqrt(promised * (1 - promised) / RUNS)
        assert share(runs, *words) <= promised + by_chance


def test_a_true_five_percent_is_found_and_twins_are_equivalent() -> None:
    gap = sequences(math.log(1.05), "normal")
    assert share(gap, Word.SLOWER, by=20) >= 0.90
    assert share(gap, Word.SLOWER) >= 0.99
    assert share(gap, Word.FASTER, Word.EQUIVALENT) <= 0.001
    assert share(sequences(0.0, "normal"), Word.EQUIVALENT) >= 0.97


@pytest.mark.parametrize("kind", ["normal", "heavy", "drift"])
@pytest.mark.parametrize("gap", [0.0, 0.02, 0.05])
def test_intervals_cover(kind: str, gap: float) -> None:
    """The last interval of a sequence covers at least as often as is said, wherever the sequence stopped."""
    runs = sequences(gap, kind, runs=2000)
    covered = [run[-1].low is None or run[-1].low <= math.exp(gap) <= (run[-1].high or math.inf) for run in runs]
    assert np.mean(covered) >= 0.94


@pytest.mark.parametrize(("family", "by_20", "by_32"), [(4, 0.70, 0.97), (8, 0.55, 0.94), (16, 0.40, 0.88)])
def test_power_of_families(family: int, by_20: float, by_32: float) -> None:
    gap = sequences(math.log(1.05), "normal", runs=400, family=family)
    assert share(gap, Word.SLOWER, by=20) >= by_20
    assert share(gap, Word.SLOWER, by=32) >= by_32


def test_names_scale_and_more_data_change_nothing_they_should_not() -> None:
    draw = np.random.default_rng(3)
    mine, theirs = np.exp(draw.normal(0.05, 0.03, 20)), np.exp(draw.normal(0, 0.03, 20))
    found = verdict(np.log(mine) - np.log(theirs))
    scaled = verdict(np.log(1000 * mine) - np.log(1000 * theirs))
    assert (scaled.word, scaled.blocks, scaled.won) == (found.word, found.blocks, found.won)
    assert scaled.ratio == pytest.approx(found.ratio)
    mirrored = verdict(np.log(theirs) - np.log(mine))
    assert (found.word, mirrored.word) == (Word.SLOWER, Word.FASTER)
    assert mirrored.ratio == pytest.approx(1 / (found.ratio or math.nan))
