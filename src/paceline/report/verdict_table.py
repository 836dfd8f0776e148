"""The table of a comparison's verdicts, which stands below the table of its metrics."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from paceline.analysis.statistics.error_spending import FIRST_LOOK
from paceline.analysis.statistics.pair_verdict import Verdict, Word
from paceline.analysis.statistics.rank_intervals import RankInterval
from paceline.analysis.whole_run.comparison_verdicts import EngineVerdict
from paceline.analysis.whole_run.view import RunView
from paceline.report.tables import plain_table

STYLES = {Word.FASTER: "green", Word.SLOWER: "red", Word.EQUIVALENT: "cyan"}


def verdict_table(view: RunView, index: int) -> Iterator[RenderableType]:
    """Yield the verdicts of one comparison; nothing where every pair has too few blocks."""
    pairs = view.verdicts.get(index, [])
    if not any(pair.verdict.blocks >= FIRST_LOOK for pair in pairs):
        return
    first = pairs[0]
    table = plain_table()
    table.add_column(f"against {first.against}", no_wrap=True)
    for title in ("verdict", "time\nratio", f"{first.verdict.confidence:.1%}\ninterval", "blocks\nwon", "rank", ""):
        table.add_column(title, overflow="fold")
    table.add_row(first.against, "reference", "1", "", "", _rank(first.reference_rank), "")
    for pair in pairs:
        verdict = pair.verdict
        table.add_row(
            pair.engine,
            Text(verdict.word, style=STYLES.get(verdict.word, "")),
            "failed" if verdict.ratio is None else f"{verdict.ratio:.3f}",
            _interval(verdict),
            f"{verdict.won} of {verdict.blocks}",
            _rank(pair.rank),
            Text("; ".join(filter(None, [verdict.note, _spread(pair), _missing(view, index, pair)]))),
        )
    yield table
    for row in view.comparisons[index].rows:
        name = str(row.cell.engine)
        if name != first.against and name not in {pair.engine for pair in pairs} and row.status is not None:
            yield Text(f"{name}: no verdict, because its work or its conditions are not proven to be the same")


def _interval(verdict: Verdict) -> str:
    if verdict.low is None and verdict.high is None:
        return "-"
    low, high = ("unbounded" if x is None else f"{x:.3f}" for x in (verdict.low, verdict.high))
    return f"{low}..{high}"


def _rank(rank: RankInterval | None) -> str:
    if rank is None:
        return "-"
    return f"{rank.best}" if rank.best == rank.worst else f"{rank.best}..{rank.worst}"


def _spread(pair: EngineVerdict) -> str:
    dispersion = pair.dispersion
    if dispersion is None or not dispersion.word:
        return ""
    return f"launches {dispersion.word} (sd ratio {dispersion.ratio:.2f})"


def _missing(view: RunView, index: int, pair: EngineVerdict) -> str:
    """Return how many more blocks would probably decide an undecided pair, in words; empty for a decided one."""
    if pair.verdict.word not in (Word.INCONCLUSIVE, Word.INSUFFICIENT):
        return ""
    if pair.blocks_needed is None:
        return "would take more than 200 blocks, or cannot be told"
    more = pair.blocks_needed - pair.verdict.blocks
    minutes = f", {more * view.block_s[index] / 60:.0f} min" if index in view.block_s else ""
    return f"about {more} more blocks{minutes}"
