"""Running a trial whose framework places all jobs itself (Ray): one driver submits them all."""

from pathlib import Path
from time import perf_counter_ns

from paceline.conductor.execution import failures
from paceline.conductor.execution.placement import TICK_S, JobEnd, LoadEnd, TrialContext
from paceline.conductor.machine.processes import Child, await_end, end_processes, oom_kills, wait_for_any
from paceline.launchers.contract import LoadLauncher
from paceline.schema.records import DriverEvent
from paceline.schema.trial import Status
from paceline.store.run_directory import TrialDirectory

CLUSTER_LEAVES_S = 10.0
"""Longest time that a cluster's daemons may outlive its driver."""


def run_driver(context: TrialContext, launcher: LoadLauncher, plan_file: Path) -> LoadEnd:
    """Run the driver to its end. Its deadline is that of the whole load: ``timeout_s`` for each round of jobs."""
    cell = context.trial.cell
    rounds = -(-cell.load.jobs // len(context.trial.slots))
    deadline_ns = perf_counter_ns() + int(rounds * cell.timeout_s * 1e9)
    oom_before = oom_kills()
    log = context.directory.path / "launcher.log"
    child = Child.start(
        launcher.command(plan_file, context.site("load", context.trial.devices)), context.marker, log, context.cwd
    )
    leftovers: list[str] = []
    timed_out = False
    while not child.ended:
        now = perf_counter_ns()
        if now >= deadline_ns:
            timed_out = True
            end_processes(child.marker)
        wait_for_any([child], min(TICK_S, (deadline_ns - now) / 1e9))
        context.tick(_released_count(context.directory))
    if not await_end(child.marker, CLUSTER_LEAVES_S):
        leftovers += [f"had to be killed: {name}" for name in end_processes(child.marker)]
    status = child.finish()
    ended_with = f"no end within {rounds * cell.timeout_s:g} s (timeout_s)" if timed_out else failures.exit_text(status)
    load = _from_events(context)
    for end in load.jobs:
        _set_status(end, context, log, ended_with, timed_out=timed_out, oom_killed=oom_kills() > oom_before)
    load.leftovers += leftovers
    return load


def _from_events(context: TrialContext) -> LoadEnd:
    """Return what the driver wrote about its jobs. Jobs are planned for the moment at which it accepts them."""
    accepting_ns = None
    ends = {job_id: JobEnd(job_id, 0) for job_id in range(len(context.job_files))}
    for event in context.directory.driver_events():
        if event.event is DriverEvent.Kind.ACCEPTING:
            accepting_ns = event.t_ns
            for end in ends.values():
                end.planned_ns = event.t_ns
        elif event.job is not None and event.event is DriverEvent.Kind.SUBMITTED:
            ends[event.job].submitted_ns = event.t_ns
        elif event.job is not None:
            ends[event.job].released_ns = event.t_ns
            ends[event.job].cause = event.error
    return LoadEnd(accepting_ns, list(ends.values()), [])


def _set_status(
    end: JobEnd, context: TrialContext, log: Path, ended_with: str, *, timed_out: bool, oom_killed: bool
) -> None:
    """Set status and cause of a job from the driver's events; a job without a release has failed."""
    if end.released_ns is not None and end.cause is None:
        return
    reason_lines = (end.cause or ended_with).strip().splitlines()
    failure = failures.explain(
        context.directory.job_dir(end.job_id),
        context.trial.cell.ranks,
        log,
        ended_with=reason_lines[0] if reason_lines else ended_with,
        oom_killed=oom_killed or "OutOfMemory" in (end.cause or ""),
    )
    end.status = Status.TIMEOUT if timed_out and end.released_ns is None else failure.status
    end.cause = failure.cause


def _released_count(directory: TrialDirectory) -> int:
    return sum(event.event is DriverEvent.Kind.RELEASED for event in directory.driver_events())
