"""Why a job failed, in words that a person can act on: headline, last lines, where the log is."""

import re
from dataclasses import dataclass
from pathlib import Path
from signal import Signals

from paceline.schema.records import RankRecord
from paceline.schema.trial import Status
from paceline.store import raw

LAST_LINES = 5


@dataclass(frozen=True)
class Failure:
    """Status, cause (headline first, then the last lines and the log's path), and whether a port was lost to a race."""

    status: Status
    cause: str
    port_taken: bool = False


def explain(job_dir: Path, ranks: int, log: Path, *, ended_with: str, oom_killed: bool) -> Failure:
    """Return the failure of a job whose command ended badly.

    ``ended_with`` says how the command ended, for when no rank left a last word.
    """
    records = raw.read_ranks(job_dir)
    errors = sorted((r for r in records if r.error), key=lambda r: r.error_ns or 0)
    silent = [str(rank) for rank in range(ranks) if not _spoke(records, rank)]
    parts = []
    oom_killed = oom_killed and bool(silent)  # a rank that told its own end was not killed by the kernel
    if oom_killed:
        parts.append("the kernel's out-of-memory killer ended a process of the machine during the trial")
    if errors:
        parts.append(f"rank {errors[0].rank}: {(errors[0].error or '').splitlines()[-1]}")
    if silent and records:
        parts.append(f"rank {', '.join(silent)} left no last word")
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
    """Return how a command ended: its exit status or the signal."""
    if status >= 0:
        return f"the launcher exited with status {status}"
    return f"the launcher was ended by {Signals(-status).name}"


def _spoke(records: list[RankRecord], rank: int) -> bool:
    return any(r.rank == rank and (r.error or r.done_ns) for r in records)


def _last_lines(log: Path) -> list[str]:
    try:
        lines = log.read_text(errors="replace").splitlines()
    except FileNotFoundError:
        return []
    return [f"  | {line[:200]}" for line in lines if line.strip()][-LAST_LINES:]


def _printed_error(log: Path) -> str | None:
    """Return the first exception that was printed, for processes that died before they could record one."""
    try:
        found = re.search(r"^(?:\w+\.)*\w*(?:Error|Exception): .*", log.read_text(errors="replace"), re.MULTILINE)
    except FileNotFoundError:
        return None
    return found[0][:300] if found else None


def _mentions_port(log: Path) -> bool:
    try:
        text = log.read_text(errors="replace")
    except FileNotFoundError:
        return False
    return "EADDRINUSE" in text or "address already in use" in text.lower()
