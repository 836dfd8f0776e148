"""The verdicts of a comparison as people read them, below its table."""

from collections.abc import Iterator

from rich.console import RenderableType
from rich.text import Text

from paceline.analysis.ranking import Rank
from paceline.analysis.spending import FIRST_LOOK
from paceline.analysis.verdict import Verdict, Word
from paceline.analysis.verdicts import Judged
from paceline.bench import estimate
from paceline.report.tables import plain_table
from paceline.report.view import RunView

STYLES = {Word.FASTER: "green", Word.SLOWER: "red", Word.EQUIVALENT: "cyan"}


def verdict_table(view: RunView, index: int) -> Iterator[RenderableType]:
    """Yield the verdicts of one comparison; nothing before there are blocks enough for any."""
    found = view.judged.get(index, [])
    if not any(judged.verdict.blocks >= FIRST_LOOK for judged in found):
        return
    first = found[0]
    table = plain_table()
    table.add_column(f"against {first.against}", no_wrap=True)
    for title in ("verdict", "time\nratio", f"{first.verdict.confidence:.1%}\ninterval", "blocks\nwon", "rank", ""):
        table.add_column(title, overflow="fold")
    table.add_row(first.against, "reference", "1", "", "", _rank(first.reference_rank), "")
    for judged in found:
        said = judged.verdict
        table.add_row(
            judged.engine,
            Text(said.word, style=STYLES.get(said.word, "")),
            "failed" if said.ratio is None else f"{said.ratio:.3f}",
            _interval(said),
            f"{said.won} of {said.blocks}",
            _rank(judged.rank),
            Text("; ".join(filter(None, [said.note, _spread(judged), _missing(view, index, judged)]))),
        )
    yield table
    for cell in view.comparisons[index].cells:
        name = str(cell.cell.engine)
        if name != first.against and name not in {judged.engine for judged in found} and cell.status is not None:
            yield Text(f"{name}: no verdict, because its work or its conditions are not proven to be the same")


def _interval(said: Verdict) -> str:
    if said.low is None and said.high is None:
        return "-"
    low, high = ("unbounded" if x is None else f"{x:.3f}" for x in (said.low, said.high))
    return f"{low}..{high}"


def _rank(rank: Rank | None) -> str:
    if rank is None:
        return "-"
    return f"{rank.best}" if rank.best == rank.worst else f"{rank.best}..{rank.worst}"


def _spread(judged: Judged) -> str:
    found = judged.dispersion
    return f"launches {found.word} (sd ratio {found.ratio:.2f})" if found and found.word else ""


def _missing(view: RunView, index: int, judged: Judged) -> str:
    """Return what would decide an undecided pair."""
    if judged.verdict.word not in (Word.INCONCLUSIVE, Word.INSUFFICIENT):
        return ""
    if judged.blocks_needed is None:
        return "would take more than 200 blocks, or cannot be told"
    more = judged.blocks_needed - judged.verdict.blocks
    block = [t for t in view.run.plan if t.block == 0 and t.cell.comparison == index]
    minutes = more * sum(estimate.trial_s(t) for t in block) / 60
    return f"about {more} more blocks, {minutes:.0f} min"
