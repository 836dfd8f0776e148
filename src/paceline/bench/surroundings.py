"""What the machine did besides a trial, seen by the conductor from before its first job until after its last.

Outsiders are looked at themselves, because nothing sees all of a trial: a cluster's processes come and go, and some are
reaped by nobody who would tell.
"""

import os
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns

import psutil

from paceline.spec.records import Surroundings

_Key = tuple[int, float]
"""A process: its number and when it was created."""


@dataclass(frozen=True)
class _Outsider:
    parent: int
    own_s: float
    children_s: float
    """Of its children that have ended."""
    share: float
    """Of the cores that it may use, those that are ours."""


@dataclass(frozen=True)
class Look:
    """Counters as they stand at one moment; two make ``Surroundings``."""

    at_ns: int
    cores: tuple[int, ...]
    steal_s: float
    pressure_s: float | None
    throttled: int | None
    memory_available_bytes: int
    outsiders: dict[_Key, _Outsider]


def look(cores: tuple[int, ...], marker: str) -> Look:
    """Read them. Processes with the marker in their environment are the trial's; the conductor is no outsider either.

    Costs some milliseconds, never inside a load.
    """
    times = psutil.cpu_times(percpu=True)
    return Look(
        at_ns=perf_counter_ns(),
        cores=cores,
        steal_s=sum(getattr(times[core], "steal", 0.0) for core in cores if core < len(times)),
        pressure_s=_pressure_s(),
        throttled=_throttled(cores),
        memory_available_bytes=psutil.virtual_memory().available,
        outsiders=dict(_outsiders(cores, marker)),
    )


def between(before: Look, after: Look) -> Surroundings:
    """Return what happened between two looks."""
    return Surroundings(
        seconds=(after.at_ns - before.at_ns) * 1e-9,
        cores=list(after.cores),
        steal_s=after.steal_s - before.steal_s,
        outside_s=_outside_s(before.outsiders, after.outsiders),
        pressure_s=_difference(before.pressure_s, after.pressure_s),
        throttled=None if before.throttled is None or after.throttled is None else after.throttled - before.throttled,
        memory_available_bytes=min(before.memory_available_bytes, after.memory_available_bytes),
    )


def _outsiders(cores: tuple[int, ...], marker: str) -> list[tuple[_Key, _Outsider]]:
    name, _, value = marker.partition("=")
    # Orphans of the trial are reaped by an ancestor of ours: its children's time is no outsider's.
    ancestors = {process.pid for process in psutil.Process().parents()}
    found = []
    for process in psutil.process_iter():
        try:
            with process.oneshot():
                # A zombie no longer says whose it was, and what it used will be told by who reaps it.
                if process.pid == os.getpid() or process.status() == psutil.STATUS_ZOMBIE:
                    continue
                if _environment(process).get(name) == value:
                    continue
                times, allowed = process.cpu_times(), process.cpu_affinity() or []
                children_s = 0.0 if process.pid in ancestors else times.children_user + times.children_system
                outsider = _Outsider(
                    parent=process.ppid(),
                    own_s=times.user + times.system,
                    children_s=children_s,
                    share=len(set(allowed) & set(cores)) / max(1, len(allowed)),
                )
                found.append(((process.pid, process.create_time()), outsider))
        except psutil.Error:
            continue  # gone meanwhile
    return found


def _environment(process: psutil.Process) -> dict[str, str]:
    try:
        found: dict[str, str] = process.environ()
    except psutil.AccessDenied:
        return {}  # another user's, so not ours
    return found


def _outside_s(before: dict[_Key, _Outsider], after: dict[_Key, _Outsider]) -> float:
    """Return CPU seconds of outsiders on our cores, as if each used all cores that it may use alike."""
    nothing = _Outsider(0, 0.0, 0.0, 0.0)
    alive, parents = {pid for pid, _ in after}, {pid: outsider.parent for (pid, _), outsider in before.items()}
    vanished: dict[int, float] = {}
    for key, outsider in before.items():
        if key not in after:  # who reaped it has been given its whole life's time
            heir = outsider.parent
            while heir in parents and heir not in alive:
                heir = parents[heir]
            vanished[heir] = vanished.get(heir, 0.0) + outsider.own_s + outsider.children_s
    total = 0.0
    for key, now in after.items():
        then = before.get(key, nothing)
        children_s = max(0.0, now.children_s - then.children_s - vanished.get(key[0], 0.0))
        total += (now.own_s - then.own_s + children_s) * now.share
    return total


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
