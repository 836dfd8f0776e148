"""Starting, watching and ending processes. The conductor ends only processes that carry its marker.

A marker is an environment variable with a value of its own. Children inherit it, so it finds also processes that have
changed session, outlived their launcher or been adopted by another parent.
"""

import ctypes
import os
import select
import selectors
import signal
import subprocess
import threading
import time
from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from time import perf_counter_ns
from typing import IO

from paceline.launchers.contract import Command
from paceline.processes import marked_processes

LOG_HEAD_BYTES = 512 * 1024
LOG_TAIL_BYTES = 512 * 1024
TERM_GRACE_S = 5.0
"""Time between SIGTERM and SIGKILL. torchrun and Ray need about two seconds to end their workers."""
KILL_PATIENCE_S = 10.0
"""Longest time that processes may take to vanish after SIGKILL, and a log to be complete."""
_PR_SET_PDEATHSIG = 1
"""Option of prctl(2): which signal a process gets when its parent dies."""
_LIBC = ctypes.CDLL(None, use_errno=True)


@dataclass
class Child:
    """A launched command in a session of its own, and its bounded log."""

    process: subprocess.Popen[bytes]
    marker: str
    log: Path
    pidfd: int
    _reader: threading.Thread = field(repr=False)
    _stamper: threading.Thread | None = field(default=None, repr=False)
    ended_ns: int | None = None
    """When the command ended. A thread stamps it, because the conductor may be busy cleaning up after another job."""

    @classmethod
    def start(cls, command: Command, marker: str, log: Path, cwd: Path) -> "Child":
        """Start a command in a session of its own. It gets SIGTERM when the conductor dies."""
        process = subprocess.Popen(
            command.argv,
            env=command.environment,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=end_with_parent,  # noqa: PLW1509
        )
        assert process.stdout is not None
        reader = threading.Thread(target=_copy_bounded, args=(process.stdout, log), daemon=True)
        reader.start()
        child = cls(process, marker, log, os.pidfd_open(process.pid), reader)
        child._stamper = threading.Thread(target=child._stamp_end, daemon=True)
        child._stamper.start()
        return child

    def _stamp_end(self) -> None:
        select.select([self.pidfd], [], [])
        self.ended_ns = perf_counter_ns()

    @property
    def ended(self) -> bool:
        """Whether the command itself has ended (its descendants may not have)."""
        return self.ended_ns is not None

    def finish(self) -> int:
        """Reap the command, close its log and return its status (negative: a signal). Descendants must be gone."""
        status = self.process.wait()
        if self._stamper is not None:
            self._stamper.join()
        self._reader.join(timeout=KILL_PATIENCE_S)
        os.close(self.pidfd)
        return status


def wait_for_any(children: Iterable[Child], timeout_s: float) -> None:
    """Sleep until one of the commands has ended or the time is over."""
    with selectors.DefaultSelector() as selector:
        for child in children:
            selector.register(child.pidfd, selectors.EVENT_READ)
        selector.select(max(0.0, timeout_s))


def processes_with(marker: str) -> list[int]:
    """Return the pids of living processes that carry a marker (``NAME=value``)."""
    return [int(process.name) for process in marked_processes(marker)]


def end_processes(marker: str, grace_s: float = TERM_GRACE_S) -> list[str]:
    """Terminate everything that carries the marker, wait, then kill what is left; return what had to be killed.

    Raises RuntimeError when a process survives SIGKILL.
    """
    pids = processes_with(marker)
    if not pids:
        return []
    _signal_all(pids, signal.SIGTERM)
    if await_end(marker, grace_s):
        return []
    stubborn = [f"{_name(pid)} (pid {pid})" for pid in processes_with(marker)]
    deadline = time.monotonic() + KILL_PATIENCE_S
    while survivors := processes_with(marker):
        if time.monotonic() > deadline:
            raise RuntimeError(f"processes survive SIGKILL: {survivors}")
        _signal_all(survivors, signal.SIGKILL)
        time.sleep(0.02)
    return stubborn


def await_end(marker: str, patience_s: float) -> bool:
    """Wait until no process carries the marker; return False when some still do after ``patience_s``."""
    deadline = time.monotonic() + patience_s
    while processes_with(marker):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


def oom_kills() -> int:
    """Return how many processes the kernel has killed since boot because memory ran out."""
    for line in Path("/proc/vmstat").read_text().splitlines():
        if line.startswith("oom_kill "):
            return int(line.split()[1])
    return 0


def _signal_all(pids: Iterable[int], number: signal.Signals) -> None:
    for pid in pids:
        try:
            os.kill(pid, number)
        except ProcessLookupError:
            continue


def _name(pid: int) -> str:
    try:
        return Path(f"/proc/{pid}/comm").read_text().strip()
    except OSError:
        return "process"


def end_with_parent() -> None:
    """Ask the kernel to send SIGTERM to this process when its parent dies; called in a child before it executes."""
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _copy_bounded(source: IO[bytes], log: Path) -> None:
    """Copy what a command prints into its log: the beginning at once and, when it has ended, the last part."""
    tail: deque[bytes] = deque()
    head_left, tail_size, dropped = LOG_HEAD_BYTES, 0, 0
    with log.open("ab", buffering=0) as file, source:
        while chunk := os.read(source.fileno(), 65536):
            file.write(chunk[:head_left])
            rest, head_left = chunk[head_left:], max(0, head_left - len(chunk))
            if rest:
                tail.append(rest)
                tail_size += len(rest)
            while tail_size - len(tail[0] if tail else b"") > LOG_TAIL_BYTES:
                oldest_bytes = len(tail.popleft())
                tail_size -= oldest_bytes
                dropped += oldest_bytes
        if dropped:
            file.write(f"\n[... {dropped} bytes left out ...]\n".encode())
        for chunk in tail:
            file.write(chunk)
