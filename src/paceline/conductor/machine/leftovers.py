"""What frameworks leave behind on the machine, and taking away what is ours: shared memory, temporary files, ports."""

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
"""How the frameworks name their segments: DeepSpeed, torch's file and CUDA sharing, Ray's store, multiprocessing."""
BUILD_PATIENCE_S = 900.0
"""No build of operators takes longer."""
_SHORT_ENOUGH = 30
"""Ray puts sockets some 70 characters below its folder, and a socket's path may have 107."""


def make_temp_dir() -> Path:
    """Return a new short-named temporary folder: everything that a trial's processes leave in TMPDIR lands in it."""
    preferred = tempfile.gettempdir()
    return Path(tempfile.mkdtemp(prefix="pl-", dir=preferred if len(preferred) <= _SHORT_ENOUGH else "/tmp"))


def remove_temp_dir(path: Path) -> None:
    """Remove a trial's temporary folder."""
    shutil.rmtree(path, ignore_errors=True)


def shared_memory_names() -> set[str]:
    """Return the names that are in /dev/shm now."""
    return {entry.name for entry in SHARED_MEMORY.iterdir()}


def remove_build_locks(operators: Path) -> None:
    """Remove locks that killed builders left in a cache of compiled operators: torch waits for them for ever.

    A lock does not say whose it is: it stays while any process lives that was started with this cache, unless it is
    older than any build takes, when all of these wait for it themselves.
    """
    locks = list(operators.glob("*/lock"))
    in_use = bool(locks) and bool(processes_with(f"TORCH_EXTENSIONS_DIR={operators}"))
    for lock in locks:
        with suppress(FileNotFoundError):
            if not in_use or time.time() - lock.stat().st_mtime > BUILD_PATIENCE_S:
                lock.unlink()


@contextmanager
def swept(operators: Path) -> Iterator[None]:
    """Sweep before and after frameworks' processes that are started without a trial around them."""
    remove_build_locks(operators)
    before, since_ns = shared_memory_names(), time.time_ns()
    try:
        yield
    finally:
        remove_shared_memory(before, since_ns)


def remove_shared_memory(before: set[str], since_ns: int) -> list[str]:
    """Remove frameworks' segments that appeared since, are this user's, and that no process has open; return paths.

    Called when all our processes are gone, so a segment of ours is open nowhere. Whatever else lies in /dev/shm is
    somebody's data and stays.
    """
    removed = []
    for name in sorted(shared_memory_names() - before):
        path = SHARED_MEMORY / name
        try:
            stat = path.stat()
            ours = name.startswith(FRAMEWORK_SEGMENTS) and path.is_file() and stat.st_uid == os.getuid()
            if not ours or stat.st_mtime_ns < since_ns or _open_anywhere(path):
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
