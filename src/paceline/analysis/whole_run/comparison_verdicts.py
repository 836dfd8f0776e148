"""The verdicts of one comparison: every engine against the reference, and ranks from all pairs (docs/verdicts.md)."""

import math
from collections.abc import Container, Mapping, Sequence
from itertools import combinations

import numpy as np
from numpy.typing import NDArray

from paceline.analysis.statistics.blocks_needed import blocks_needed
from paceline.analysis.statistics.dispersion import Dispersion, dispersion
from paceline.analysis.statistics.pair_verdict import Verdict, Word, verdict
from paceline.analysis.statistics.rank_intervals import RankInterval, rank_intervals
from paceline.analysis.whole_run.excluded_blocks import Block
from paceline.analysis.whole_run.summary import FAILURES
from paceline.schema.metrics import Better
from paceline.schema.model import Model
from paceline.schema.records import Result
from paceline.schema.suite import Suite
from paceline.schema.trial import Status, Trial

Times = dict[int, float]
"""Block to time, in whatever unit the metric has; infinite for a failure."""


class EngineVerdict(Model):
    """One engine of a comparison against its reference."""

    engine: str
    against: str
    metric: str
    verdict: Verdict
    rank: RankInterval | None
    """Among the engines that may be ranked; null before there are blocks enough."""
    reference_rank: RankInterval | None
    blocks_needed: int | None = None
    """For an undecided pair: the length of a run that would probably decide, if what was seen goes on."""
    dispersion: Dispersion | None = None
    """Null before there are blocks enough for it."""


def family_size(suite: Suite) -> int:
    """Return how many engine-against-reference comparisons share the suite's error."""
    return max(1, sum(len(c.engines) - 1 for c in suite.comparisons if c.confirmatory_metric))


def comparison_verdicts(
    suite: Suite,
    index: int,
    reference: str,
    trials: Sequence[Trial],
    results: Mapping[str, Result],
    admitted: Mapping[str, bool],
    excluded: Container[Block],
) -> list[EngineVerdict]:
    """Return one entry an admitted engine beside the reference, in the suite's order.

    ``admitted``: engine to whether it is proven to do the same work under the same conditions. Without the reference's
    own proof there is nothing to hold anybody against. ``excluded``: blocks that do not count.
    """
    comparison = suite.comparisons[index]
    metric = comparison.confirmatory_metric
    if metric is None or not admitted.get(reference, False):
        return []
    engines = [str(e) for e in comparison.engines if admitted.get(str(e), False)]
    counted = [t for t in trials if t.cell.comparison == index and (index, t.block) not in excluded]
    times = {
        name: times_by_block([t for t in counted if str(t.cell.engine) == name], results, metric) for name in engines
    }
    ranks = _ranks(engines, times)
    family, found = family_size(suite), []
    for name in engines:
        if name == reference:
            continue
        said = _pair(times[name], times[reference], family)
        needed = None
        if said.word in (Word.INCONCLUSIVE, Word.INSUFFICIENT):
            needed = blocks_needed(_differences(times[name], times[reference]), family=family)
        found.append(
            EngineVerdict(
                engine=name,
                against=reference,
                metric=metric,
                verdict=said,
                rank=ranks.get(name),
                reference_rank=ranks.get(reference),
                blocks_needed=needed,
                dispersion=_dispersion(times[name], times[reference]),
            )
        )
    return found


def _ranks(engines: list[str], times: Mapping[str, Times]) -> dict[str, RankInterval]:
    pairs = list(combinations(engines, 2))
    found = {(one, other): _pair(times[one], times[other], len(pairs)) for one, other in pairs}
    if any(each.word is Word.INSUFFICIENT for each in found.values()):
        return {}
    return rank_intervals(engines, found)


def _pair(mine: Times, theirs: Times, family: int) -> Verdict:
    blocks = sorted(mine.keys() & theirs.keys())
    return verdict(
        [_difference(mine[b], theirs[b]) for b in blocks],
        family=family,
        times=([mine[b] for b in blocks], [theirs[b] for b in blocks]),
    )


def _differences(mine: Times, theirs: Times) -> NDArray[np.float64]:
    found: NDArray[np.float64] = np.array(
        [_difference(mine[b], theirs[b]) for b in sorted(mine.keys() & theirs.keys())]
    )
    decided: NDArray[np.float64] = found[~np.isnan(found)]
    return decided


def _dispersion(mine: Times, theirs: Times) -> Dispersion | None:
    blocks = sorted(mine.keys() & theirs.keys())
    return dispersion(np.array([mine[b] for b in blocks]), np.array([theirs[b] for b in blocks]))


def _difference(mine: float, theirs: float) -> float:
    """Return ln(mine / theirs); NaN where both failed."""
    if math.isinf(mine) or math.isinf(theirs):
        return math.nan if mine == theirs else math.copysign(math.inf, mine - theirs)
    return math.log(mine) - math.log(theirs)


def times_by_block(trials: Sequence[Trial], results: Mapping[str, Result], metric: str) -> Times:
    """Return times (or another cost) by block, without those in which the trial did not run or was voided.

    A throughput is turned into the time of a sample.
    """
    found: Times = {}
    for trial in trials:
        result = results.get(trial.id)
        measure = result.measures.get(metric) if result else None
        if result is None or measure is None:
            continue
        if result.status in FAILURES:
            found[trial.block] = math.inf
        elif result.status is Status.OK and measure.value:
            found[trial.block] = measure.value if measure.better is Better.LOWER else 1 / measure.value
    return found
