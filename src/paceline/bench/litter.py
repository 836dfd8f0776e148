"""What frameworks leave behind on the machine, and taking away what is ours: shared memory, temporary files, ports."""

import os
import shutil
import socket
import tempfile
from pathlib import Path

SHARED_MEMORY = Path("/dev/shm")
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


def remove_shared_memory(before: set[str], since_ns: int) -> list[str]:
    """Remove segments that appeared since, are this user's, and that no living process has mapped; return their paths.

    Called when all our processes are gone, so a segment of ours is mapped by nobody; a stranger's is in use.
    """
    removed = []
    for name in sorted(shared_memory_names() - before):
        path = SHARED_MEMORY / name
        try:
            stat = path.stat()
            if stat.st_uid != os.getuid() or stat.st_mtime_ns < since_ns or _mapped_by_anyone(path):
                continue
            shutil.rmtree(path) if path.is_dir() else path.unlink()
        except FileNotFoundError:
            continue
        removed.append(f"/dev/shm/{name}")
    return removed


def listened_on(port: int) -> bool:
    """Return whether somebody listens on a TCP port of the loopback address."""
    with socket.socket() as probe:
        probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            probe.bind(("127.0.0.1", port))
        except OSError:
            return True
    return False


def _mapped_by_anyone(path: Path) -> bool:
    wanted = str(path).encode()
    for process in Path("/proc").iterdir():
        if not process.name.isdigit():
            continue
        try:
            if wanted in (process / "maps").read_bytes():
                return True
            if any(os.readlink(fd) == str(path) for fd in (process / "fd").iterdir()):  # noqa: PTH115 - dead links too
                return True
        except OSError:
            continue
    return False
