"""Running the jobs of a trial: our own first-come-first-served queue over slots, or one driver that places them."""

from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from paceline.launchers.contract import Site
from paceline.schema.trial import Status, Trial
from paceline.store.run_directory import TrialDirectory

TICK_S = 1.0
"""How often progress is told that time passes; the conductor sleeps in between."""


@dataclass
class JobEnd:
    """What the conductor saw of one job."""

    job_id: int
    planned_ns: int
    submitted_ns: int | None = None
    released_ns: int | None = None
    status: Status = Status.OK
    cause: str | None = None


@dataclass
class LoadEnd:
    """What the conductor saw of all jobs of a trial."""

    accepting_ns: int | None
    jobs: list[JobEnd]
    leftovers: list[str]


@dataclass(frozen=True)
class TrialContext:
    """Where and how a trial's jobs run; both ways of placing need the same things."""

    trial: Trial
    directory: TrialDirectory
    site: Callable[[str, tuple[int, ...]], Site]
    """Marker value and devices of a job to its site, with a port of its own."""
    marker: str
    job_files: list[Path]
    cwd: Path
    tick: Callable[[int], None]
    """Called with the number of jobs done, at least every ``TICK_S``."""
