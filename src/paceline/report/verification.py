"""Derives every printed number again from the raw records, and reports where it disagrees with the stored one."""

from collections.abc import Iterator

from paceline.analysis.one_trial.derive import derive
from paceline.analysis.one_trial.job_times import rank_times
from paceline.analysis.same_work.proof_trials import proof_trials
from paceline.analysis.whole_run.stored_proofs import derived_proof, stored_proof, stored_results
from paceline.analysis.whole_run.view import view_run
from paceline.errors import RecordError
from paceline.report.document import document
from paceline.schema.model import Model
from paceline.schema.proof import Proof
from paceline.schema.records import Result
from paceline.schema.run import Run
from paceline.schema.trial import Trial
from paceline.schema.trial_records import TrialRecords
from paceline.store.run_directory import RunDirectory


class Verification(Model):
    """How much was derived again, and what disagrees."""

    trials: int
    proofs: int
    numbers: int
    disagreements: list[str]
    """Each in words, with the trial; empty where all agree."""


def verify_run(directory: RunDirectory) -> Verification:
    """Derive results, job times, proofs and the whole document again from the ranks' events and step boundaries."""
    run = directory.run()
    stored: dict[str, Result] = {}
    derived: dict[str, Result] = {}
    disagreements: list[str] = []
    try:
        stored = stored_results(directory, run)
    except RecordError as error:
        disagreements.append(str(error))
    for trial in run.plan:
        if trial.id not in stored:
            continue
        try:
            records = directory.trial(trial).records()
            derived[trial.id] = derive(records)
        except RecordError as error:
            disagreements.append(f"{trial.id}: {error}")
            continue
        disagreements += [
            f"{trial.id}: {text}"
            for text in _trial_disagreements(run, trial, records, stored[trial.id], derived[trial.id])
        ]
    proofs = [trial for trial in proof_trials(run) if directory.proof(trial).has_proof]
    for trial in proofs:
        disagreements += [f"{trial.id}: {text}" for text in _proof_disagreements(directory, run, trial)]
    if not disagreements:
        stored_document = document(view_run(directory, stored))
        derived_document = document(view_run(directory, derived, _proof_derived_again))
        if stored_document != derived_document:
            disagreements.append("the document of the stored results is not that of the derived ones")
    numbers = sum(m.value is not None for result in stored.values() for m in result.measures.values())
    return Verification(trials=len(stored), proofs=len(proofs), numbers=numbers, disagreements=disagreements)


def _proof_derived_again(directory: RunDirectory, run: Run, trial: Trial) -> Proof:
    """Derive a proof's outcome again; a proof without a stored outcome stays ``unproven``."""
    return (
        derived_proof(directory, run, trial)
        if directory.proof(trial).has_proof
        else stored_proof(directory, run, trial)
    )


def _proof_disagreements(directory: RunDirectory, run: Run, trial: Trial) -> Iterator[str]:
    try:
        stored, derived = stored_proof(directory, run, trial), derived_proof(directory, run, trial)
    except RecordError as error:
        yield str(error)
        return
    for name in Proof.model_fields:
        old, new = getattr(stored, name), getattr(derived, name)
        if old != new:
            yield f"{name} is {old!r} in proof.json, the records give {new!r}"


def _trial_disagreements(
    run: Run, trial: Trial, records: TrialRecords, stored: Result, derived: Result
) -> Iterator[str]:
    if records.trial != trial:
        yield "trial.json is not the trial that run.json planned"
    for job in records.jobs:
        times = rank_times(records.ranks[job.job_id])
        for name, value in times.model_dump().items():
            if getattr(job, name) != value:
                yield f"job {job.job_id}: {name} is {getattr(job, name)} in jobs.jsonl, ranks say {value}"
    if stored.measuring_version != run.measuring_version:
        yield f"measured by version {stored.measuring_version}, the run by {run.measuring_version}"
    for name in dict.fromkeys((*stored.measures, *derived.measures)):
        old, new = stored.measures.get(name), derived.measures.get(name)
        if old != new:
            old_value, new_value = (m.value if m else "absent" for m in (old, new))
            yield f"{name} is {old_value} in result.json, the records give {new_value}"
    for name in ("status", "cause", "phases", "flags", "scheduler", "trial_id"):
        if getattr(stored, name) != getattr(derived, name):
            yield f"{name} is {getattr(stored, name)!r} in result.json, the records give {getattr(derived, name)!r}"
