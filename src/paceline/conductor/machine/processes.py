"""Starting, watching and ending processes. We end only what carries our marker in its environment.

A process that re-parents itself, changes session or outlives its launcher still carries the marker, so nothing escapes.
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
"""Between asking (TERM) and insisting (KILL). torchrun and Ray need about two seconds to end their workers."""
KILL_PATIENCE_S = 10.0
_PR_SET_PDEATHSIG = 1
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
    """When the command ended, stamped by a thread of its own: the conductor may be busy cleaning up after another."""

    @classmethod
    def start(cls, command: Command, marker: str, log: Path, cwd: Path) -> "Child":
        """Start a command. It is asked to end if we die."""
        process = subprocess.Popen(
            command.argv,
            env=command.environment,
            cwd=cwd,
            stdin=subprocess.DEVNULL,
            stdout=subprocess.PIPE,
            stderr=subprocess.STDOUT,
            start_new_session=True,
            preexec_fn=_end_with_parent,  # noqa: PLW1509
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
        """Reap the command, close its log, return its status (negative: the signal). Descendants must be gone."""
        status = self.process.wait()
        if self._stamper is not None:
            self._stamper.join()
        self._reader.join(timeout=KILL_PATIENCE_S)
        os.close(self.pidfd)
        return status


def wait_for_any(children: Iterable[Child], timeout_s: float) -> None:
    """Return when a command has ended or the time is over, without using any CPU meanwhile."""
    with selectors.DefaultSelector() as selector:
        for child in children:
            selector.register(child.pidfd, selectors.EVENT_READ)
        selector.select(max(0.0, timeout_s))


def processes_with(marker: str) -> list[int]:
    """Return the pids of living processes that were started with ``NAME=value`` in their environment."""
    return [int(process.name) for process in marked_processes(marker)]


def end_processes(marker: str, grace_s: float = TERM_GRACE_S) -> list[str]:
    """TERM, grace, KILL everything that carries the marker; return what had to be killed.

    Raises RuntimeError when something survives even that.
    """
    pids = processes_with(marker)
    if not pids:
        return []
    _signal_all(pids, signal.SIGTERM)
    if _gone_within(marker, grace_s):
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
    """Return whether all processes with the marker ended by themselves within the time."""
    return _gone_within(marker, patience_s)


def oom_kills() -> int:
    """Return how many processes the kernel has killed for memory since boot."""
    for line in Path("/proc/vmstat").read_text().splitlines():
        if line.startswith("oom_kill "):
            return int(line.split()[1])
    return 0


def _gone_within(marker: str, patience_s: float) -> bool:
    deadline = time.monotonic() + patience_s
    while processes_with(marker):
        if time.monotonic() > deadline:
            return False
        time.sleep(0.02)
    return True


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


def _end_with_parent() -> None:
    _LIBC.prctl(_PR_SET_PDEATHSIG, signal.SIGTERM)


def _copy_bounded(source: IO[bytes], log: Path) -> None:
    """Copy what is printed: the beginning as it comes, of the rest only the end."""
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
                gone = len(tail.popleft())
                tail_size -= gone
                dropped += gone
        if dropped:
            file.write(f"\n[... {dropped} bytes left out ...]\n".encode())
        for chunk in tail:
            file.write(chunk)
