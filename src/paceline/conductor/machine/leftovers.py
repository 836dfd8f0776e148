"""What frameworks leave behind: shared memory, temporary folders and build locks. Others' things stay."""

import os
import shutil
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path

from paceline.conductor.machine.processes import processes_with

SHARED_MEMORY = Path("/dev/shm")
FRAMEWORK_SEGMENTS = ("deepspeed_", "torch_", "plasma", "ray", "psm_", "sem.", "nccl-")
"""Beginnings of the names of shared-memory segments: of DeepSpeed, torch, Ray's object store, multiprocessing, NCCL."""
BUILD_PATIENCE_S = 900.0
"""Longest time that a build of operators may take."""
_LONGEST_TEMP_ROOT = 30
"""Longest path, in characters, below which a temporary folder is made: Ray adds some 70 characters to it for its
sockets, and a socket's path may have 107."""


def make_temp_dir() -> Path:
    """Make a temporary folder with a short path, and return it. It serves as TMPDIR of a trial's processes."""
    root = tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix="pl-", dir=root if len(root) <= _LONGEST_TEMP_ROOT else "/tmp"))


def remove_temp_dir(path: Path) -> None:
    """Remove a trial's temporary folder."""
    shutil.rmtree(path, ignore_errors=True)


def shared_memory_names() -> set[str]:
    """Return the names of all that is in /dev/shm now."""
    return {entry.name for entry in SHARED_MEMORY.iterdir()}


def remove_build_locks(operators: Path) -> None:
    """Remove locks that killed builders left in a cache of compiled operators: torch would wait for them for ever.

    A lock does not name its owner, so it stays while any process that was started with this cache lives. A lock that
    is older than any build takes is removed in any case: then those processes only wait for it themselves.
    """
    locks = list(operators.glob("*/lock"))
    in_use = bool(locks) and bool(processes_with(f"TORCH_EXTENSIONS_DIR={operators}"))
    for lock in locks:
        with suppress(FileNotFoundError):
            if not in_use or time.time() - lock.stat().st_mtime > BUILD_PATIENCE_S:
                lock.unlink()


@contextmanager
def swept(operators: Path) -> Iterator[None]:
    """Remove stale build locks before, and new shared memory after, work with frameworks that no trial surrounds."""
    remove_build_locks(operators)
    before, since_ns = shared_memory_names(), time.time_ns()
    try:
        yield
    finally:
        remove_shared_memory(before, since_ns)


def remove_shared_memory(before: set[str], since_ns: int) -> list[str]:
    """Remove shared-memory segments that frameworks have left behind; return their paths.

    ``before`` are the names that existed before the work began at ``since_ns`` (of ``time.time_ns``). A segment is
    removed if it is new, has a framework's name, belongs to this user and is open in no process: all processes of the
    work have ended by now. Anything else in /dev/shm may be somebody's data and stays.
    """
    removed = []
    for name in sorted(shared_memory_names() - before):
        path = SHARED_MEMORY / name
        try:
            stat = path.stat()
            may_be_ours = name.startswith(FRAMEWORK_SEGMENTS) and path.is_file() and stat.st_uid == os.getuid()
            if not may_be_ours or stat.st_mtime_ns < since_ns or _open_anywhere(path):
                continue
            path.unlink()
        except FileNotFoundError:
            continue
        removed.append(str(path))
    return removed


def _open_anywhere(path: Path) -> bool:
    return any(_opened_by(process, path) for process in Path("/proc").iterdir() if process.name.isdigit())


def _opened_by(process: Path, path: Path) -> bool:
    try:
        if str(path).encode() in (process / "maps").read_bytes():
            return True
        descriptors = list((process / "fd").iterdir())
    except OSError:
        return False  # gone, or another user's
    for descriptor in descriptors:
        try:
            if os.readlink(descriptor) == str(path):  # noqa: PTH115 - the link may be dead
                return True
        except OSError:
            continue  # closed meanwhile
    return False
