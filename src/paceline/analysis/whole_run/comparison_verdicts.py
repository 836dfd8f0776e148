"""The verdicts of one comparison: all engines against the reference engine, ranks from all pairs (docs/verdicts.md)."""

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
"""Number of a block to a time, in the unit of its metric; infinite for a failure."""


class EngineVerdict(Model):
    """One engine of a comparison against the reference engine."""

    engine: str
    against: str
    metric: str
    verdict: Verdict
    rank: RankInterval | None
    """The engine's rank among those that may be ranked; null where a pair of them has too few blocks."""
    reference_rank: RankInterval | None
    """The rank of the reference engine, in the same way."""
    blocks_needed: int | None = None
    """For an undecided pair: the length of a run that would probably decide, estimated from the blocks so far."""
    dispersion: Dispersion | None = None
    """Whether launches vary more than the reference engine's; null for too few blocks."""


def family_size(suite: Suite) -> int:
    """Return how many pairs of an engine and its reference engine share the suite's error."""
    confirmatory = (definition for definition in suite.comparisons if definition.confirmatory_metric)
    return max(1, sum(len(definition.engines) - 1 for definition in confirmatory))


def comparison_verdicts(
    suite: Suite,
    index: int,
    reference: str,
    trials: Sequence[Trial],
    results: Mapping[str, Result],
    admitted: Mapping[str, bool],
    excluded: Container[Block],
) -> list[EngineVerdict]:
    """Return one entry for each admitted engine other than the reference engine, in the suite's order.

    ``index``: number of the comparison in the suite. ``admitted``: engine to whether it is proven to do the same work
    under the same conditions. The result is empty unless the reference engine is admitted. ``excluded``: blocks that do
    not count.
    """
    definition = suite.comparisons[index]
    metric = definition.confirmatory_metric
    if metric is None or not admitted.get(reference, False):
        return []
    engines = [str(e) for e in definition.engines if admitted.get(str(e), False)]
    counted = [t for t in trials if t.cell.comparison == index and (index, t.block) not in excluded]
    times = {
        name: times_by_block([t for t in counted if str(t.cell.engine) == name], results, metric) for name in engines
    }
    ranks = _ranks(engines, times)
    family = family_size(suite)
    verdicts = []
    for name in engines:
        if name == reference:
            continue
        pair = _pair_verdict(times[name], times[reference], family)
        needed = None
        if pair.word in (Word.INCONCLUSIVE, Word.INSUFFICIENT):
            needed = blocks_needed(_differences(times[name], times[reference]), family=family)
        verdicts.append(
            EngineVerdict(
                engine=name,
                against=reference,
                metric=metric,
                verdict=pair,
                rank=ranks.get(name),
                reference_rank=ranks.get(reference),
                blocks_needed=needed,
                dispersion=_dispersion(times[name], times[reference]),
            )
        )
    return verdicts


def _ranks(engines: list[str], times: Mapping[str, Times]) -> dict[str, RankInterval]:
    """Return rank intervals, which share an error of their own; empty where a pair has too few blocks."""
    pairs = list(combinations(engines, 2))
    verdicts = {(one, other): _pair_verdict(times[one], times[other], len(pairs)) for one, other in pairs}
    if any(each.word is Word.INSUFFICIENT for each in verdicts.values()):
        return {}
    return rank_intervals(engines, verdicts)


def _pair_verdict(engine: Times, reference: Times, family: int) -> Verdict:
    blocks = _common_blocks(engine, reference)
    return verdict(
        [_difference(engine[b], reference[b]) for b in blocks],
        family=family,
        times=([engine[b] for b in blocks], [reference[b] for b in blocks]),
    )


def _differences(engine: Times, reference: Times) -> NDArray[np.float64]:
    """Return the differences of all blocks in which at least one of the engines finished."""
    blocks = _common_blocks(engine, reference)
    differences: NDArray[np.float64] = np.array([_difference(engine[b], reference[b]) for b in blocks])
    counted: NDArray[np.float64] = differences[~np.isnan(differences)]
    return counted


def _dispersion(engine: Times, reference: Times) -> Dispersion | None:
    blocks = _common_blocks(engine, reference)
    return dispersion(np.array([engine[b] for b in blocks]), np.array([reference[b] for b in blocks]))


def _common_blocks(engine: Times, reference: Times) -> list[int]:
    return sorted(engine.keys() & reference.keys())


def _difference(engine: float, reference: float) -> float:
    """Return ln(engine / reference) of two times; NaN where both failed."""
    if math.isinf(engine) or math.isinf(reference):
        return math.nan if engine == reference else math.copysign(math.inf, engine - reference)
    return math.log(engine) - math.log(reference)


def times_by_block(trials: Sequence[Trial], results: Mapping[str, Result], metric: str) -> Times:
    """Return the values of a metric by block, so that less is better: a throughput becomes the time of a sample.

    Blocks are left out where the trial did not run or ended through no fault of its engine.
    """
    times: Times = {}
    for trial in trials:
        result = results.get(trial.id)
        measure = result.measures.get(metric) if result else None
        if result is None or measure is None:
            continue
        if result.status in FAILURES:
            times[trial.block] = math.inf
        elif result.status is Status.OK and measure.value:
            times[trial.block] = measure.value if measure.better is Better.LOWER else 1 / measure.value
    return times
