"""Running the jobs of a trial: our own first-come-first-served queue over slots, or one driver that places them."""

from collections import deque
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns

from paceline.bench import causes
from paceline.bench.supervise import Child, await_end, end_processes, oom_kills, wait_for_any
from paceline.launchers.contract import JobLauncher, LoadLauncher, Site
from paceline.spec.records import JOB_MARKER
from paceline.spec.trial import Status, Trial
from paceline.store import raw
from paceline.store.run_directory import TrialDirectory

TICK_S = 1.0
"""How often progress is told that time passes; the conductor sleeps in between."""
JOB_LEAVES_S = 2.0
"""How long descendants of a job may outlive its command before they are ended."""
CLUSTER_LEAVES_S = 10.0
"""How long a cluster's daemons may outlive its driver."""


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
class Place:
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


@dataclass
class _Running:
    child: Child
    end: JobEnd
    slot: tuple[int, ...]
    deadline_ns: int
    oom_before: int
    attempt: int = 0


class SlotQueue:
    """Paceline's FCFS: the next job starts as soon as a slot is free, in the order of the plan."""

    def __init__(self, place: Place, launcher: JobLauncher) -> None:
        self._place = place
        self._launcher = launcher
        self._free = place.trial.slots
        self._running: list[_Running] = []
        self._leftovers: list[str] = []

    def run(self) -> LoadEnd:
        """Run all jobs to their end, each within its own deadline; one that fails costs only itself."""
        accepting_ns = perf_counter_ns()
        ends = [JobEnd(job_id, accepting_ns) for job_id in range(len(self._place.job_files))]
        waiting = deque(ends)
        while waiting or self._running:
            while waiting and self._free:
                self._start(waiting.popleft(), self._free.pop(0))
            self._wait()
            self._place.tick(sum(end.released_ns is not None for end in ends))
        return LoadEnd(accepting_ns, ends, self._leftovers)

    def _start(self, end: JobEnd, slot: tuple[int, ...], attempt: int = 0) -> None:
        place = self._place
        site = place.site(self._marker_value(end), slot)
        command = self._launcher.command(place.job_files[end.job_id], place.trial.cell.ranks, site)
        folder = place.directory.job_dir(end.job_id)
        folder.mkdir(parents=True, exist_ok=True)
        if end.submitted_ns is None:
            end.submitted_ns = perf_counter_ns()
        child = Child.start(command, f"{JOB_MARKER}={self._marker_value(end)}", folder / "launcher.log", place.cwd)
        deadline_ns = perf_counter_ns() + int(place.trial.cell.timeout_s * 1e9)
        self._running.append(_Running(child, end, slot, deadline_ns, oom_kills(), attempt))

    def _wait(self) -> None:
        now = perf_counter_ns()
        until_ns = min(running.deadline_ns for running in self._running)
        wait_for_any((r.child for r in self._running), min(TICK_S, (until_ns - now) / 1e9))
        seen_ns = perf_counter_ns()
        for running in list(self._running):
            if running.child.ended:
                running.end.released_ns = running.child.ended_ns
                self._release(running)
            elif seen_ns >= running.deadline_ns:
                running.end.status = Status.TIMEOUT
                self._release(running)

    def _release(self, running: _Running) -> None:
        """Make the slot free: nothing of the job may live on in it."""
        self._running.remove(running)
        self._free.append(running.slot)
        end, child, place = running.end, running.child, self._place
        if end.status is Status.TIMEOUT:
            end_processes(child.marker)
            end.released_ns = perf_counter_ns()
        elif not await_end(child.marker, JOB_LEAVES_S):
            end_processes(child.marker)
            self._leftovers.append(f"processes of job {end.job_id} outlived its launcher")
        status = child.finish()
        if end.status is Status.TIMEOUT:
            end.cause = f"no end within {place.trial.cell.timeout_s:g} s (timeout_s)\nlog: {child.log}"
            return
        if status == 0:
            return
        failure = causes.explain(
            place.directory.job_dir(end.job_id),
            place.trial.cell.ranks,
            child.log,
            ended_with=causes.exit_text(status),
            oom_killed=oom_kills() > running.oom_before,
        )
        if failure.port_taken and running.attempt == 0:
            _set_aside(place.directory.job_dir(end.job_id))
            end.released_ns = None
            self._free.remove(running.slot)
            self._start(end, running.slot, attempt=1)
            return
        end.status, end.cause = failure.status, failure.cause

    def _marker_value(self, end: JobEnd) -> str:
        return f"{self._place.marker.partition('=')[2]}/{end.job_id}"


