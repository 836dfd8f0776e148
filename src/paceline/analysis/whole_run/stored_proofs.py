"""Results and outcomes of proofs that a run directory holds, and outcomes derived again from its records."""

from collections.abc import Callable

from paceline.analysis.same_work.differences import ProofRecords
from paceline.analysis.same_work.proof_outcome import proof_outcome
from paceline.analysis.same_work.proof_trials import RERUNS, reference_trial
from paceline.schema.proof import Proof
from paceline.schema.records import Result
from paceline.schema.run import Run
from paceline.schema.trial import Status, Trial
from paceline.store.run_directory import RunDirectory

ProofReader = Callable[[RunDirectory, Run, Trial], Proof]
"""Returns the outcome of a proof trial of a run."""


def stored_results(directory: RunDirectory, run: Run) -> dict[str, Result]:
    """Return the results that the run directory holds, by trial id."""
    trials = ((trial, directory.trial(trial)) for trial in run.plan)
    return {trial.id: folder.result() for trial, folder in trials if (folder.path / "result.json").exists()}


def stored_proof(directory: RunDirectory, run: Run, proof: Trial) -> Proof:  # noqa: ARG001 - a ProofReader
    """Return the outcome of a proof as it was written down."""
    folder = directory.proof(proof)
    return folder.proof() if folder.has_proof else Proof.unproven("no proof was made yet")


def derived_proof(directory: RunDirectory, run: Run, proof: Trial) -> Proof:
    """Return the outcome of a proof, derived from the records of its two trials."""
    folder, alone = directory.proof(proof), directory.proof(reference_trial(run, proof))
    for trial, who in ((alone, "the single process"), (folder, "the proof trial")):
        if not trial.finished:
            return Proof.unproven(f"{who} has not run")
        result = trial.result()
        if result.status is not Status.OK:
            return Proof.unproven(f"{who} {result.status}: {result.cause}")
    engine, reference = (ProofRecords(trial.records().ranks[0], trial.proof_arrays()) for trial in (folder, alone))
    return proof_outcome(engine, reference, proof.cell, RERUNS)
