"""The table of ``compare``: both sides, ratios of times, and the differences that were allowed."""

import pytest

from paceline.analysis.whole_run.two_runs import Compared, Side
from paceline.report.two_runs_table import two_runs_table
from support.runs import rows_of, text_of


def side(median: float | None, low: float | None = None, high: float | None = None, trials: int = 1) -> Side:
    return Side(median=median, min=low, max=high, trials=trials)


def compared(first: Side, second: Side, ratio: float | None = 1.25, to_reference: float | None = 0.5) -> Compared:
    return Compared(
        category="large-scale", workload="vit", engine="torchrun/ddp", metric="samples_per_s", unit="samples/s",
        first=first, second=second, ratio=ratio, ratio_to_reference=to_reference,
    )  # fmt: skip


def row_of(row: Compared) -> list[str]:
    return next(words for words in rows_of(two_runs_table([row], {})) if words[:1] == ["large-scale"])


def test_a_row_shows_both_sides_and_both_ratios() -> None:
    row = row_of(compared(side(1234.5678), side(987.6)))
    assert row == ["large-scale", "vit", "torchrun/ddp", "samples_per_s", "1235", "987.6", "1.250", "0.500"]


def test_what_is_unknown_is_a_dash() -> None:
    row = row_of(compared(side(None), side(2.0), ratio=None, to_reference=None))
    assert row[4:] == ["-", "2", "-", "-"]


def test_several_trials_show_their_range_and_number() -> None:
    text = text_of(two_runs_table([compared(side(100.0, 90.0, 110.0, 5), side(80.0, 80.0, 80.0, 1))], {}))
    assert "90..110 (5)" in text
    assert "80..80" not in text


@pytest.mark.parametrize("differences", [{}, {"versions.torch": ("2.9", "2.8"), "machine.os": ("a", "b")}])
def test_differences_that_were_allowed_are_told_above(differences: dict[str, tuple[str, str]]) -> None:
    lines = text_of(two_runs_table([compared(side(1.0), side(1.0))], differences)).splitlines()
    told = [f"differ in {key}: {one} / {other}" for key, (one, other) in differences.items()]
    assert [line.strip() for line in lines[: len(told)]] == told