def run_driver(place: Place, launcher: LoadLauncher, plan_file: Path) -> LoadEnd:
    """Run one driver that places all jobs itself; the deadline counts for the load as a whole."""
    cell = place.trial.cell
    rounds = -(-cell.load.jobs // len(place.trial.slots))
    deadline_ns = perf_counter_ns() + int(rounds * cell.timeout_s * 1e9)
    oom_before = oom_kills()
    log = place.directory.path / "launcher.log"
    child = Child.start(
        launcher.command(plan_file, place.site("load", place.trial.devices)), place.marker, log, place.cwd
    )
    leftovers: list[str] = []
    timed_out = False
    while not child.ended:
        now = perf_counter_ns()
        if now >= deadline_ns:
            timed_out = True
            end_processes(child.marker)
        wait_for_any([child], min(TICK_S, (deadline_ns - now) / 1e9))
        place.tick(_released_count(place.directory))
    if not await_end(child.marker, CLUSTER_LEAVES_S):
        leftovers += [f"had to be killed: {name}" for name in end_processes(child.marker)]
    status = child.finish()
    ended_with = f"no end within {rounds * cell.timeout_s:g} s (timeout_s)" if timed_out else causes.exit_text(status)
    load = _from_events(place)
    for end in load.jobs:
        _judge(end, place, log, ended_with, timed_out=timed_out, oom_killed=oom_kills() > oom_before)
    load.leftovers += leftovers
    return load


def _from_events(place: Place) -> LoadEnd:
    accepting_ns = None
    ends = {job_id: JobEnd(job_id, 0) for job_id in range(len(place.job_files))}
    for line in raw.json_lines(place.directory.driver_events):
        if line["event"] == "accepting":
            accepting_ns = line["t_ns"]
            for end in ends.values():
                end.planned_ns = line["t_ns"]
        elif line["event"] == "submitted":
            ends[line["job"]].submitted_ns = line["t_ns"]
        elif line["event"] == "released":
            ends[line["job"]].released_ns = line["t_ns"]
            ends[line["job"]].cause = line["error"]
    return LoadEnd(accepting_ns, list(ends.values()), [])


def _judge(end: JobEnd, place: Place, log: Path, ended_with: str, *, timed_out: bool, oom_killed: bool) -> None:
    """Turn what the driver said of a job into a status; no word of its release is a failure."""
    if end.released_ns is not None and end.cause is None:
        return
    said = (end.cause or ended_with).strip().splitlines()
    failure = causes.explain(
        place.directory.job_dir(end.job_id),
        place.trial.cell.ranks,
        log,
        ended_with=said[0] if said else ended_with,
        oom_killed=oom_killed or "OutOfMemory" in (end.cause or ""),
    )
    end.status = Status.TIMEOUT if timed_out and end.released_ns is None else failure.status
    end.cause = failure.cause


def _released_count(directory: TrialDirectory) -> int:
    return sum(line["event"] == "released" for line in raw.json_lines(directory.driver_events))


def _set_aside(job_dir: Path) -> None:
    """Keep what a first attempt left, out of the way of the second."""
    aside = job_dir / "attempt-1"
    aside.mkdir()
    for entry in list(job_dir.iterdir()):
        if entry != aside and entry.name != "job.json":
            entry.rename(aside / entry.name)
