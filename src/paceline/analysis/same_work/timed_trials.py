"""Whether timed trials did the work that was proven (docs/method.md, "Same work").

Losses that agree are a screen, not a proof: under AdamW they hide gradients that are scaled wrongly. Proof trials say
what is the same work (``proof_outcome.py``); a timed trial must not part from what they proved.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from itertools import chain, zip_longest

import numpy as np
from numpy.typing import NDArray

from paceline.schema.model import Model
from paceline.schema.proof import Proof, WorkOutcome
from paceline.schema.records import SCREENED_STEPS, LiveSettings, RankRecord
from paceline.schema.suite import Recipe
from paceline.schema.trial_records import TrialRecords

LOSS_TOLERANCE = {Recipe.FP32: 1e-4, Recipe.AMP: 2**-8, Recipe.BF16_MASTER: 2**-8}
"""Largest relative difference of losses that is no difference of work. In fp32 the same work agrees to about 1e-6 over
twelve steps, and clipping at 1.0 shows as 1e-1. bf16 keeps eight bits: rounding in another order may move a loss by its
unit roundoff 2^-8 (3e-4 was seen)."""


class SameWork(Model):
    """What is known of a cell's work beside that of the reference engine."""

    outcome: WorkOutcome
    steps: int
    max_relative_difference: float | None
    cause: str
    end: Proof | None = None
    """Outcome of ``Part.END`` after the window of a timed trial; null where none was wanted or none has ended well."""


NOT_OF_THE_WORK = {"dropout", "optimiser_parameters_local", "optimiser_steps"}
"""Live settings in which timed trials may differ from proofs: proofs train without dropout and for other steps, and
shards differ by rank."""

NO_WORK = SameWork(
    outcome=WorkOutcome.UNPROVEN, steps=0, max_relative_difference=None, cause="no finished trials to compare"
)


@dataclass(frozen=True)
class _Work:
    """What the finished jobs of a trial consumed and gave."""

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
    engine, other = _work(trial), _work(reference)
    if not engine.losses or not other.losses:
        return NO_WORK.model_copy(update={"cause": "no losses were recorded"})
    same_layout = trial.trial.cell.layout == reference.trial.cell.layout
    # Other thread counts add up in another order, and batch statistics carry that to 1e-1 within ten steps: without
    # the same layout only the first loss, which no update has touched, can be held against an engine.
    steps = min(SCREENED_STEPS if same_layout else 1, *(len(x) for x in (*engine.losses, *other.losses)))
    differences = [
        float(np.max(np.abs(a[:steps] - b[:steps]) / np.maximum(np.abs(b[:steps]), 1e-12)))
        for a, b in zip(engine.losses, other.losses, strict=False)
    ]
    worst = max(differences)
    same_ranks = trial.trial.cell.ranks == reference.trial.cell.ranks
    against = str(reference.trial.cell.engine)
    outcome = WorkOutcome.DIFFERENT
    if engine.weights != other.weights:
        cause = f"initial weights differ from those of {against}"
    elif engine.indices != other.indices if same_ranks else engine.first_batches != other.first_batches:
        cause = f"ranks consumed other samples than those of {against}"
    elif worst > LOSS_TOLERANCE[trial.trial.cell.recipe]:
        cause = f"losses part from those of {against} by {worst:.1e} within {steps} step{'s' if steps > 1 else ''}"
    else:
        outcome = WorkOutcome.UNPROVEN
        losses = f"{steps} losses" if steps > 1 else "the first loss"
        cause = f"initial weights, samples and {losses} agree with {against}; no proof was made"
    return SameWork(outcome=outcome, steps=steps, max_relative_difference=worst, cause=cause)


def worst_work(compared: list[SameWork]) -> SameWork:
    """Return the finding of the block that differs most: one block that did other work spoils the row."""
    return max(
        compared,
        key=lambda w: (w.outcome is WorkOutcome.DIFFERENT, w.max_relative_difference or 0.0),
        default=NO_WORK,
    )


def proven_work(
    proof: Proof, proven: LiveSettings | None, trials: Sequence[TrialRecords], screen: SameWork, ends: Sequence[Proof]
) -> SameWork:
    """Return what proofs say of a cell's timed trials: they must run on the proven settings and pass the screen."""
    end = max(ends, key=lambda e: e.outcome.severity, default=None)
    work = SameWork(**proof.model_dump(), end=end)
    if work.outcome is not WorkOutcome.EQUAL:
        return work
    if end is not None and end.outcome is WorkOutcome.DIFFERENT:
        return work.model_copy(update={"outcome": WorkOutcome.DIFFERENT, "cause": end.cause})
    if screen.outcome is WorkOutcome.DIFFERENT:
        return screen
    unproven = sorted({text for trial in trials for text in _unproven_settings(trial, proven)})
    if unproven:
        cause = f"timed trials are not as proven: {unproven[0]}"
        return work.model_copy(update={"outcome": WorkOutcome.DIFFERENT, "cause": cause})
    return work


def _unproven_settings(trial: TrialRecords, proven: LiveSettings | None) -> Iterator[str]:
    """Yield each live setting in which a rank of a timed trial is not as it was in the proof."""
    wanted = proven.model_dump() if proven else {}
    for ranks in trial.ranks.values():
        for rank in ranks:
            live = rank.live.model_dump() if rank.live else {}
            for name in wanted.keys() & live.keys() - NOT_OF_THE_WORK:
                if live[name] != wanted[name]:
                    yield f"{name} is {live[name]}, {wanted[name]} was proven"


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


def loss_table(trials: Sequence[TrialRecords], steps: int) -> list[tuple[float | None, ...]]:
    """Return rows of losses of job 0, one a step, one column a trial; None where a trial has fewer steps."""
    columns = [
        [float(x) for x in global_losses(t.ranks[0])[:steps]] if t.ranks.get(0) and t.ranks[0][0].losses else []
        for t in trials
    ]
    return list(zip_longest(*columns))
