"""A campaign: all trials of a run, one at a time. It can be interrupted and resumed, and it keeps a budget of time."""

import signal
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from enum import Enum
from types import FrameType

from filelock import FileLock, Timeout

from paceline.conductor.execution.progress import Progress
from paceline.conductor.execution.proof_runs import proofs_in_order, proofs_to_run
from paceline.conductor.execution.trial_runner import INTERRUPTS, TrialRunner
from paceline.conductor.planning.block_order import blocks_of
from paceline.conductor.planning.estimate import expected_s
from paceline.errors import RequestError
from paceline.launchers.environment import state_dir
from paceline.schema.run import Run
from paceline.schema.trial import Trial
from paceline.store.run_directory import RunDirectory, TrialDirectory


class Stop(Enum):
    """Why a campaign ended."""

    DONE = "done"
    BUDGET = "budget"
    INTERRUPTED = "interrupted"


@dataclass(frozen=True)
class Outcome:
    """Why a campaign ended, how long it took, and how many blocks are whole."""

    stop: Stop
    wall_s: float
    whole_blocks: int


@contextmanager
def exclusive_machine() -> Iterator[None]:
    """Hold the lock that lets one run measure on this machine. Raises RequestError when another run holds it."""
    folder = state_dir()
    try:
        folder.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise RequestError(f"state folder {folder} cannot be made ({error.strerror}): set XDG_STATE_HOME") from error
    lock = FileLock(folder / "run.lock")
    try:
        lock.acquire(blocking=False)
    except Timeout:
        raise RequestError(
            f"another Paceline run is measuring on this machine (it holds {folder / 'run.lock'}): wait for it to end"
        ) from None
    try:
        yield
    finally:
        lock.release()


@contextmanager
def interruptible() -> Iterator[None]:
    """Turn the first interrupting signal into KeyboardInterrupt and ignore further ones while the run cleans up."""
    if threading.current_thread() is not threading.main_thread():
        yield
        return

    def interrupt(_number: int, _frame: FrameType | None) -> None:
        for further in INTERRUPTS:
            signal.signal(further, signal.SIG_IGN)
        raise KeyboardInterrupt

    earlier_handlers = {number: signal.signal(number, interrupt) for number in INTERRUPTS}
    try:
        yield
    finally:
        for number, handler in earlier_handlers.items():
            signal.signal(number, handler)


def execute(run: Run, directory: RunDirectory, progress: Progress, budget_s: float | None) -> Outcome:
    """Run every trial of the plan that has no result yet, in order.

    A trial is not started when it is estimated to end after ``budget_s``; the campaign ends there.
    """
    campaign_start = time.monotonic()
    stop = Stop.DONE
    try:
        with interruptible():
            for trial, folder in _in_order(run, directory):
                if folder.finished:
                    continue
                spent_s = time.monotonic() - campaign_start
                if budget_s is not None and spent_s + expected_s(trial) > budget_s:
                    stop = Stop.BUDGET
                    break
                progress.started(trial)
                trial_start = time.monotonic()
                result = TrialRunner(trial, folder, progress.tick, run.suite.import_path).run()
                progress.ended(trial, result, time.monotonic() - trial_start)
    except KeyboardInterrupt:
        stop = Stop.INTERRUPTED
    finally:
        progress.close()
    return Outcome(stop, time.monotonic() - campaign_start, whole_blocks(run, directory))


def trials_to_run(run: Run, directory: RunDirectory) -> list[tuple[Trial, float]]:
    """Return every trial that has no result yet, with its expected seconds: timed trials first, then proofs."""
    timed = [trial for trial in run.plan if not directory.trial(trial).finished]
    return [(trial, expected_s(trial)) for trial in (*timed, *proofs_to_run(run, directory))]


def _in_order(run: Run, directory: RunDirectory) -> Iterator[tuple[Trial, TrialDirectory]]:
    """Yield the trials of the first block, then the proofs that its engines do the same work, then the other blocks."""
    yield from ((trial, directory.trial(trial)) for trial in run.plan if trial.block == 0)
    yield from proofs_in_order(run, directory)
    yield from ((trial, directory.trial(trial)) for trial in run.plan if trial.block > 0)


def whole_blocks(run: Run, directory: RunDirectory) -> int:
    """Return how many blocks have a result for every trial."""
    return sum(all(directory.trial(t).finished for t in trials) for trials in blocks_of(run.plan).values())
