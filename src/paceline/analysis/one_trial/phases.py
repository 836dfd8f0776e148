"""Where the time of a job went, by phase, with the same boundaries for every engine."""

from collections.abc import Sequence
from statistics import median

from paceline.schema.records import JobRecord, Phase, PhaseDuration, RankRecord
from paceline.schema.trial import Status
from paceline.schema.trial_records import TrialRecords

_NS = 1e-9


def phase_durations(records: TrialRecords) -> list[PhaseDuration]:
    """Return the seconds of each phase: of a job's slowest rank, then the median over the finished jobs of a load."""
    jobs = [_job_phases(job, records.ranks[job.job_id]) for job in records.jobs if job.status is Status.OK]
    return [_over_jobs(name, [phases[name] for phases in jobs]) for name in Phase] if jobs else []


def _over_jobs(name: Phase, durations: list[PhaseDuration]) -> PhaseDuration:
    values = [d.seconds for d in durations if d.seconds is not None]
    if not values:
        return durations[0]
    absent = len(durations) - len(values)
    reason = f"{absent} of {len(durations)} jobs have none: {_first_reason(durations)}" if absent else None
    return PhaseDuration(name=name, seconds=median(values), reason=reason)


def _first_reason(durations: list[PhaseDuration]) -> str:
    return next((d.reason for d in durations if d.reason), "no reason was recorded")


def _job_phases(job: JobRecord, ranks: Sequence[RankRecord]) -> dict[Phase, PhaseDuration]:
    """Return all phases of a job. Launch and teardown have one end outside the ranks, in the job's record."""
    phases = {name: _slowest_rank(name, ranks) for name in Phase}
    phases[Phase.LAUNCH] = _between(Phase.LAUNCH, job.submitted_ns, job.started_ns)
    done_ns = max((r.done_ns for r in ranks if r.done_ns), default=None)
    phases[Phase.TEARDOWN] = _between(Phase.TEARDOWN, done_ns, job.released_ns)
    return phases


def _between(name: Phase, start_ns: int | None, end_ns: int | None) -> PhaseDuration:
    if start_ns is None or end_ns is None:
        return PhaseDuration(name=name, seconds=None, reason="the job did not come to it")
    return PhaseDuration(name=name, seconds=(end_ns - start_ns) * _NS)


def _slowest_rank(name: Phase, ranks: Sequence[RankRecord]) -> PhaseDuration:
    spans = [span for rank in ranks if (span := rank.phase(name)) is not None]
    lengths = [s.end_ns - s.start_ns for s in spans if s.start_ns is not None and s.end_ns is not None]
    if not lengths:
        reason = next((s.reason for s in spans if s.reason), "no rank came to it")
        return PhaseDuration(name=name, seconds=None, reason=reason)
    return PhaseDuration(name=name, seconds=max(lengths) * _NS)
