"""What the machine did besides a trial, from before the trial's first job until after its last.

The CPU time of processes outside the trial is read from those processes themselves. It cannot be the cores' total less
the trial's own time: a cluster's processes come and go, and the time of some of them is never reported to the trial.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns

import psutil

from paceline.schema.records import BackgroundLoad

_ProcessKey = tuple[int, float]
"""Identity of a process: its pid and its time of creation, because pids are used again."""


@dataclass(frozen=True)
class OutsideProcess:
    """CPU time, until one moment, of a process outside the trial."""

    parent: int
    own_s: float
    children_s: float
    """CPU seconds of its children that have ended and that it has reaped."""
    share: float
    """Share of the cores that it may run on that belong to the trial."""


@dataclass(frozen=True)
class Reading:
    """Counters of the machine at one moment; the difference of two is a ``BackgroundLoad``."""

    at_ns: int
    cores: tuple[int, ...]
    steal_s: float
    pressure_s: float | None
    throttled: int | None
    memory_available_bytes: int
    outside: dict[_ProcessKey, OutsideProcess]


def read(cores: tuple[int, ...], marker: str) -> Reading:
    """Read the counters. The conductor, and processes that carry the trial's marker, are not outside processes.

    This takes some milliseconds of CPU time, so it is never called while jobs run.
    """
    times = psutil.cpu_times(percpu=True)
    return Reading(
        at_ns=perf_counter_ns(),
        cores=cores,
        steal_s=sum(getattr(times[core], "steal", 0.0) for core in cores if core < len(times)),
        pressure_s=_pressure_s(),
        throttled=_throttled(cores),
        memory_available_bytes=psutil.virtual_memory().available,
        outside=dict(_outside_processes(cores, marker)),
    )


def background_load_between(before: Reading, after: Reading) -> BackgroundLoad:
    """Return what the machine did between two readings."""
    return BackgroundLoad(
        seconds=(after.at_ns - before.at_ns) * 1e-9,
        cores=list(after.cores),
        steal_s=after.steal_s - before.steal_s,
        outside_s=outside_cpu_s(before.outside, after.outside),
        pressure_s=_difference(before.pressure_s, after.pressure_s),
        throttled=None if before.throttled is None or after.throttled is None else after.throttled - before.throttled,
        memory_available_bytes=min(before.memory_available_bytes, after.memory_available_bytes),
    )


def _outside_processes(cores: tuple[int, ...], marker: str) -> list[tuple[_ProcessKey, OutsideProcess]]:
    name, _, value = marker.partition("=")
    # Ancestors of the conductor reap the trial's orphans, so their children's time contains time of the trial.
    ancestors = {process.pid for process in psutil.Process().parents()}
    outside_processes = []
    for process in psutil.process_iter():
        try:
            with process.oneshot():
                # A zombie has no environment that could tell whose it was; its time is charged to its reaper.
                if process.pid == os.getpid() or process.status() == psutil.STATUS_ZOMBIE:
                    continue
                if _environment(process).get(name) == value:
                    continue
                times, allowed = process.cpu_times(), process.cpu_affinity() or []
                children_s = 0.0 if process.pid in ancestors else times.children_user + times.children_system
                outside = OutsideProcess(
                    parent=process.ppid(),
                    own_s=times.user + times.system,
                    children_s=children_s,
                    share=len(set(allowed) & set(cores)) / max(1, len(allowed)),
                )
                outside_processes.append(((process.pid, process.create_time()), outside))
        except psutil.Error:
            continue  # ended meanwhile
    return outside_processes


def _environment(process: psutil.Process) -> dict[str, str]:
    try:
        environment: dict[str, str] = process.environ()
    except psutil.AccessDenied:
        return {}  # another user's process, so not the trial's
    return environment


def outside_cpu_s(before: dict[_ProcessKey, OutsideProcess], after: dict[_ProcessKey, OutsideProcess]) -> float:
    """Return CPU seconds that outside processes used on the trial's cores between two readings.

    Each process is assumed to spread its time evenly over the cores that it may run on.
    """
    not_started = OutsideProcess(0, 0.0, 0.0, 0.0)
    alive, parents = {pid for pid, _ in after}, {pid: process.parent for (pid, _), process in before.items()}
    reaped_s: dict[int, float] = {}
    """Pid of a reaper to CPU seconds from before the first reading that its ``children_s`` has gained since."""
    for key, process in before.items():
        if key not in after:  # A reaper's ``children_s`` gains all CPU time of an ended process at once.
            reaper = process.parent
            while reaper in parents and reaper not in alive:
                reaper = parents[reaper]
            reaped_s[reaper] = reaped_s.get(reaper, 0.0) + process.own_s + process.children_s
    total_s = 0.0
    for key, now in after.items():
        then = before.get(key, not_started)
        children_s = max(0.0, now.children_s - then.children_s - reaped_s.get(key[0], 0.0))
        total_s += (now.own_s - then.own_s + children_s) * now.share
    return total_s


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _pressure_s() -> float | None:
    """Return seconds since boot in which a runnable process waited for a core; None when the kernel does not count."""
    try:
        some = Path("/proc/pressure/cpu").read_text().splitlines()[0]
    except (OSError, IndexError):
        return None
    return int(some.rpartition("total=")[2]) * 1e-6


def _throttled(cores: tuple[int, ...]) -> int | None:
    """Return how often these cores were slowed down for heat since boot; None when the machine does not count."""
    counts = [Path(f"/sys/devices/system/cpu/cpu{core}/thermal_throttle/core_throttle_count") for core in cores]
    try:
        return sum(int(count.read_text()) for count in counts)
    except (OSError, ValueError):
        return None
