"""What the machine did besides a trial, seen by the conductor from before its first job until after its last.

Outsiders are looked at themselves, because nothing sees all of a trial: a cluster's processes come and go, and some are
reaped by nobody who would tell.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns

import psutil

from paceline.schema.records import BackgroundLoad

_Key = tuple[int, float]
"""A process: its number and when it was created."""


@dataclass(frozen=True)
class OutsideProcess:
    """CPU time of a process outside the trial, as it stands at one moment."""

    parent: int
    own_s: float
    children_s: float
    """CPU seconds of its children that have ended."""
    share: float
    """Share of the cores that it may use which are the trial's."""


@dataclass(frozen=True)
class Reading:
    """Counters as they stand at one moment; two make ``BackgroundLoad``."""

    at_ns: int
    cores: tuple[int, ...]
    steal_s: float
    pressure_s: float | None
    throttled: int | None
    memory_available_bytes: int
    outside: dict[_Key, OutsideProcess]


def read(cores: tuple[int, ...], marker: str) -> Reading:
    """Read the counters. Neither the conductor nor a process that carries the trial's marker is an outside process.

    Costs some milliseconds, so it is never called while jobs run.
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
    """Return what happened between two readings."""
    return BackgroundLoad(
        seconds=(after.at_ns - before.at_ns) * 1e-9,
        cores=list(after.cores),
        steal_s=after.steal_s - before.steal_s,
        outside_s=outside_cpu_s(before.outside, after.outside),
        pressure_s=_difference(before.pressure_s, after.pressure_s),
        throttled=None if before.throttled is None or after.throttled is None else after.throttled - before.throttled,
        memory_available_bytes=min(before.memory_available_bytes, after.memory_available_bytes),
    )


def _outside_processes(cores: tuple[int, ...], marker: str) -> list[tuple[_Key, OutsideProcess]]:
    name, _, value = marker.partition("=")
    # Orphans of the trial are reaped by an ancestor of ours: its children's time is not from outside.
    ancestors = {process.pid for process in psutil.Process().parents()}
    found = []
    for process in psutil.process_iter():
        try:
            with process.oneshot():
                # A zombie's environment is gone, so nobody can tell whose it was; whoever reaps it is charged.
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
                found.append(((process.pid, process.create_time()), outside))
        except psutil.Error:
            continue  # gone meanwhile
    return found


def _environment(process: psutil.Process) -> dict[str, str]:
    try:
        found: dict[str, str] = process.environ()
    except psutil.AccessDenied:
        return {}  # another user's, so not ours
    return found


def outside_cpu_s(before: dict[_Key, OutsideProcess], after: dict[_Key, OutsideProcess]) -> float:
    """Return CPU seconds of outside processes on our cores, assuming each spreads its time evenly over its cores."""
    nothing = OutsideProcess(0, 0.0, 0.0, 0.0)
    alive, parents = {pid for pid, _ in after}, {pid: process.parent for (pid, _), process in before.items()}
    reaped_s: dict[int, float] = {}
    """Pid to the CPU seconds, of processes that ended, which its children's time now contains."""
    for key, process in before.items():
        if key not in after:  # A process that ended is charged, with its whole life, to the ancestor that reaped it.
            reaper = process.parent
            while reaper in parents and reaper not in alive:
                reaper = parents[reaper]
            reaped_s[reaper] = reaped_s.get(reaper, 0.0) + process.own_s + process.children_s
    total_s = 0.0
    for key, now in after.items():
        then = before.get(key, nothing)
        children_s = max(0.0, now.children_s - then.children_s - reaped_s.get(key[0], 0.0))
        total_s += (now.own_s - then.own_s + children_s) * now.share
    return total_s


def _difference(before: float | None, after: float | None) -> float | None:
    return None if before is None or after is None else after - before


def _pressure_s() -> float | None:
    """Return seconds since boot in which some runnable process waited for a core; None where the kernel is not told."""
    try:
        some = Path("/proc/pressure/cpu").read_text().splitlines()[0]
    except (OSError, IndexError):
        return None
    return int(some.rpartition("total=")[2]) * 1e-6


def _throttled(cores: tuple[int, ...]) -> int | None:
    """Return how often these cores were slowed down for heat since boot; None where the machine does not tell."""
    counts = [Path(f"/sys/devices/system/cpu/cpu{core}/thermal_throttle/core_throttle_count") for core in cores]
    try:
        return sum(int(count.read_text()) for count in counts)
    except (OSError, ValueError):
        return None
