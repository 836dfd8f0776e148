"""Why a job failed, in words that a person can act on: a headline, the last lines of its log, and the log's path."""

import re
from dataclasses import dataclass
from pathlib import Path
from signal import Signals

from paceline.schema.records import RankRecord
from paceline.schema.trial import Status
from paceline.store import raw

LAST_LINES = 5
"""Number of lines of a log that are shown."""


@dataclass(frozen=True)
class Failure:
    """What is known about the failure of a job."""

    status: Status
    cause: str
    """Headline, last lines of the log, path of the log."""
    port_taken: bool = False
    """Whether another process took the port of the job before its ranks could use it."""


def explain(job_dir: Path, ranks: int, log: Path, *, ended_with: str, oom_killed: bool) -> Failure:
    """Return the failure of a job whose command ended badly.

    ``ended_with`` says how the command ended; ``oom_killed``, whether the kernel killed some process of this machine
    for memory during the job.
    """
    records = raw.read_ranks(job_dir)
    errors = sorted((r for r in records if r.error), key=lambda r: r.error_ns or 0)
    cut_off = [str(rank) for rank in range(ranks) if not _wrote_its_end(records, rank)]
    parts = []
    oom_killed = oom_killed and bool(cut_off)  # a rank that could write its end was not killed by the kernel
    if oom_killed:
        parts.append("the kernel's out-of-memory killer ended a process of the machine during the trial")
    if errors:
        parts.append(f"rank {errors[0].rank}: {(errors[0].error or '').splitlines()[-1]}")
    if cut_off and records:
        parts.append(f"rank {', '.join(cut_off)} wrote neither an error nor a normal end")
    if not records and (printed := _printed_error(log)):
        parts.append(printed)
    parts.append(ended_with)
    kinds = {r.error_kind for r in errors}
    status = Status.OOM if oom_killed or "oom" in kinds else Status.FAILED
    port_taken = "port" in kinds or _mentions_port(log)
    if port_taken and status is Status.FAILED:
        status = Status.INFRASTRUCTURE
    return Failure(status, "\n".join(["; ".join(parts), *_last_lines(log), f"log: {log}"]), port_taken)


def exit_text(status: int) -> str:
    """Return how a command ended, in words; a negative status is a signal."""
    if status >= 0:
        return f"the launcher exited with status {status}"
    return f"the launcher was ended by {Signals(-status).name}"


def _wrote_its_end(records: list[RankRecord], rank: int) -> bool:
    return any(r.rank == rank and (r.error or r.done_ns) for r in records)


def _last_lines(log: Path) -> list[str]:
    try:
        lines = log.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return []
    return [f"  | {line[:200]}" for line in lines if line.strip()][-LAST_LINES:]


def _printed_error(log: Path) -> str | None:
    """Return the first exception in a log. It serves for ranks that died before they could record their error."""
    try:
        match = re.search(r"^(?:\w+\.)*\w*(?:Error|Exception): .*", log.read_text(errors="replace"), re.MULTILINE)
    except FileNotFoundError:
        return None
    return match[0][:300] if match else None


def _mentions_port(log: Path) -> bool:
    try:
        text = log.read_text(errors="replace")
    except FileNotFoundError:
        return False
    return "EADDRINUSE" in text or "address already in use" in text.lower()
