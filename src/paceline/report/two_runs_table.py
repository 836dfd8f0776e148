"""The table of ``paceline compare``."""

from collections.abc import Sequence

from rich.console import Group
from rich.text import Text

from paceline.analysis.whole_run.two_runs import Compared, Side
from paceline.report.tables import plain_table

DESCRIPTIVE = (
    "Descriptive: two runs are two sessions, and a machine drifts between sessions by a percent or more. A verdict "
    "would need the variance between sessions, from at least five. To hold two versions against each other, interleave "
    "them in one run."
)


def two_runs_table(rows: Sequence[Compared], differences: dict[str, tuple[str, str]]) -> Group:
    """Return a table with a row for each cell that both runs have, and above it the differences that were allowed."""
    allowed = [Text(f"differ in {key}: {one} / {other}", style="yellow") for key, (one, other) in differences.items()]
    table = plain_table()
    for title in ("category", "workload", "engine", "metric"):
        table.add_column(title, overflow="fold")
    for title in ("first", "second", "time ratio\nsecond/first", "beside the\nreference"):
        table.add_column(title, justify="right")
    for row in rows:
        table.add_row(
            row.category, row.workload, row.engine, row.metric, _side(row.first), _side(row.second),
            _ratio(row.ratio), _ratio(row.ratio_to_reference),
        )  # fmt: skip
    return Group(*allowed, table)


def _side(side: Side) -> str:
    """Return the median, and below it the range and the number of trials where there are several."""
    if side.median is None:
        return "-"
    if side.trials == 1 or side.min is None or side.max is None:
        return f"{side.median:.4g}"
    return f"{side.median:.4g}\n{side.min:.4g}..{side.max:.4g} ({side.trials})"


def _ratio(ratio: float | None) -> str:
    return "-" if ratio is None else f"{ratio:.3f}"
