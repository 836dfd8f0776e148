"""The fake engine of known step times: it tests the harness, trains nothing and imports no torch.

See docs/method.md, "Self-tests".
"""

import errno
import math
import os
import signal
import socket
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

from pydantic import Field

from paceline.schema.model import Model
from paceline.schema.records import LiveSettings
from paceline.schema.trial import Job
from paceline.strategies.contract import Group, Membership, Solo, StepOutcome, Strategy
from paceline.workloads.contract import Workload

Sleep = Callable[[float], None]

CATCH_UP_S = 0.005
"""Longest lateness that counts as a late wake-up of the last sleep and is made up for; a longer gap is real waiting."""


class FakeSettings(Model):
    """Behaviour of a fake rank, set by a variant's overlay in the suite."""

    step_s: float = 0.01
    first_steps_s: list[float] = []
    """Durations of the first steps; ``step_s`` applies to the steps after them."""
    late_s: float = 0.0
    """Extra time after a step's all-reduce, on rank 0 in even steps and on rank 1 in odd steps."""
    asynchronous: bool = False
    """Whether steps return at once, so that only ``synchronise`` waits for the work."""
    reported_world_size: int | None = None
    """False number of ranks that ``live`` reports; null reports the true one."""
    loss: float | None = 1.0
    """Loss of every step; null gives NaN."""
    unapplied_every: int | None = Field(default=None, ge=1)
    raise_at_step: int | None = None
    hang_at_step: int | None = None
    kill_at_step: int | None = None
    ignore_terminate: bool = False
    lose_port_once: bool = False
    """Whether the first attempt fails like a rank whose port another process has taken."""
    linger: bool = False
    """Whether to leave a detached process behind, so that the conductor has a leftover to remove."""


class Fake(Strategy):
    """Sleeps the stated time in each step; ranks meet at a socket."""

    def __init__(
        self,
        job: Job,
        membership: Membership,
        sleep: Sleep = time.sleep,
        now_s: Callable[[], float] = time.perf_counter,
        group: Group | None = None,
    ) -> None:
        super().__init__(job, membership)
        self._now_s = now_s
        self.settings = FakeSettings.model_validate(job.cell.variant.settings)
        self._sleep = sleep
        self._group = group
        self._steps = 0
        self._pending_s = 0.0
        self._deadline_s = -math.inf
        self._seen_micro_batch = 0
        self._seen_accumulation = 0

    def join(self) -> Group:
        """Return a barrier over sockets on the loopback interface."""
        if self.settings.ignore_terminate:
            signal.signal(signal.SIGTERM, signal.SIG_IGN)
        if self.settings.lose_port_once and not (attempted := Path(self.job.lease_dir) / "port-lost").exists():
            attempted.touch()
            raise OSError(errno.EADDRINUSE, "address already in use, as the settings ask")
        if self.settings.linger and self.membership.rank == 0:
            _start_detached_process()
        if self._group is None:
            size = self.membership.world_size
            self._group = Solo() if size == 1 else SocketGroup(self.membership.rank, size)
        return self._group

    def wrap(self, workload: Workload) -> None:
        """Do nothing: there is no state."""

    def step(self, micro_batches: Iterator[Any]) -> StepOutcome:
        """Consume the batches and sleep for the stated time."""
        assert self._group is not None
        self._fail_as_set()
        sizes = [len(batch) for batch in micro_batches]
        self._seen_micro_batch, self._seen_accumulation = max(sizes), len(sizes)
        first = self.settings.first_steps_s
        duration_s = first[self._steps] if self._steps < len(first) else self.settings.step_s
        if self.settings.asynchronous:
            self._pending_s += duration_s
        else:
            self._sleep_on(duration_s)
        if self.settings.late_s:
            self._group.barrier()  # the all-reduce: a rank that is late after it makes its peers wait in the next step
            if self._steps % 2 == self.membership.rank % 2:
                self._sleep_on(self.settings.late_s)
        self._steps += 1
        every = self.settings.unapplied_every
        applied = every is None or self._steps % every != 0
        return StepOutcome(float("nan") if self.settings.loss is None else self.settings.loss, applied)

    def synchronise(self) -> None:
        """Wait for the work of asynchronous steps."""
        self._sleep_on(self._pending_s)
        self._pending_s = 0.0

    def live(self) -> LiveSettings:
        """Return the settings in force, with ``reported_world_size`` where it is set."""
        return LiveSettings(
            world_size=self.settings.reported_world_size or self.membership.world_size,
            micro_batch=self._seen_micro_batch,
            accumulation=self._seen_accumulation,
            gradient_clipping=None,
            parameter_dtype="none",
            compute_dtype="none",
            reduction_dtype="none",
            master_dtype="none",
            optimiser_state_dtype="none",
            optimiser="none",
            optimiser_settings={},
            parameters_total=0,
            optimiser_parameters_local=0,
            backend=None,
            device_type="cpu",
        )

    def _sleep_on(self, duration_s: float) -> None:
        """Sleep until ``duration_s`` after the planned end of the last sleep, so that late wake-ups do not add up."""
        now_s = self._now_s()
        begun_s = self._deadline_s if now_s - self._deadline_s < CATCH_UP_S else now_s
        self._deadline_s = begun_s + duration_s
        self._sleep(max(0.0, self._deadline_s - now_s))

    def _fail_as_set(self) -> None:
        if self._steps == self.settings.raise_at_step:
            raise RuntimeError("the fake engine raises, as its settings ask")
        if self._steps == self.settings.hang_at_step:
            signal.pause()
        if self._steps == self.settings.kill_at_step:
            os.kill(os.getpid(), signal.SIGKILL)


class SocketGroup:
    """A barrier without torch: rank 0 listens at MASTER_PORT, every other rank sends a byte and waits for one."""

    def __init__(self, rank: int, size: int) -> None:
        address = (os.environ["MASTER_ADDR"], int(os.environ["MASTER_PORT"]))
        self._leader = rank == 0
        if self._leader:
            with socket.create_server(address) as server:
                self._peers = [server.accept()[0] for _ in range(size - 1)]
        else:
            self._peers = [_connect(address)]
        for peer in self._peers:
            peer.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)

    def barrier(self) -> None:
        """Return when all ranks have called it. Raises ConnectionError when a peer is gone."""
        order = (self._receive, self._send) if self._leader else (self._send, self._receive)
        for action in order:
            for peer in self._peers:
                action(peer)

    @staticmethod
    def _send(peer: socket.socket) -> None:
        peer.sendall(b".")

    @staticmethod
    def _receive(peer: socket.socket) -> None:
        if not peer.recv(1):
            raise ConnectionError("a fake rank has left the group")


def _connect(address: tuple[str, int], patience_s: float = 30.0) -> socket.socket:
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return socket.create_connection(address)
        except ConnectionRefusedError:
            if time.monotonic() > deadline:
                raise
            time.sleep(0.01)


def _start_detached_process() -> None:
    import subprocess
    import sys

    subprocess.Popen([sys.executable, "-c", "import time; time.sleep(600)"], start_new_session=True)
