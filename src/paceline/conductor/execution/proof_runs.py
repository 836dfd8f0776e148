"""The proofs of same work that a run needs, and the cache of reference processes.

A reference process is found in the cache by all that its work depends on: sources, versions, CPU model and conditions.
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
    """Yield each proof trial that must be run, after the reference process that it is compared with.

    The caller must run each yielded trial before it asks for the next, which depends on its results. The outcome of a
    proof is written when the caller asks for the trial after it.
    """
    for proof in proof_trials(run):
        reference = reference_trial(run, proof)
        reference_folder, folder = directory.proof(reference), directory.proof(proof)
        cached_path = _cached_path(run, reference)
        if not reference_folder.finished and not _copy_from_cache(cached_path, reference_folder):
            yield reference, reference_folder
            _copy_to_cache(cached_path, reference_folder)
        scale = _scale(reference_folder)
        if scale is not None and not folder.finished:
            yield proof.model_copy(update={"proof": ProofPlan(**scale.model_dump())}), folder
        if not folder.has_proof:
            folder.write_proof(derived_proof(directory, run, proof))


def proofs_to_run(run: Run, directory: RunDirectory) -> list[Trial]:
    """Return the trials that ``proofs_in_order`` will yield, if no reference process fails."""
    unfinished: dict[str, Trial] = {}
    for proof in proof_trials(run):
        reference = reference_trial(run, proof)
        cached_path = _cached_path(run, reference)
        is_cached = cached_path is not None and TrialDirectory(cached_path).finished
        if not directory.proof(reference).finished and not is_cached:
            unfinished[reference.id] = reference
        if not directory.proof(proof).finished:
            unfinished[proof.id] = proof
    return list(unfinished.values())


def _scale(reference_folder: TrialDirectory) -> Scale | None:
    """Return the scale that a reference process has set for its engines; None when it failed or has not run."""
    if not reference_folder.finished or reference_folder.result().status is not Status.OK:
        return None
    (rank,) = reference_folder.records(with_arrays=False).ranks[0]
    return rank.proof_scale


def _cached_path(run: Run, reference: Trial) -> Path | None:
    """Return the folder of a reference process in the cache; None for custom workloads, which are not cached."""
    sources = sources_digest(reference.cell.workload)
    if sources is None:
        return None
    key = [PROOF_VERSION, sources, run.machine.cpu_model, reference.conditions.model_dump_json(), reference.proof]
    digest = hashlib.blake2b(repr(key).encode(), digest_size=8).hexdigest()
    return cache_dir() / "proofs" / f"{reference.id}-{digest}"


def _copy_from_cache(cached_path: Path | None, reference_folder: TrialDirectory) -> bool:
    """Copy a reference process from the cache into the run, which must be whole without the cache.

    Return False when the cache does not have it.
    """
    if cached_path is None or not TrialDirectory(cached_path).finished:
        return False
    shutil.rmtree(reference_folder.path, ignore_errors=True)
    shutil.copytree(cached_path, reference_folder.path)
    return True


def _copy_to_cache(cached_path: Path | None, reference_folder: TrialDirectory) -> None:
    """Copy a reference process that has succeeded into the cache."""
    if cached_path is None or not reference_folder.finished or reference_folder.result().status is not Status.OK:
        return
    partial = cached_path.with_name(f".{cached_path.name}.{os.getpid()}")
    shutil.copytree(reference_folder.path, partial)
    try:
        partial.rename(cached_path)
    except OSError:  # another run has put it there meanwhile
        shutil.rmtree(partial)
