"""Memory of a rank and of its process tree, read from /proc at phase edges only: reading costs milliseconds."""

import os
import re
from pathlib import Path

from paceline.processes import marked_processes
from paceline.schema.records import DeviceMemory, MemorySample

_KIB = 1024


def sample(edge: str, tree_marker: str | None, device: DeviceMemory | None) -> MemorySample:
    """Return the memory of this process and its device and, with the trial's marker, of all processes of the trial."""
    own = pss(Path("/proc/self"))
    others = others_pss(tree_marker) if tree_marker else None
    return MemorySample(
        edge=edge,
        tree_pss_bytes=None if others is None or own is None else own + sum(others),
        tree_processes=None if others is None else 1 + len(others),
        rank_pss_bytes=own,
        rank_peak_rss_bytes=peak_rss(),
        dev_shm_bytes=dev_shm_used(),
        device=device,
    )


def others_pss(marker: str) -> list[int]:
    """Return the proportional set sizes in bytes of all other processes that carry the marker."""
    others = (process for process in marked_processes(marker) if process.name != str(os.getpid()))
    return [size for process in others if (size := pss(process)) is not None]


def pss(process: Path) -> int | None:
    """Return the proportional set size in bytes (shared pages divided by their sharers); None when unreadable."""
    try:
        text = (process / "smaps_rollup").read_text()
    except OSError:
        return None
    match = re.search(r"^Pss:\s+(\d+) kB", text, re.MULTILINE)
    return int(match[1]) * _KIB if match else None


def peak_rss() -> int:
    """Return VmHWM of this process in bytes: the kernel's high-water mark, transients included."""
    match = re.search(r"^VmHWM:\s+(\d+) kB", Path("/proc/self/status").read_text(), re.MULTILINE)
    assert match is not None, "Linux always reports VmHWM"
    return int(match[1]) * _KIB


def dev_shm_used() -> int:
    """Return the bytes in use on /dev/shm, by all processes of the machine."""
    stats = os.statvfs("/dev/shm")
    return (stats.f_blocks - stats.f_bfree) * stats.f_frsize
