"""Which proofs of same work a run needs, and in what order they run: each engine once a configuration.

One proof serves all loads and blocks of the same engine, workload, ranks and recipe. The single process that an engine
is compared with takes the same micro-batches, all in one rank; it is remembered between runs by all that it depends on.
"""

import hashlib
import os
import shutil
from collections.abc import Iterator
from pathlib import Path

from paceline.analysis.judgement import judge
from paceline.analysis.proof import Proven
from paceline.bench.facts import installed_with
from paceline.launchers.environment import cache_dir
from paceline.spec.conditions import Conditions
from paceline.spec.engine import EngineName
from paceline.spec.errors import RequestError
from paceline.spec.proof import PROOF_SEED, PROOF_VERSION, STEPS, Part, Proof, ProofPlan
from paceline.spec.records import Scale
from paceline.spec.run import Run
from paceline.spec.suite import Load, Variant
from paceline.spec.trial import Cell, Status, Trial
from paceline.store.run_directory import RunDirectory, TrialDirectory
from paceline.workloads import descriptor

RERUNS = 8
EPOCH = 5.5
"""Global batches that a proof's epoch has, so that the end of an epoch is proven as well."""
_UNTIMED = {"load": Load(), "warm_up_steps": 0, "steps": STEPS[Part.TRAINING], "evaluate": False, "peak": None}


def proof_trial(run: Run, cell: Cell) -> Trial | None:
    """Return the trial that proves a cell's work; None for the fake engine, which does none."""
    if _is_fake(cell.workload):
        return None
    epoch = int(EPOCH * cell.global_batch)
    proven = cell.model_copy(update={**_UNTIMED, "samples": min(cell.samples or epoch, epoch)})
    return _trial(run, "proof", proven, ProofPlan())


def reference_trial(run: Run, proof: Trial) -> Trial:
    """Return the trial of the single process that a proof is compared with: every rank's micro-batches in one rank."""
    alone = proof.cell.model_copy(
        update={
            "engine": EngineName("python", "single"),
            "variant": Variant(),
            "ranks": 1,
            "cores_per_rank": 1,
            "accumulation": proof.cell.ranks * proof.cell.accumulation,
        }
    )
    trial = _trial(run, "alone", alone, ProofPlan(reference=True, reruns=RERUNS))
    # Whatever the engines' conditions: there is one right answer.
    return trial.model_copy(update={"conditions": Conditions()})


def proof_trials(run: Run) -> list[Trial]:
    """Return every proof that the run needs, once, in the order of its plan; none where the suite asks for none."""
    if not run.suite.proofs:
        return []
    cells = {trial.cell.id: trial.cell for trial in run.plan}
    found = (proof_trial(run, cell) for cell in cells.values())
    return list({proof.id: proof for proof in found if proof is not None}.values())


def proofs(run: Run, directory: RunDirectory) -> Iterator[tuple[Trial, TrialDirectory]]:
    """Yield what is to be run next; whoever takes one runs it before asking for the next, which depends on it."""
    for proof in proof_trials(run):
        reference = reference_trial(run, proof)
        alone, folder = directory.proof(reference), directory.proof(proof)
        kept = _kept_at(run, reference)
        if not alone.finished and not _recall(kept, alone):
            yield reference, alone
            _remember(kept, alone)
        scale = _scale(alone)
        if scale is not None and not folder.finished:
            yield proof.model_copy(update={"proof": ProofPlan(**scale.model_dump())}), folder
        if not folder.judged:
            folder.write_proof(judgement(directory, run, proof))


def to_do(run: Run, directory: RunDirectory) -> list[Trial]:
    """Return what ``proofs`` will yield, as far as that is known before anything has run."""
    found: dict[str, Trial] = {}
    for proof in proof_trials(run):
        reference = reference_trial(run, proof)
        kept = _kept_at(run, reference)
        known = directory.proof(reference).finished or (kept is not None and TrialDirectory(kept).finished)
        found |= {} if known else {reference.id: reference}
        found |= {} if directory.proof(proof).finished else {proof.id: proof}
    return list(found.values())


def judgement(directory: RunDirectory, run: Run, proof: Trial) -> Proof:
    """Derive a proof's outcome from the records of its two trials."""
    folder, alone = directory.proof(proof), directory.proof(reference_trial(run, proof))
    for trial, who in ((alone, "the single process"), (folder, "the proof trial")):
        if not trial.finished:
            return Proof.unproven(f"{who} has not run")
        result = trial.result()
        if result.status is not Status.OK:
            return Proof.unproven(f"{who} {result.status}: {result.cause}")
    mine, theirs = (Proven(trial.records().ranks[0], trial.proof_arrays()) for trial in (folder, alone))
    return judge(mine, theirs, proof.cell, RERUNS)


def _is_fake(workload: str) -> bool:
    """Return whether a workload trains nothing; one that is not installed here, where a run is only read, does."""
    try:
        return not descriptor.is_own(workload) and descriptor.get(workload).selftest_only
    except RequestError:
        return False


def _trial(run: Run, kind: str, cell: Cell, plan: ProofPlan) -> Trial:
    more = [f"{cell.cores_per_rank}c"] if cell.cores_per_rank > 1 else []
    shape = f"{cell.ranks}r-{cell.accumulation}x{cell.micro_batch}"
    name = [cell.workload.replace(":", "."), cell.tier, cell.engine.slug, shape, *more, cell.recipe, cell.dataset]
    return Trial(
        id="-".join([kind, *name, cell.incomplete_batch, str(cell.samples)]),
        cell=cell,
        block=0,
        position=0,
        seed=PROOF_SEED,
        conditions=run.conditions.model_copy(update={"threads_per_rank": cell.cores_per_rank}),
        devices=next(t.devices for t in run.plan if t.cell.tier == cell.tier),
        proof=plan,
    )


def _scale(alone: TrialDirectory) -> Scale | None:
    if not alone.finished or alone.result().status is not Status.OK:
        return None
    (rank,) = alone.records(with_arrays=False).ranks[0]
    return rank.proof_scale


def _kept_at(run: Run, reference: Trial) -> Path | None:
    """Return where a single process is remembered; a user's own class may change unseen, so it never is."""
    installed = installed_with(reference.cell.workload)
    if installed is None:
        return None
    about = [PROOF_VERSION, installed, run.machine.cpu_model, reference.conditions.model_dump_json(), reference.proof]
    digest = hashlib.blake2b(repr(about).encode(), digest_size=8).hexdigest()
    return cache_dir() / "proofs" / f"{reference.id}-{digest}"


def _recall(kept: Path | None, alone: TrialDirectory) -> bool:
    """Copy a remembered single process into the run, so that the run stays whole by itself."""
    if kept is None or not TrialDirectory(kept).finished:
        return False
    shutil.rmtree(alone.path, ignore_errors=True)
    shutil.copytree(kept, alone.path)
    return True


def _remember(kept: Path | None, alone: TrialDirectory) -> None:
    if kept is None or not alone.finished or alone.result().status is not Status.OK:
        return
    beside = kept.with_name(f".{kept.name}.{os.getpid()}")
    shutil.copytree(alone.path, beside)
    try:
        beside.rename(kept)
    except OSError:  # another run was faster
        shutil.rmtree(beside)
