"""Times of a job, from the records of its ranks: they are written to jobs.jsonl and derived again by ``verify``."""

from collections.abc import Sequence

from paceline.schema.model import Model
from paceline.schema.records import Phase, RankRecord


class RankTimes(Model):
    """When a job as a whole started, was ready, ended its first and its last step; null where a rank did not."""

    started_ns: int | None
    ready_ns: int | None
    first_step_ns: int | None
    last_step_ns: int | None
    cores: list[int]


def rank_times(ranks: Sequence[RankRecord]) -> RankTimes:
    """Return the earliest start and the latest end of each phase over ranks."""
    return RankTimes(
        started_ns=min((r.process_started_ns for r in ranks), default=None),
        ready_ns=_phase_end(ranks, Phase.BUILD),
        first_step_ns=_phase_end(ranks, Phase.FIRST_STEP),
        last_step_ns=_phase_end(ranks, Phase.STEADY),
        cores=sorted({core for r in ranks for core in r.cores}),
    )


def _phase_end(ranks: Sequence[RankRecord], name: Phase) -> int | None:
    spans = [rank.phase(name) for rank in ranks]
    ends = [span.end_ns for span in spans if span is not None and span.end_ns is not None]
    return max(ends) if ranks and len(ends) == len(ranks) else None
