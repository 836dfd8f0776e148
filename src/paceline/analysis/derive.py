"""From raw records to the result of a trial. ``run`` and ``verify`` both call this, and nothing else."""

from paceline.analysis import checks, measures
from paceline.analysis.phases import phase_durations
from paceline.spec.records import Measure, Result
from paceline.spec.trial import Status
from paceline.store.run_directory import TrialRecords


def derive(records: TrialRecords) -> Result:
    """Return status, cause, metrics and flags of a trial."""
    status, cause = _status(records)
    cell = records.trial.cell
    derived: dict[str, Measure]
    if status is Status.OK or (cell.load.many and status is Status.FAILED):
        derived = measures.many_jobs(records) if cell.load.many else measures.one_job(records)
    else:
        derived = measures.unmeasured(cell, f"trial {status}: {cause}")
    return Result(
        trial_id=records.trial.id,
        status=status,
        cause=cause,
        measures=derived,
        phases=phase_durations(records),
        flags=checks.flags(records, derived),
        scheduler=records.load.scheduler if cell.load.many else None,
    )


def _status(records: TrialRecords) -> tuple[Status, str | None]:
    """Return what the conductor saw, else the first failed job, else what the harness's own checks say."""
    if records.ending.status is not Status.OK:
        return records.ending.status, records.ending.cause
    failed = [job for job in records.jobs if job.status is not Status.OK]
    if failed:
        cause = failed[0].cause or "no cause was recorded"
        if len(records.jobs) == 1:
            return failed[0].status, cause
        return (
            Status.FAILED,
            f"{len(failed)} of {len(records.jobs)} jobs did not finish; job {failed[0].job_id}: {cause}",
        )
    if diverged := checks.divergence(records):
        return Status.DIVERGED, diverged
    if broken := checks.broken(records):
        more = f" (and {len(broken) - 1} more)" if len(broken) > 1 else ""
        return Status.INVALID, broken[0] + more
    return Status.OK, None
