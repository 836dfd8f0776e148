"""Verdicts as people read them: the word, the ratio with its interval, the rank, and what would decide a pair."""

import math

import pytest

from paceline.analysis.statistics.dispersion import Dispersion
from paceline.analysis.statistics.pair_verdict import Verdict, Word, verdict
from paceline.analysis.statistics.rank_intervals import RankInterval
from paceline.analysis.whole_run.comparison_verdicts import EngineVerdict
from paceline.report.verdict_table import verdict_table
from support.runs import make_comparison, make_result, make_run, make_trial, make_view, text_of

ENGINES = ("fake/reference", "fake/other", "fake/unproven")
PLAIN = verdict([0.0] * 8)


def of(word: Word, **changes: object) -> Verdict:
    return PLAIN.model_copy(update={"word": word, **changes})


def pair(said: Verdict, **more: object) -> EngineVerdict:
    fields = {"rank": RankInterval(best=1, worst=1), "reference_rank": RankInterval(best=2, worst=3)}
    return EngineVerdict(
        engine="fake/other", against="fake/reference", metric="samples_per_s", verdict=said, **(fields | more)
    )


def shown(judged: EngineVerdict, block_s: dict[int, float] | None = None) -> str:
    """Return what is printed below a comparison, with single blanks."""
    trials = [make_trial(engine) for engine in ENGINES]
    run = make_run([make_comparison(*ENGINES)], trials)
    results = [make_result(trial, samples_per_s=1.0) for trial in trials]
    view = make_view(run, results, verdicts={0: [judged]}, block_s=block_s or {})
    return " ".join(text_of(*verdict_table(view, 0)).split())


def test_nothing_is_said_before_there_are_blocks_enough() -> None:
    assert shown(pair(verdict([-0.1] * 7))) == ""
    assert shown(pair(verdict([-0.1] * 8))) != ""


@pytest.mark.parametrize("word", [Word.FASTER, Word.SLOWER, Word.EQUIVALENT])
def test_a_decided_pair_shows_ratio_interval_blocks_and_rank(word: Word) -> None:
    said = of(word, ratio=0.8, low=0.75, high=0.8512, won=7, blocks=8)
    text = shown(pair(said))
    assert f"fake/other {word} 0.800 0.750..0.851 7 of 8 1" in text
    assert "fake/reference reference 1 2..3" in text
    assert "95.0%" in text
    assert "more blocks" not in text


def test_the_error_that_is_shared_widens_the_interval_that_is_named() -> None:
    assert "97.5%" in shown(pair(verdict([-0.1] * 8, family=2)))


@pytest.mark.parametrize(
    ("low", "high", "interval"),
    [(None, None, "-"), (0.9, None, "0.900..unbounded"), (None, 1.1, "unbounded..1.100")],
)
def test_an_interval_may_be_open(low: float | None, high: float | None, interval: str) -> None:
    assert f"1.000 {interval} " in shown(pair(of(Word.FASTER, low=low, high=high)))


def test_an_engine_that_always_fails_has_no_ratio() -> None:
    assert "fake/other slower failed" in shown(pair(verdict([math.inf] * 8)))


def test_an_undecided_pair_tells_how_many_blocks_and_minutes_are_missing() -> None:
    undecided = pair(of(Word.INCONCLUSIVE), blocks_needed=20)
    assert "about 12 more blocks, 18 min" in shown(undecided, block_s={0: 90.0})
    assert "about 12 more blocks" in shown(undecided)
    assert "min" not in shown(undecided, block_s={1: 90.0})


def test_a_pair_that_cannot_be_decided_says_so() -> None:
    text = shown(pair(of(Word.INCONCLUSIVE), blocks_needed=None), block_s={0: 90.0})
    assert "more than 200 blocks" in text
    assert "about" not in text


def test_notes_and_spreads_of_launches_are_told() -> None:
    said = of(Word.EQUIVALENT, note="rare slow launches")
    text = shown(pair(said, dispersion=Dispersion(ratio=2.5, p_more=0.01, p_less=0.99)))
    assert "rare slow launches" in text
    assert "varies more (sd ratio 2.50)" in text
    assert "sd ratio" not in shown(pair(said, dispersion=Dispersion(ratio=1.1, p_more=0.4, p_less=0.6)))


def test_an_unranked_engine_shows_no_rank() -> None:
    assert "8 -" in shown(pair(PLAIN, rank=None, reference_rank=None))


def test_who_is_not_judged_is_named() -> None:
    text = shown(pair(of(Word.FASTER)))
    assert "fake/unproven: no verdict" in text
    assert "fake/other: no verdict" not in text
