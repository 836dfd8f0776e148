"""Whether timed trials did the work that was proven, and under the same conditions (METHOD §11, §12).

Losses that agree are a screen, not a proof: under AdamW they hide gradients that are scaled wrongly. What is the same
work is said by proof trials (``judgement.py``); a timed trial must not part from what they proved.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

import numpy as np
from numpy.typing import NDArray

from paceline.spec.conditions import differing_conditions, soft_differences
from paceline.spec.model import Model
from paceline.spec.proof import Proof
from paceline.spec.records import SCREENED_STEPS, LiveSettings, RankRecord
from paceline.spec.suite import Recipe
from paceline.store.run_directory import TrialRecords

LOSS_TOLERANCE = {Recipe.FP32: 1e-4, Recipe.AMP: 2**-8, Recipe.BF16_MASTER: 2**-8}
"""Relative. In fp32 the same work agrees to about 1e-6 over twelve steps, and clipping at 1.0 shows as 1e-1.
bf16 keeps eight bits: rounding in another order may move a loss by its unit roundoff 2^-8 (3e-4 was seen)."""


class SameWork(Model):
    """What is known of a cell's work against that of the reference engine."""

    outcome: str
    """``equal``, ``different`` or ``unproven``."""
    steps: int
    max_relative_difference: float | None
    cause: str
    end: Proof | None = None
    """Proof C, after the window of a timed trial; null where none was wanted or none has ended well."""


class SameConditions(Model):
    """What is known of a cell's conditions against those of the reference engine."""

    outcome: str
    """``same``, ``different`` or ``unproven``."""
    differences: list[str] = []
    notes: list[str] = []
    """Soft items in which first ranks differ: told, no bar to a ranking."""


NOT_OF_THE_WORK = {"dropout", "optimiser_parameters_local", "optimiser_steps"}
"""Live settings in which timed trials may differ from proofs: those train without dropout and for other steps; shards
differ by rank."""

_SEVERITY = {"equal": 0, "unproven": 1, "different": 2}

NO_WORK = SameWork(outcome="unproven", steps=0, max_relative_difference=None, cause="no finished trials to compare")
NO_CONDITIONS = SameConditions(outcome="unproven")


@dataclass(frozen=True)
class _Work:
    losses: list[NDArray[np.float64]]
    weights: list[str | None]
    indices: list[str]
    """Digests of all samples, one a rank."""
    first_batches: list[list[list[int]]]
    """Sorted samples of each of the first steps, all ranks of a job together: for cells with other ranks."""


def global_losses(ranks: Sequence[RankRecord]) -> NDArray[np.float64]:
    """Return the mean loss over ranks, shape (steps,)."""
    mean: NDArray[np.float64] = np.mean([r.losses for r in ranks], axis=0)
    return mean


def compare_work(trial: TrialRecords, reference: TrialRecords) -> SameWork:
    """Compare initial weights, consumed samples and the first losses of two trials of one block, job by job."""
    mine, theirs = _work(trial), _work(reference)
    if not mine.losses or not theirs.losses:
        return SameWork(outcome="unproven", steps=0, max_relative_difference=None, cause="no losses were recorded")
    same_layout = trial.trial.cell.layout == reference.trial.cell.layout
    # Other thread counts add up in another order, and batch statistics carry that to 1e-1 within ten steps: without
    # the same layout only the first loss, which no update has touched, can be held against an engine.
    steps = min(SCREENED_STEPS if same_layout else 1, *(len(x) for x in (*mine.losses, *theirs.losses)))
    differences = [
        float(np.max(np.abs(a[:steps] - b[:steps]) / np.maximum(np.abs(b[:steps]), 1e-12)))
        for a, b in zip(mine.losses, theirs.losses, strict=False)
    ]
    worst = max(differences)
    same_ranks = trial.trial.cell.ranks == reference.trial.cell.ranks
    against = str(reference.trial.cell.engine)
    if mine.weights != theirs.weights:
        outcome, cause = "different", f"initial weights differ from those of {against}"
    elif mine.indices != theirs.indices if same_ranks else mine.first_batches != theirs.first_batches:
        outcome, cause = "different", f"ranks consumed other samples than those of {against}"
    elif worst > LOSS_TOLERANCE[trial.trial.cell.recipe]:
        outcome, cause = (
            "different",
            f"losses part from those of {against} by {worst:.1e} within {steps} step{'s' if steps > 1 else ''}",
        )
    else:
        outcome = "unproven"
        losses = f"{steps} losses" if steps > 1 else "the first loss"
        cause = f"initial weights, samples and {losses} agree with {against}; no proof was made"
    return SameWork(outcome=outcome, steps=steps, max_relative_difference=worst, cause=cause)


