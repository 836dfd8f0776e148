"""Types that ``slot_queue`` (Paceline places the jobs) and ``load_driver`` (a framework places them) share."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from paceline.launchers.contract import Site
from paceline.schema.trial import Status, Trial
from paceline.store.run_directory import TrialDirectory

TICK_S = 1.0
"""Seconds between updates of the progress display; the conductor sleeps in between."""


@dataclass
class JobEnd:
    """When the conductor saw one job start and end, and how it ended."""

    job_id: int
    planned_ns: int
    submitted_ns: int | None = None
    released_ns: int | None = None
    status: Status = Status.OK
    cause: str | None = None


@dataclass
class LoadEnd:
    """When the load of a trial was accepted, the ends of its jobs, and what they left behind."""

    accepting_ns: int | None
    jobs: list[JobEnd]
    leftovers: list[str]


@dataclass(frozen=True)
class TrialContext:
    """Where and how a trial's jobs run."""

    trial: Trial
    directory: TrialDirectory
    site: Callable[[str, tuple[int, ...]], Site]
    """Returns the site of a job, with a port of its own, from the value of its marker and its devices."""
    marker: str
    job_files: list[Path]
    cwd: Path
    tick: Callable[[int], None]
    """Called with the number of jobs that have ended, at least every ``TICK_S`` seconds."""
