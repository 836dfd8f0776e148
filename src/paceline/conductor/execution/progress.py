"""What a person sees while a suite runs: a live table on a terminal, plain lines elsewhere. It draws rarely, because
the machine is being measured."""

import time
from collections.abc import Sequence
from typing import Protocol

from rich.console import Console, Group
from rich.live import Live
from rich.table import Table
from rich.text import Text

from paceline.schema.metrics import METRICS
from paceline.schema.records import Result
from paceline.schema.trial import Cell, Status, Trial


class Progress(Protocol):
    """What the campaign tells."""

    def started(self, trial: Trial) -> None:
        """A trial begins."""

    def tick(self, jobs_done: int) -> None:
        """Time passes within the trial."""

    def ended(self, trial: Trial, result: Result, wall_s: float) -> None:
        """A trial has its result."""

    def close(self) -> None:
        """Nothing follows."""


class Remaining:
    """Estimates the rest from the plan's estimates, corrected by how wrong they have been so far."""

    def __init__(self, estimates_s: dict[str, float]) -> None:
        self._open = dict(estimates_s)
        self._estimated_s = 0.0
        self._spent_s = 0.0

    def ended(self, trial: Trial, wall_s: float) -> None:
        """Learn from a finished trial."""
        self._estimated_s += self._open.pop(trial.id, 0.0)
        self._spent_s += wall_s

    @property
    def seconds(self) -> float:
        """What is left, the running trial included."""
        correction = self._spent_s / self._estimated_s if self._estimated_s else 1.0
        return sum(self._open.values()) * correction


def headline(cell: Cell, result: Result) -> str:
    """Return the one figure of a result that fits a progress line."""
    if result.status is not Status.OK:
        return f"{result.status}: {(result.cause or '').splitlines()[0] if result.cause else 'no cause'}"
    if not result.measures:
        return "recorded"
    name = "test_accuracy" if cell.evaluate else "makespan_s" if cell.load.many else "samples_per_s"
    value = result.measures[name].value
    if value is None:
        return "-"
    return f"{value:.1%} of held-out samples right" if cell.evaluate else f"{value:.4g} {METRICS[name].unit}"


class PlainProgress:
    """A line when a trial starts and one when it ends."""

    def __init__(self, console: Console, trials: Sequence[Trial], remaining: Remaining) -> None:
        self._console = console
        self._remaining = remaining
        self._total = len(trials)
        self._number = 0

    def started(self, trial: Trial) -> None:
        """Say which trial starts."""
        self._number += 1
        cell = trial.cell
        jobs = f", {cell.load.jobs} jobs" if cell.load.many else ""
        self._print(f"[{self._number}/{self._total}] {_heading(trial)} {cell.workload} {_who(trial)}{jobs} ...")

    def tick(self, jobs_done: int) -> None:
        """Stay quiet."""

    def ended(self, trial: Trial, result: Result, wall_s: float) -> None:
        """Say how it ended and how long the rest will take."""
        self._remaining.ended(trial, wall_s)
        self._print(
            f"[{self._number}/{self._total}] {headline(trial.cell, result)}  ({wall_s:.0f} s; "
            f"about {self._remaining.seconds / 60:.1f} min left)"
        )

    def close(self) -> None:
        """Nothing is open."""

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


def _heading(trial: Trial) -> str:
    return "same work:" if trial.proof else str(trial.cell.category)


def _who(trial: Trial) -> str:
    alone = trial.proof is not None and trial.proof.reference
    return "a single process, to compare with" if alone else str(trial.cell.engine)


class LiveProgress:
    """One row a cell, filled as trials end; all proofs of same work share one."""

    def __init__(self, console: Console, trials: Sequence[Trial], remaining: Remaining) -> None:
        self._remaining = remaining
        self._rows: dict[str, tuple[Trial, str, str]] = {_row(t): (t, "waiting", "") for t in trials}
        self._total, self._done, self._proofs = len(trials), 0, 0
        self._started_s = time.monotonic()
        self._trial_s = 0.0
        self._live = Live(self._draw(), console=console, auto_refresh=False, transient=True)
        self._live.start()

    def started(self, trial: Trial) -> None:
        """Mark the row."""
        self._trial_s = time.monotonic()
        self._set(trial, "running", "")

    def tick(self, jobs_done: int) -> None:
        """Count the seconds (and jobs) of the running trial."""
        running = next((trial for trial, state, _ in self._rows.values() if state.startswith("running")), None)
        if running is not None:
            load = running.cell.load
            jobs = f"{jobs_done} of {load.jobs} jobs done" if load.many else ""
            self._set(running, f"running {time.monotonic() - self._trial_s:.0f} s", jobs)

    def ended(self, trial: Trial, result: Result, wall_s: float) -> None:
        """Fill the row."""
        self._remaining.ended(trial, wall_s)
        self._done += 1
        self._proofs += trial.proof is not None
        figure = headline(trial.cell, result)
        self._set(trial, str(result.status), f"{self._proofs} {figure}" if trial.proof else figure)

    def close(self) -> None:
        """Take the table away: the final ones follow."""
        self._live.stop()

    def _set(self, trial: Trial, state: str, figure: str) -> None:
        self._rows[_row(trial)] = (trial, state, figure)
        self._live.update(self._draw(), refresh=True)

    def _draw(self) -> Group:
        table = Table(box=None, pad_edge=False)
        for column in ("category", "workload", "engine", "load", "state", "figure"):
            table.add_column(column, no_wrap=True)
        for trial, state, figure in self._rows.values():
            cell = trial.cell
            load = f"{cell.load.jobs} jobs" if cell.load.many else f"{cell.ranks} ranks"
            words = (_heading(trial), cell.workload, _who(trial), load)
            table.add_row(*words, Text(state), Text(figure, overflow="ellipsis"))
        spent = time.monotonic() - self._started_s
        footer = (
            f"{self._done} of {self._total} trials, {spent / 60:.1f} min spent, "
            f"about {self._remaining.seconds / 60:.1f} min left (estimate)"
        )
        return Group(table, Text(footer, style="dim"))


def _row(trial: Trial) -> str:
    return "proofs" if trial.proof else trial.cell.id


def progress_for(console: Console, to_do: Sequence[tuple[Trial, float]]) -> Progress:
    """Return the live table on a terminal, plain lines elsewhere; trials come with their estimated seconds."""
    trials = [trial for trial, _ in to_do]
    remaining = Remaining({trial.id: seconds for trial, seconds in to_do})
    if console.is_terminal:
        return LiveProgress(console, trials, remaining)
    return PlainProgress(console, trials, remaining)
