"""Results and outcomes of proofs: read from a run directory, or derived again from its records."""

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
"""Returns the outcome of a run's proof trial: ``stored_proof`` or ``derived_proof``, for example."""


def stored_results(directory: RunDirectory, run: Run) -> dict[str, Result]:
    """Return the results that the run directory holds, by trial id."""
    trials = ((trial, directory.trial(trial)) for trial in run.plan)
    return {trial.id: folder.result() for trial, folder in trials if (folder.path / "result.json").exists()}


def stored_proof(directory: RunDirectory, run: Run, proof: Trial) -> Proof:  # noqa: ARG001 - a ProofReader
    """Return the outcome of a proof as it is stored in the run directory; ``unproven`` where none is."""
    folder = directory.proof(proof)
    return folder.proof() if folder.has_proof else Proof.unproven("no proof was made yet")


def derived_proof(directory: RunDirectory, run: Run, proof: Trial) -> Proof:
    """Return the outcome of a proof, derived from the records of the engine and of the reference process."""
    engine_folder, reference_folder = directory.proof(proof), directory.proof(reference_trial(run, proof))
    for name, folder in (("the single process", reference_folder), ("the proof trial", engine_folder)):
        if not folder.finished:
            return Proof.unproven(f"{name} has not run")
        result = folder.result()
        if result.status is not Status.OK:
            return Proof.unproven(f"{name} {result.status}: {result.cause}")
    engine, reference = (
        ProofRecords(folder.records().ranks[0], folder.proof_arrays()) for folder in (engine_folder, reference_folder)
    )
    return proof_outcome(engine, reference, proof.cell, RERUNS)
