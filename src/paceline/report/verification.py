"""Deriving every printed number again from the raw records, and saying where it disagrees with what is stored."""

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
    """What was checked and what disagrees."""

    trials: int
    proofs: int
    numbers: int
    disagreements: list[str]


def verify_run(directory: RunDirectory) -> Verification:
    """Derive results, job times and the whole document again from ranks' events and step boundaries."""
    run = directory.run()
    stored: dict[str, Result] = {}
    derived: dict[str, Result] = {}
    found: list[str] = []
    try:
        stored = stored_results(directory, run)
    except RecordError as error:
        found.append(str(error))
    for trial in run.plan:
        if trial.id not in stored:
            continue
        try:
            records = directory.trial(trial).records()
            derived[trial.id] = derive(records)
        except RecordError as error:
            found.append(f"{trial.id}: {error}")
            continue
        found += [
            f"{trial.id}: {text}" for text in _disagreements(run, trial, records, stored[trial.id], derived[trial.id])
        ]
    proven = [trial for trial in proof_trials(run) if directory.proof(trial).has_proof]
    for trial in proven:
        found += [f"{trial.id}: {text}" for text in _proof_disagreements(directory, run, trial)]
    if not found and document(view_run(directory, stored)) != document(
        view_run(directory, derived, _proof_derived_again)
    ):
        found.append("the document of the stored results is not that of the derived ones")
    numbers = sum(m.value is not None for result in stored.values() for m in result.measures.values())
    return Verification(trials=len(stored), proofs=len(proven), numbers=numbers, disagreements=found)


def _proof_derived_again(directory: RunDirectory, run: Run, trial: Trial) -> Proof:
    """Derive a proof's outcome again; a proof that has none stays without."""
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
        said, given = getattr(stored, name), getattr(derived, name)
        if said != given:
            yield f"{name} is {said!r} in proof.json, the records give {given!r}"


def _disagreements(run: Run, trial: Trial, records: TrialRecords, stored: Result, derived: Result) -> Iterator[str]:
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
            said, given = (m.value if m else "absent" for m in (old, new))
            yield f"{name} is {said} in result.json, the records give {given}"
    for name in ("status", "cause", "phases", "flags", "scheduler", "trial_id"):
        if getattr(stored, name) != getattr(derived, name):
            yield f"{name} is {getattr(stored, name)!r} in result.json, the records give {getattr(derived, name)!r}"
