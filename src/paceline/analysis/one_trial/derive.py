"""From raw records to the result of a trial: the one function that both ``run`` and ``verify`` call."""

from paceline.analysis.one_trial import checks, metrics
from paceline.analysis.one_trial.flags import flags
from paceline.analysis.one_trial.phases import phase_durations
from paceline.analysis.same_work.proof_outcome import end_proof_outcome
from paceline.schema.records import Measure, Result
from paceline.schema.trial import Status
from paceline.schema.trial_records import TrialRecords


def derive(records: TrialRecords) -> Result:
    """Return status, cause, metrics, phases and flags of a trial; ``invalid`` where records contradict each other."""
    try:
        return _derive(records, *_status(records))
    except (ValueError, TypeError, KeyError) as error:
        return _derive(records, Status.INVALID, f"the records contradict each other: {error}")


def _derive(records: TrialRecords, status: Status, cause: str | None) -> Result:
    cell = records.trial.cell
    if records.trial.proof is not None:
        return Result(trial_id=records.trial.id, status=status, cause=cause, measures={})
    derived: dict[str, Measure]
    if status is Status.OK or (cell.load.many and status is Status.FAILED):
        derived = metrics.many_jobs(records) if cell.load.many else metrics.one_job(records)
    else:
        derived = metrics.unmeasured(cell, f"trial {status}: {cause}")
    return Result(
        trial_id=records.trial.id,
        status=status,
        cause=cause,
        measures=derived,
        phases=phase_durations(records),
        flags=flags(records, derived),
        end=end_proof_outcome(records) if status is Status.OK else None,
        scheduler=records.load.scheduler if cell.load.many else None,
    )


def _status(records: TrialRecords) -> tuple[Status, str | None]:
    """Return the status of the first that failed: the trial as the conductor saw it, a job, a check of the records."""
    if records.ending.status is not Status.OK:
        return records.ending.status, records.ending.cause
    if len(records.jobs) != records.trial.cell.load.jobs:
        return Status.INVALID, f"{len(records.jobs)} jobs were recorded, {records.trial.cell.load.jobs} were planned"
    failed = [job for job in records.jobs if job.status is not Status.OK]
    if failed:
        cause = failed[0].cause or "no cause was recorded"
        if len(records.jobs) == 1:
            return failed[0].status, cause
        return (
            Status.FAILED,
            f"{len(failed)} of {len(records.jobs)} jobs did not finish; job {failed[0].job_id}: {cause}",
        )
    return _timed_status(records) if records.trial.proof is None else _proof_status(records)


def _proof_status(records: TrialRecords) -> tuple[Status, str | None]:
    """Return whether every rank of a proof trial wrote all of its parts; ``proof_outcome`` compares the parts."""
    ranks = records.ranks[0]
    if len(ranks) != records.trial.cell.ranks or any(rank.done_ns is None for rank in ranks):
        return Status.INVALID, "a rank's record of the proof ends before it was done"
    return Status.OK, None


def _timed_status(records: TrialRecords) -> tuple[Status, str | None]:
    """Return the status of a timed trial that ended well: its losses must be finite and all checks must hold."""
    if diverged := checks.divergence(records):
        return Status.DIVERGED, diverged
    if broken := checks.broken(records):
        more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
        return Status.INVALID, broken[0] + more
    return Status.OK, None
