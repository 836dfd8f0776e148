"""Verdicts err as rarely as is promised: against scipy where it has the quantity, by simulation where nobody has."""

import math
from itertools import permutations

import numpy as np
import pytest
from numpy.typing import NDArray
from scipy.stats import bootstrap, wilcoxon

from paceline.analysis.statistics.blocks_needed import blocks_needed
from paceline.analysis.statistics.dispersion import dispersion
from paceline.analysis.statistics.error_spending import Spending, levels
from paceline.analysis.statistics.pair_verdict import MARGIN, Verdict, Word, verdict
from paceline.analysis.statistics.rank_intervals import RankInterval, rank_intervals
from paceline.analysis.statistics.signed_rank import interval, p_above, p_below, pseudo_median, walsh_averages
from paceline.analysis.whole_run.comparison_verdicts import EngineVerdict, comparison_verdicts
from paceline.schema.conditions import Conditions
from paceline.schema.engine import EngineName
from paceline.schema.metrics import Better
from paceline.schema.records import Measure, Result
from paceline.schema.suite import Category, Comparison, Suite
from paceline.schema.trial import Status, Trial
from support.builders import make_cell

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


def test_levels_are_those_of_the_method() -> None:
    assert levels(LOOKS, 0.025, Spending.DIFFERENCE) == pytest.approx(
        [0.0040, 0.0032, 0.0055, 0.0087, 0.0138], abs=5e-5
    )
    assert levels(LOOKS, 0.025, Spending.EQUIVALENCE) == pytest.approx(
        [0.0006, 0.0010, 0.0030, 0.0079, 0.0197], abs=5e-5
    )
    assert levels([50], 0.025, Spending.DIFFERENCE) == pytest.approx([0.025], abs=1e-6)
    assert levels([50, 60], 0.025, Spending.DIFFERENCE)[1] == 0, "beyond the horizon nothing is left to spend"
    with pytest.raises(ValueError, match="growing"):
        levels([12, 8], 0.025, Spending.DIFFERENCE)


@pytest.mark.parametrize("n", [5, 8, 20, 50])
def test_the_test_is_scipys_and_its_inversion_agrees_with_it(n: int) -> None:
    d = np.random.default_rng(n).normal(0.3, 1, n)
    averages = walsh_averages(d)
    assert p_below(averages, 0.0) == pytest.approx(wilcoxon(d, alternative="less", method="exact").pvalue)
    assert p_above(averages, 0.0) == pytest.approx(wilcoxon(d, alternative="greater", method="exact").pvalue)
    low, high = interval(averages, 0.025)
    for edge, test in ((low, p_above), (high, p_below)):
        if math.isfinite(edge):
            inside = edge + (1e-9 if edge == low else -1e-9)
            outside = edge - (1e-9 if edge == low else -1e-9)
            assert test(averages, inside) > 0.025 >= test(averages, outside)
    assert low < pseudo_median(averages) < high


def test_few_blocks_bound_nothing() -> None:
    assert interval(walsh_averages(np.arange(1.0, 5.0)), 0.025) == (-math.inf, math.inf)


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


def pair(word: Word) -> Verdict:
    return verdict([0.0] * 8).model_copy(update={"word": word})


def test_ranks_are_intervals_whatever_the_order_of_names() -> None:
    truth = {("a", "b"): Word.FASTER, ("a", "c"): Word.FASTER, ("b", "c"): Word.INCONCLUSIVE}
    for names in permutations("abc"):
        found = rank_intervals(list(names), {engines: pair(word) for engines, word in truth.items()})
        assert found == {
            "a": RankInterval(best=1, worst=1),
            "b": RankInterval(best=2, worst=3),
            "c": RankInterval(best=2, worst=3),
        }
        assert found["a"].winner


def test_rank_intervals_cover_the_true_ranks() -> None:
    draw = np.random.default_rng(5)
    speeds = {"a": 0.0, "b": 0.04, "c": 0.05, "d": 0.12}
    pairs = [(x, y) for x in speeds for y in speeds if x < y]
    covered = 0
    for _ in range(200):
        launches = {name: speed + draw.normal(0, 0.02, 20) for name, speed in speeds.items()}
        found = rank_intervals(
            list(speeds), {(x, y): verdict(launches[x] - launches[y], family=len(pairs)) for x, y in pairs}
        )
        covered += all(found[n].best <= place <= found[n].worst for place, n in enumerate(speeds, 1))
    assert covered >= 0.95 * 200


