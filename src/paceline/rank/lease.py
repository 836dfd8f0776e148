"""A rank leases a free core and pins itself to it: the framework decides when, the lease decides which core.

The same code serves every launcher (docs/method.md, "Conditions"). The kernel
drops a lock when its holder dies, however it dies.
"""

import os
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from filelock import FileLock, Timeout

from paceline.schema.conditions import Policy
from paceline.schema.trial import Job

POLL_S = 0.002
"""Pause between two attempts to lock a core. A rank waits only while the core's last rank is still ending."""


@contextmanager
def leased_cores(job: Job, patience_s: float = 60.0) -> Iterator[list[int]]:
    """Pin the process to free cores of the job's devices (usually one a rank); yield the cores that it may run on.

    Without pinning (``as-shipped``, oversubscribed cells, accelerators) the process keeps all its cores.
    Raises TimeoutError when not enough cores become free within ``patience_s``.
    """
    unpinned = job.conditions.policy is Policy.AS_SHIPPED or not job.conditions.pin_ranks
    if unpinned or job.cell.oversubscribe or job.cell.tier == "gpu":
        yield sorted(os.sched_getaffinity(0))
        return
    before = os.sched_getaffinity(0)
    locks = _acquire(job, patience_s)
    cores = sorted(locks)
    try:
        pin_process(set(cores))
        yield cores
    finally:
        pin_process(before)  # a reused process must not stay on cores whose leases it has given back
        for lock in locks.values():
            lock.release()


def pin_process(cores: set[int]) -> None:
    """Pin every thread of this process; threads started later inherit it."""
    for task in Path("/proc/self/task").iterdir():
        try:
            os.sched_setaffinity(int(task.name), cores)
        except ProcessLookupError:
            continue  # the thread has ended meanwhile


def process_cores() -> set[int]:
    """Return the cores that any thread of this process may run on."""
    cores: set[int] = set()
    for task in Path("/proc/self/task").iterdir():
        try:
            cores |= os.sched_getaffinity(int(task.name))
        except ProcessLookupError:
            continue
    return cores


def _acquire(job: Job, patience_s: float) -> dict[int, FileLock]:
    """Lock as many cores as the rank needs, all or none, so that two ranks never wait for each other."""
    deadline = time.monotonic() + patience_s
    while True:
        held: dict[int, FileLock] = {}
        for core in job.devices:
            lock = FileLock(Path(job.lease_dir) / f"core-{core}.lock")
            try:
                lock.acquire(blocking=False)
            except Timeout:
                continue
            held[core] = lock
            if len(held) == job.cell.cores_per_rank:
                return held
        for lock in held.values():
            lock.release()
        if time.monotonic() > deadline:
            raise TimeoutError(
                f"{job.cell.cores_per_rank} of cores {list(job.devices)} did not become free within {patience_s:g} s: "
                "more ranks are running than there are cores"
            )
        time.sleep(POLL_S)
