"""Whether timed trials did the work that was proven (docs/method.md, "Same work").

Losses that agree are a screen, not a proof: under AdamW they hide gradients that are scaled wrongly. Proof trials show
whether an engine does the same work (``proof_outcome.py``). Timed trials must run on the settings that were proven, and
their losses must agree with those of the reference engine.
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
"""Largest relative difference of losses that may still be the same work. In fp32 the same work agrees to about 1e-6
over twelve steps, and clipping at 1.0 shows as 1e-1. bf16 keeps eight bits: rounding in another order may move a loss
by its unit roundoff 2^-8 (3e-4 was seen)."""


class SameWork(Model):
    """The work of a cell's timed trials compared with that of the reference engine's, and the outcome of its proof."""

    outcome: WorkOutcome
    steps: int
    max_relative_difference: float | None
    cause: str
    end: Proof | None = None
    """Outcome of ``Part.END`` after the window of a timed trial; null where no trial with this part has ended well."""


NOT_OF_THE_WORK = {"dropout", "optimiser_parameters_local", "optimiser_steps"}
"""Live settings in which timed trials may differ from proofs: proofs train without dropout and for another number of
steps, and the sizes of shards differ by rank."""

NO_WORK = SameWork(
    outcome=WorkOutcome.UNPROVEN, steps=0, max_relative_difference=None, cause="no finished trials to compare"
)


@dataclass(frozen=True)
class _Work:
    """The initial weights, consumed samples and losses of a trial's finished jobs."""

    losses: list[NDArray[np.float64]]
    weights: list[str | None]
    indices: list[str]
    """Digests of all samples, one a rank."""
    first_batches: list[list[list[int]]]
    """Sorted samples of each of the first steps, all ranks of a job together. They compare cells that have different
    numbers of ranks."""


def global_losses(ranks: Sequence[RankRecord]) -> NDArray[np.float64]:
    """Return the mean loss over ranks, shape (steps,)."""
    mean: NDArray[np.float64] = np.mean([r.losses for r in ranks], axis=0)
    return mean


def compare_work(trial: TrialRecords, reference: TrialRecords) -> SameWork:
    """Compare initial weights, consumed samples and the first losses of two trials of one block, job by job.

    The best outcome is ``unproven``: agreement of two timed trials is no proof.
    """
    engine_work, reference_work = _work(trial), _work(reference)
    if not engine_work.losses or not reference_work.losses:
        return NO_WORK.model_copy(update={"cause": "no losses were recorded"})
    same_layout = trial.trial.cell.layout == reference.trial.cell.layout
    # Another number of threads adds up in another order, and batch statistics amplify the rounding to 1e-1 within ten
    # steps. Between layouts only the first loss, before any update, can therefore be compared.
    steps = min(SCREENED_STEPS if same_layout else 1, *(len(x) for x in (*engine_work.losses, *reference_work.losses)))
    differences = [
        float(np.max(np.abs(losses[:steps] - right[:steps]) / np.maximum(np.abs(right[:steps]), 1e-12)))
        for losses, right in zip(engine_work.losses, reference_work.losses, strict=False)
    ]
    worst = max(differences)
    against = str(reference.trial.cell.engine)
    if trial.trial.cell.ranks == reference.trial.cell.ranks:
        same_samples = engine_work.indices == reference_work.indices
    else:
        same_samples = engine_work.first_batches == reference_work.first_batches
    outcome = WorkOutcome.DIFFERENT
    if engine_work.weights != reference_work.weights:
        cause = f"initial weights differ from those of {against}"
    elif not same_samples:
        cause = f"ranks consumed other samples than those of {against}"
    elif worst > LOSS_TOLERANCE[trial.trial.cell.recipe]:
        cause = f"losses part from those of {against} by {worst:.1e} within {steps} step{'s' if steps > 1 else ''}"
    else:
        outcome = WorkOutcome.UNPROVEN
        losses = f"{steps} losses" if steps > 1 else "the first loss"
        cause = f"initial weights, samples and {losses} agree with {against}; no proof was made"
    return SameWork(outcome=outcome, steps=steps, max_relative_difference=worst, cause=cause)


def worst_work(compared: list[SameWork]) -> SameWork:
    """Return the comparison of the block that differs most: one block of other work spoils the row."""
    return max(
        compared,
        key=lambda w: (w.outcome is WorkOutcome.DIFFERENT, w.max_relative_difference or 0.0),
        default=NO_WORK,
    )


def proven_work(
    proof: Proof, proven: LiveSettings | None, trials: Sequence[TrialRecords], screen: SameWork, ends: Sequence[Proof]
) -> SameWork:
    """Return the outcome for a cell's timed trials, which must run on the proven settings and pass the screen.

    ``proof``: the outcome of the cell's proof trial. ``proven``: the live settings of that trial, where it was equal.
    ``screen``: the worst comparison of losses. ``ends``: outcomes of ``Part.END`` in the timed trials.
    """
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
    """Yield each live setting of a timed trial's ranks that differs from the one in the proof."""
    proven_settings = proven.model_dump() if proven else {}
    for ranks in trial.ranks.values():
        for rank in ranks:
            live = rank.live.model_dump() if rank.live else {}
            for name in proven_settings.keys() & live.keys() - NOT_OF_THE_WORK:
                if live[name] != proven_settings[name]:
                    yield f"{name} is {live[name]}, {proven_settings[name]} was proven"


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
    """Return the first losses of job 0: a row a step, a column a trial, None where a trial has fewer steps."""
    columns = [
        [float(x) for x in global_losses(t.ranks[0])[:steps]] if t.ranks.get(0) and t.ranks[0][0].losses else []
        for t in trials
    ]
    return list(zip_longest(*columns))
