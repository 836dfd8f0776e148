"""Paceline's own queue: jobs start first come, first served (FCFS), each in a free slot."""

from collections import deque
from dataclasses import dataclass
from pathlib import Path
from time import perf_counter_ns

from paceline.conductor.execution import failures
from paceline.conductor.execution.placement import TICK_S, JobEnd, LoadEnd, TrialContext
from paceline.conductor.machine.processes import Child, await_end, end_processes, oom_kills, wait_for_any
from paceline.launchers.contract import JobLauncher
from paceline.schema.records import JOB_MARKER
from paceline.schema.trial import Status

JOB_LEAVES_S = 2.0
"""Longest time that descendants of a job may outlive its command before they are ended."""


@dataclass
class _Running:
    child: Child
    end: JobEnd
    slot: tuple[int, ...]
    deadline_ns: int
    oom_before: int
    attempt: int = 0


class SlotQueue:
    """Starts each job as soon as a slot is free, in the order of the plan."""

    def __init__(self, context: TrialContext, launcher: JobLauncher) -> None:
        self._context = context
        self._launcher = launcher
        self._free = context.trial.slots
        self._running: list[_Running] = []
        self._leftovers: list[str] = []

    def run(self) -> LoadEnd:
        """Run all jobs to their end, each within its own deadline. A job that fails does not stop the others."""
        accepting_ns = perf_counter_ns()
        ends = [JobEnd(job_id, accepting_ns) for job_id in range(len(self._context.job_files))]
        waiting = deque(ends)
        while waiting or self._running:
            while waiting and self._free:
                self._start(waiting.popleft(), self._free.pop(0))
            self._wait()
            self._context.tick(sum(end.released_ns is not None for end in ends))
        return LoadEnd(accepting_ns, ends, self._leftovers)

    def _start(self, end: JobEnd, slot: tuple[int, ...], attempt: int = 0) -> None:
        context = self._context
        site = context.site(self._marker_value(end), slot)
        command = self._launcher.command(context.job_files[end.job_id], context.trial.cell.ranks, site)
        folder = context.directory.job_dir(end.job_id)
        folder.mkdir(parents=True, exist_ok=True)
        if end.submitted_ns is None:
            end.submitted_ns = perf_counter_ns()
        child = Child.start(command, f"{JOB_MARKER}={self._marker_value(end)}", folder / "launcher.log", context.cwd)
        deadline_ns = perf_counter_ns() + int(context.trial.cell.timeout_s * 1e9)
        self._running.append(_Running(child, end, slot, deadline_ns, oom_kills(), attempt))

    def _wait(self) -> None:
        now = perf_counter_ns()
        next_deadline_ns = min(running.deadline_ns for running in self._running)
        wait_for_any((running.child for running in self._running), min(TICK_S, (next_deadline_ns - now) / 1e9))
        seen_ns = perf_counter_ns()
        for running in list(self._running):
            if running.child.ended:
                running.end.released_ns = running.child.ended_ns
                self._release(running)
            elif seen_ns >= running.deadline_ns:
                running.end.status = Status.TIMEOUT
                self._release(running)

    def _release(self, running: _Running) -> None:
        """Record how a job ended, end its last processes and free its slot; repeat it once if its port was taken."""
        self._running.remove(running)
        self._free.append(running.slot)
        end, child, context = running.end, running.child, self._context
        if end.status is Status.TIMEOUT:
            end_processes(child.marker)
            end.released_ns = perf_counter_ns()
        elif not await_end(child.marker, JOB_LEAVES_S):
            end_processes(child.marker)
            self._leftovers.append(f"processes of job {end.job_id} outlived its launcher")
        status = child.finish()
        if end.status is Status.TIMEOUT:
            end.cause = f"no end within {context.trial.cell.timeout_s:g} s (timeout_s)\nlog: {child.log}"
            return
        if status == 0:
            return
        failure = failures.explain(
            context.directory.job_dir(end.job_id),
            context.trial.cell.ranks,
            child.log,
            ended_with=failures.exit_text(status),
            oom_killed=oom_kills() > running.oom_before,
        )
        if failure.port_taken and running.attempt == 0:
            _set_aside(context.directory.job_dir(end.job_id))
            end.released_ns = None
            self._free.remove(running.slot)
            self._start(end, running.slot, attempt=1)
            return
        end.status, end.cause = failure.status, failure.cause

    def _marker_value(self, end: JobEnd) -> str:
        return f"{self._context.marker.partition('=')[2]}/{end.job_id}"


def _set_aside(job_dir: Path) -> None:
    """Move the files of a first attempt into a folder of their own, so that the second does not mix with them."""
    aside = job_dir / "attempt-1"
    aside.mkdir()
    for entry in list(job_dir.iterdir()):
        if entry != aside and entry.name != "job.json":
            entry.rename(aside / entry.name)