def test_blocks_needed_are_those_after_which_most_runs_decide() -> None:
    draw = np.random.default_rng(9)
    easy, hard = draw.normal(0.10, 0.03, 8), draw.normal(0.03, 0.03, 8)
    few, many = blocks_needed(easy), blocks_needed(hard)
    assert few is not None
    assert few <= 12
    assert many is None or many > few
    assert blocks_needed(np.array([0.1, math.inf])) is None


def test_the_pseudo_median_agrees_with_a_bootstrap_of_itself() -> None:
    d = np.random.default_rng(1).standard_t(3, 30) * 0.03
    low, high = interval(walsh_averages(d), 0.025)
    resampled = bootstrap(
        (d,),
        lambda x, axis: np.median(walsh_averages(np.moveaxis(x, axis, -1)), axis=-1),
        method="percentile",
        rng=np.random.default_rng(2),
    )
    assert low == pytest.approx(resampled.confidence_interval.low, abs=0.006)
    assert high == pytest.approx(resampled.confidence_interval.high, abs=0.006)


def comparison_of(times: dict[str, list[float]], admitted: dict[str, bool] | None = None) -> list[EngineVerdict]:
    """Return the verdicts of a comparison whose first engine is the reference; infinity is a failure."""
    names = [f"fake/{name}" for name in times]
    engines = tuple(EngineName.parse(name) for name in names)
    compared = Comparison(category=Category.LARGE_SCALE, workload="fake", engines=engines, steps=10)
    suite = Suite(name="s", description="-", blocks=9, comparisons=(compared,))
    trials, results = [], {}
    for name, values in times.items():
        cell = make_cell(engine=EngineName("fake", name), category=Category.LARGE_SCALE)
        for block, value in enumerate(values):
            failed = math.isinf(value)
            measure = Measure(value=None if failed else 1 / value, unit="/s", better=Better.HIGHER, reduction="-")
            trial = Trial(
                id=f"{name}-{block}", cell=cell, block=block, position=0, seed=0, conditions=Conditions(), devices=(0,)
            )
            status = Status.OOM if failed else Status.OK
            trials.append(trial)
            results[trial.id] = Result(
                trial_id=trial.id, status=status, cause=None, measures={"samples_per_s": measure}
            )
    return comparison_verdicts(suite, 0, names[0], trials, results, admitted or dict.fromkeys(names, True), set())


def test_a_comparison_names_who_is_faster_and_ranks_all() -> None:
    draw = np.random.default_rng(7)
    base = np.exp(draw.normal(0, 0.02, 9))
    times = {"reference": base, "fast": base * 0.8, "twin": base * 1.0001, "fails": np.where(base > 0, math.inf, base)}
    found = {judged.engine: judged for judged in comparison_of({name: list(t) for name, t in times.items()})}
    assert [judged.verdict.word for judged in found.values()] == [Word.FASTER, Word.EQUIVALENT, Word.SLOWER]
    assert found["fake/fast"].rank == RankInterval(best=1, worst=1)
    assert found["fake/fast"].verdict.ratio == pytest.approx(0.8)
    assert found["fake/twin"].rank == RankInterval(best=2, worst=3)
    assert found["fake/fails"].rank == RankInterval(best=4, worst=4)
    assert found["fake/fast"].verdict.confidence == pytest.approx(1 - 0.05 / 3), "three share the error"


def test_what_is_not_proven_equal_is_not_judged_and_takes_no_rank() -> None:
    times = {"reference": [1.0] * 9, "fast": [0.5] * 9, "other": [2.0] * 9}
    names = [f"fake/{name}" for name in times]
    found = comparison_of(times, {names[0]: True, names[1]: False, names[2]: True})
    assert [(judged.engine, judged.rank) for judged in found] == [("fake/other", RankInterval(best=2, worst=2))]
    assert comparison_of(times, {names[0]: False, names[1]: True, names[2]: True}) == []


def test_launches_that_vary_more_are_told_and_twins_are_not() -> None:
    draw = np.random.default_rng(13)
    shared = draw.normal(0, 0.05, (400, 40))  # what a block does to both engines alike
    wrong = 0
    for base in shared:
        one, other = (np.exp(base + draw.normal(0, 0.03, 40)) for _ in range(2))
        found = dispersion(one, other)
        assert found is not None
        wrong += found.word != ""
    assert wrong <= 0.05 * 400 + 3 * math.sqrt(0.05 * 0.95 * 400)
    calm, wild = np.exp(draw.normal(0, 0.02, 40)), np.exp(draw.normal(0, 0.06, 40))
    more, less = dispersion(wild, calm), dispersion(calm, wild)
    assert more is not None
    assert less is not None
    assert (more.word, less.word) == ("varies more", "varies less")
    assert dispersion(wild[:31], calm[:31]) is None