def worst_work(found: list[SameWork]) -> SameWork:
    """Return the finding of the block that differs most: one block that did other work spoils the row."""
    return max(found, key=lambda w: (w.outcome == "different", w.max_relative_difference or 0.0), default=NO_WORK)


def worst_conditions(found: list[SameConditions]) -> SameConditions:
    """Return the finding of the block in which most conditions differ."""
    return max(found, key=lambda c: len(c.differences), default=NO_CONDITIONS)


def proven_work(
    proof: Proof, proven: LiveSettings | None, trials: Sequence[TrialRecords], screen: SameWork, ends: Sequence[Proof]
) -> SameWork:
    """Return what proofs say of a cell's timed trials: they must run on the proven settings and pass the screen."""
    end = max(ends, key=lambda e: _SEVERITY[e.outcome], default=None)
    said = SameWork(**proof.model_dump(), end=end)
    if said.outcome != "equal":
        return said
    if end is not None and end.outcome == "different":
        return said.model_copy(update={"outcome": "different", "cause": end.cause})
    if screen.outcome == "different":
        return screen
    unlike = sorted({text for trial in trials for text in _unlike(trial, proven)})
    if unlike:
        return said.model_copy(update={"outcome": "different", "cause": f"timed trials are not as proven: {unlike[0]}"})
    return said


def _unlike(trial: TrialRecords, proven: LiveSettings | None) -> Iterator[str]:
    """Yield each live setting in which a rank of a timed trial is not as it was in the proof."""
    wanted = proven.model_dump() if proven else {}
    for ranks in trial.ranks.values():
        for rank in ranks:
            found = rank.live.model_dump() if rank.live else {}
            for name in wanted.keys() & found.keys() - NOT_OF_THE_WORK:
                if found[name] != wanted[name]:
                    yield f"{name} is {found[name]}, {wanted[name]} was proven"


def compare_conditions(trial: TrialRecords, reference: TrialRecords) -> SameConditions:
    """Compare what ranks read back; every rank of both trials must agree."""
    mine, theirs = _conditions(trial), _conditions(reference)
    if not mine or not theirs:
        return SameConditions(outcome="unproven")
    base = theirs[0]
    same_layout = trial.trial.cell.layout == reference.trial.cell.layout
    found = {text for items in (*mine, *theirs) for text in differing_conditions(items, base, same_layout=same_layout)}
    return SameConditions(
        outcome="different" if found else "same",
        differences=sorted(found),
        notes=soft_differences(mine[0], base),
    )


def _work(records: TrialRecords) -> _Work:
    finished = [ranks for _, ranks in sorted(records.ranks.items()) if ranks and all(r.losses for r in ranks)]
    return _Work(
        losses=[global_losses(ranks) for ranks in finished],
        weights=[ranks[0].initial_weights_digest for ranks in finished],
        indices=[r.samples.index_digest for ranks in finished for r in ranks if r.samples],
        first_batches=[
            [
                sorted(chain(*shares))
                for shares in zip(*(r.samples.first_steps for r in ranks if r.samples), strict=True)
            ]
            for ranks in finished
        ],
    )


def _conditions(records: TrialRecords) -> list[dict[str, object]]:
    """Return what every rank read back, before the window and after it."""
    read = (c for ranks in records.ranks.values() for r in ranks for c in (r.conditions, r.conditions_at_start))
    return [found for found in read if found is not None]


def loss_table(trials: Sequence[TrialRecords], steps: int) -> list[tuple[float | None, ...]]:
    """Return rows of losses of job 0, one a step, one column a trial; None where a trial has fewer steps."""
    columns = [
        [float(x) for x in global_losses(t.ranks[0])[:steps]] if t.ranks.get(0) and t.ranks[0][0].losses else []
        for t in trials
    ]
    return list(zip_longest(*columns))
