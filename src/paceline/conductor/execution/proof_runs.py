"""Running the proofs of same work that a run needs, and remembering reference processes between runs.

A reference process is remembered by all that its work depends on: sources, versions, CPU model and conditions.
"""

import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from paceline.analysis.same_work.proof_trials import proof_trials, reference_trial
from paceline.analysis.whole_run.stored_proofs import derived_proof
from paceline.conductor.planning.workload_facts import sources_digest
from paceline.launchers.environment import cache_dir
from paceline.schema.proof import PROOF_VERSION, ProofPlan
from paceline.schema.records import Scale
from paceline.schema.run import Run
from paceline.schema.trial import Status, Trial
from paceline.store.run_directory import RunDirectory, TrialDirectory


def proofs_in_order(run: Run, directory: RunDirectory) -> Iterator[tuple[Trial, TrialDirectory]]:
    """Yield what is to be run next; whoever takes one runs it before asking for the next, which depends on it."""
    for proof in proof_trials(run):
        reference = reference_trial(run, proof)
        alone, folder = directory.proof(reference), directory.proof(proof)
        cached = _cached_at(run, reference)
        if not alone.finished and not _recall(cached, alone):
            yield reference, alone
            _remember(cached, alone)
        scale = _scale(alone)
        if scale is not None and not folder.finished:
            yield proof.model_copy(update={"proof": ProofPlan(**scale.model_dump())}), folder
        if not folder.has_proof:
            folder.write_proof(derived_proof(directory, run, proof))


def proofs_to_run(run: Run, directory: RunDirectory) -> list[Trial]:
    """Return what ``proofs_in_order`` will yield, as far as that is known before anything has run."""
    open_trials: dict[str, Trial] = {}
    for proof in proof_trials(run):
        reference = reference_trial(run, proof)
        cached = _cached_at(run, reference)
        known = directory.proof(reference).finished or (cached is not None and TrialDirectory(cached).finished)
        open_trials |= {} if known else {reference.id: reference}
        open_trials |= {} if directory.proof(proof).finished else {proof.id: proof}
    return list(open_trials.values())


def _scale(alone: TrialDirectory) -> Scale | None:
    if not alone.finished or alone.result().status is not Status.OK:
        return None
    (rank,) = alone.records(with_arrays=False).ranks[0]
    return rank.proof_scale


def _cached_at(run: Run, reference: Trial) -> Path | None:
    """Return where a reference process is remembered; a custom class may change unseen, so its never is."""
    installed = sources_digest(reference.cell.workload)
    if installed is None:
        return None
    about = [PROOF_VERSION, installed, run.machine.cpu_model, reference.conditions.model_dump_json(), reference.proof]
    digest = hashlib.blake2b(repr(about).encode(), digest_size=8).hexdigest()
    return cache_dir() / "proofs" / f"{reference.id}-{digest}"


def _recall(cached: Path | None, alone: TrialDirectory) -> bool:
    """Copy a remembered reference process into the run, so that the run stays whole by itself."""
    if cached is None or not TrialDirectory(cached).finished:
        return False
    shutil.rmtree(alone.path, ignore_errors=True)
    shutil.copytree(cached, alone.path)
    return True


def _remember(cached: Path | None, alone: TrialDirectory) -> None:
    if cached is None or not alone.finished or alone.result().status is not Status.OK:
        return
    beside = cached.with_name(f".{cached.name}.{os.getpid()}")
    shutil.copytree(alone.path, beside)
    try:
        beside.rename(cached)
    except OSError:  # another run was faster
        shutil.rmtree(beside)
