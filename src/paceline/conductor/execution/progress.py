"""What a person sees while a suite runs: a live table on a terminal, plain lines elsewhere.

The display is drawn rarely, because it uses the machine that is being measured.
"""

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
    """A display that the campaign keeps up to date."""

    def started(self, trial: Trial) -> None:
        """Show that a trial begins."""

    def tick(self, jobs_done: int) -> None:
        """Show that the trial goes on, with the number of its jobs that have ended."""

    def ended(self, trial: Trial, result: Result, wall_s: float) -> None:
        """Show the result of a trial, which took ``wall_s`` seconds."""

    def close(self) -> None:
        """Remove the display; no call follows."""


class Remaining:
    """Estimates the remaining time: the plan's estimates, corrected by how wrong they have been so far."""

    def __init__(self, estimates_s: dict[str, float]) -> None:
        self._unfinished_s = dict(estimates_s)
        self._estimated_s = 0.0
        self._spent_s = 0.0

    def ended(self, trial: Trial, wall_s: float) -> None:
        """Learn from a trial that took ``wall_s`` seconds."""
        self._estimated_s += self._unfinished_s.pop(trial.id, 0.0)
        self._spent_s += wall_s

    @property
    def seconds(self) -> float:
        """Seconds of all trials that have not ended; the running one counts in full."""
        correction = self._spent_s / self._estimated_s if self._estimated_s else 1.0
        return sum(self._unfinished_s.values()) * correction


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
        """Print which trial starts."""
        self._number += 1
        cell = trial.cell
        jobs = f", {cell.load.jobs} jobs" if cell.load.many else ""
        self._print(
            f"[{self._number}/{self._total}] {_heading(trial)} {cell.workload} {_engine_words(trial)}{jobs} ..."
        )

    def tick(self, jobs_done: int) -> None:
        """Print nothing."""

    def ended(self, trial: Trial, result: Result, wall_s: float) -> None:
        """Print how the trial ended and how long the rest will take."""
        self._remaining.ended(trial, wall_s)
        self._print(
            f"[{self._number}/{self._total}] {headline(trial.cell, result)}  ({wall_s:.0f} s; "
            f"about {self._remaining.seconds / 60:.1f} min left)"
        )

    def close(self) -> None:
        """Do nothing: there is no display to remove."""

    def _print(self, text: str) -> None:
        self._console.print(text, markup=False, highlight=False, soft_wrap=True)


def _heading(trial: Trial) -> str:
    return "same work:" if trial.proof else str(trial.cell.category)


def _engine_words(trial: Trial) -> str:
    is_reference_process = trial.proof is not None and trial.proof.reference
    return "a single process, to compare with" if is_reference_process else str(trial.cell.engine)


class LiveProgress:
    """A table with one row for each cell, updated as trials end; all proofs share one row."""

    def __init__(self, console: Console, trials: Sequence[Trial], remaining: Remaining) -> None:
        self._remaining = remaining
        self._rows: dict[str, tuple[Trial, str, str]] = {_row_key(trial): (trial, "waiting", "") for trial in trials}
        self._total, self._done, self._proofs = len(trials), 0, 0
        self._campaign_start_s = time.monotonic()
        self._trial_start_s = 0.0
        self._live = Live(self._draw(), console=console, auto_refresh=False, transient=True)
        self._live.start()

    def started(self, trial: Trial) -> None:
        """Mark the trial's row as running."""
        self._trial_start_s = time.monotonic()
        self._set(trial, "running", "")

    def tick(self, jobs_done: int) -> None:
        """Update the seconds, and the number of ended jobs, of the running trial."""
        running = next((trial for trial, state, _ in self._rows.values() if state.startswith("running")), None)
        if running is not None:
            load = running.cell.load
            jobs = f"{jobs_done} of {load.jobs} jobs done" if load.many else ""
            self._set(running, f"running {time.monotonic() - self._trial_start_s:.0f} s", jobs)

    def ended(self, trial: Trial, result: Result, wall_s: float) -> None:
        """Put the result into the trial's row."""
        self._remaining.ended(trial, wall_s)
        self._done += 1
        self._proofs += trial.proof is not None
        figure = headline(trial.cell, result)
        self._set(trial, str(result.status), f"{self._proofs} {figure}" if trial.proof else figure)

    def close(self) -> None:
        """Remove the table: the final tables follow."""
        self._live.stop()

    def _set(self, trial: Trial, state: str, figure: str) -> None:
        self._rows[_row_key(trial)] = (trial, state, figure)
        self._live.update(self._draw(), refresh=True)

    def _draw(self) -> Group:
        table = Table(box=None, pad_edge=False)
        for column in ("category", "workload", "engine", "load", "state", "figure"):
            table.add_column(column, no_wrap=True)
        for trial, state, figure in self._rows.values():
            cell = trial.cell
            load = f"{cell.load.jobs} jobs" if cell.load.many else f"{cell.ranks} ranks"
            fixed_columns = (_heading(trial), cell.workload, _engine_words(trial), load)
            table.add_row(*fixed_columns, Text(state), Text(figure, overflow="ellipsis"))
        spent_s = time.monotonic() - self._campaign_start_s
        footer = (
            f"{self._done} of {self._total} trials, {spent_s / 60:.1f} min spent, "
            f"about {self._remaining.seconds / 60:.1f} min left (estimate)"
        )
        return Group(table, Text(footer, style="dim"))


def _row_key(trial: Trial) -> str:
    return "proofs" if trial.proof else trial.cell.id


def progress_for(console: Console, estimates: Sequence[tuple[Trial, float]]) -> Progress:
    """Return the live table on a terminal, else plain lines. ``estimates``: each trial with its estimated seconds."""
    trials = [trial for trial, _ in estimates]
    remaining = Remaining({trial.id: seconds for trial, seconds in estimates})
    if console.is_terminal:
        return LiveProgress(console, trials, remaining)
    return PlainProgress(console, trials, remaining)
