"""One trial from an empty folder to a result: prepare it, run its jobs, clean up, write its records, derive."""

import os
import signal
import sys
import time
import uuid
from collections.abc import Callable
from pathlib import Path
from time import perf_counter_ns

from paceline.analysis.one_trial.derive import derive
from paceline.analysis.one_trial.job_times import rank_times
from paceline.analysis.one_trial.metrics import unmeasured
from paceline.conductor.execution.load_driver import run_driver
from paceline.conductor.execution.placement import JobEnd, LoadEnd, TrialContext
from paceline.conductor.execution.slot_queue import SlotQueue
from paceline.conductor.machine import leftovers
from paceline.conductor.machine.background_load import background_load_between, read
from paceline.conductor.machine.processes import end_processes
from paceline.errors import RecordError
from paceline.launchers.contract import JobLauncher, LoadLauncher, Site, launcher_named
from paceline.launchers.environment import accelerator_names, base_environment, operator_cache, scripts_dir
from paceline.net import free_port, listened_on
from paceline.schema.records import JOB_MARKER, TRIAL_MARKER, BackgroundLoad, Ending, JobRecord, LoadRecord, Result
from paceline.schema.trial import Job, LoadPlan, PlannedJob, Status, Trial
from paceline.store import raw
from paceline.store.files import write_model
from paceline.store.run_directory import TrialDirectory

INTERRUPTS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
"""Signals that end a run; finished trials are kept."""

Tick = Callable[[int], None]
"""Called with the number of jobs that have ended."""


class TrialRunner:
    """Runs one trial, and leaves nothing of it on the machine but its folder."""

    def __init__(self, trial: Trial, directory: TrialDirectory, tick: Tick, import_path: str | None = None) -> None:
        self._trial = trial
        self._directory = directory
        self._tick = tick
        self._import_path = import_path
        self._launcher = launcher_named(trial.cell.engine.launcher)
        self._marker = f"{TRIAL_MARKER}={uuid.uuid4().hex}"
        self._ports: list[int] = []
        self._temp_dir = Path()

    def run(self) -> Result:
        """Run the trial, write its result and return it. Raises KeyboardInterrupt, after cleaning up and writing."""
        self._directory.begin(self._trial)
        leftovers.remove_build_locks(operator_cache())
        shared_before, wall_ns, started_ns = leftovers.shared_memory_names(), time.time_ns(), perf_counter_ns()
        self._temp_dir = leftovers.make_temp_dir()
        load = LoadEnd(None, [], [])
        # Devices of the GPU tier are accelerators, and ranks beside them may use every core that the conductor may.
        cores = self._trial.devices if self._trial.cell.tier == "cpu" else tuple(sorted(os.sched_getaffinity(0)))
        before = read(cores, self._marker)
        status, cause = Status.OK, None
        try:
            load = self._run_jobs()
        except KeyboardInterrupt:
            status, cause = Status.INTERRUPTED, "interrupted by the user"
            raise
        except Exception as error:
            status, cause = Status.INFRASTRUCTURE, f"the trial could not be run: {type(error).__name__}: {error}"
        finally:
            # Signals are held back until the trial is cleaned up and written.
            earlier_mask = signal.pthread_sigmask(signal.SIG_BLOCK, INTERRUPTS)
            background = background_load_between(before, read(cores, self._marker))
            removed = load.leftovers + self._clean_up(shared_before, wall_ns)
            wall_s = (perf_counter_ns() - started_ns) / 1e9
            ending = Ending(status=status, cause=cause, wall_s=wall_s, leftovers=removed)
            result = self._write(ending, load, started_ns, background)
            signal.pthread_sigmask(signal.SIG_SETMASK, earlier_mask)
        return result

    def _run_jobs(self) -> LoadEnd:
        files = [self._write_job(job_id) for job_id in range(self._trial.cell.load.jobs)]
        context = TrialContext(
            trial=self._trial,
            directory=self._directory,
            site=self._site,
            marker=self._marker,
            job_files=files,
            cwd=Path.cwd(),
            tick=self._tick,
        )
        if isinstance(self._launcher, JobLauncher):
            return SlotQueue(context, self._launcher).run()
        assert isinstance(self._launcher, LoadLauncher)
        return run_driver(context, self._launcher, self._write_plan(files))

    def _write_job(self, job_id: int) -> Path:
        folder = self._directory.job_dir(job_id).resolve()
        folder.mkdir(parents=True)
        leases = self._temp_dir / "leases"
        leases.mkdir(exist_ok=True)
        write_model(
            folder / "job.json",
            Job(
                trial_id=self._trial.id,
                job_id=job_id,
                cell=self._trial.cell,
                seed=self._trial.seed + 100_000 * job_id,
                proof=self._trial.proof,
                prove_end=self._trial.prove_end,
                conditions=self._trial.conditions,
                devices=self._trial.devices,
                lease_dir=str(leases),
                out_dir=str(folder),
                tree_marker=self._marker,
                alone=not self._trial.cell.load.many,
            ),
        )
        return folder / "job.json"

    def _write_plan(self, files: list[Path]) -> Path:
        path = self._directory.path.resolve() / "plan.json"
        write_model(
            path,
            LoadPlan(
                jobs=tuple(PlannedJob(job_id=i, file=str(file)) for i, file in enumerate(files)),
                ranks=self._trial.cell.ranks,
                cores_per_rank=self._trial.cell.cores_per_rank,
                devices=len(self._trial.devices),
                tier=self._trial.cell.tier,
                conditions=self._trial.conditions,
                launcher=self._trial.cell.variant.launcher,
                temp_dir=str(self._temp_dir),
                events_file=str(self._directory.driver_events_file.resolve()),
            ),
        )
        return path

    def _site(self, job_marker: str, devices: tuple[int, ...]) -> Site:
        port = free_port()
        self._ports.append(port)
        trial_name, trial_value = self._marker.split("=")
        markers = {trial_name: trial_value, JOB_MARKER: job_marker}
        accelerators = accelerator_names(devices) if self._trial.cell.tier == "gpu" else ()
        return Site(
            scripts=scripts_dir(),
            python=sys.executable,
            temp_dir=self._temp_dir,
            port=port,
            environment=base_environment(
                self._trial.conditions, self._trial.cell.tier, self._temp_dir, markers, self._import_path, accelerators
            ),
            accelerators=accelerators,
        )

    def _clean_up(self, shared_before: set[str], since_ns: int) -> list[str]:
        """End all processes of the trial and remove what it left behind; return a line for each thing that was there.

        An error in one step does not keep the other steps from running.
        """
        messages: list[str] = []

        def remove_shared_memory() -> list[str]:
            segments = leftovers.remove_shared_memory(shared_before, since_ns)
            return [f"left {len(segments)} shared-memory segments behind (removed)"] if segments else []

        def remove_temp_dir() -> list[str]:
            leftovers.remove_temp_dir(self._temp_dir)
            return []

        steps: tuple[Callable[[], list[str]], ...] = (
            lambda: [f"had to be killed: {name}" for name in end_processes(self._marker)],
            remove_shared_memory,
            remove_temp_dir,
            lambda: [f"port {port} is still listened on" for port in self._ports if listened_on(port)],
        )
        for step in steps:
            try:
                messages += step()
            except (OSError, RuntimeError) as error:
                messages.append(f"clean-up: {error}")
        return messages

    def _write(self, ending: Ending, load: LoadEnd, started_ns: int, background: BackgroundLoad) -> Result:
        jobs = [self._job_record(end) for end in load.jobs]
        self._directory.end(
            ending,
            LoadRecord(
                started_ns=started_ns,
                accepting_ns=load.accepting_ns,
                scheduler=self._launcher.placed_by(self._trial.cell.variant),
                surroundings=background,
            ),
            jobs,
        )
        try:
            result = derive(self._directory.records())
        except RecordError as error:
            reason = f"the records cannot be read: {error}"
            result = Result(
                trial_id=self._trial.id,
                status=Status.INVALID,
                cause=reason,
                measures=unmeasured(self._trial.cell, reason),
            )
        self._directory.write_result(result)
        return result

    def _job_record(self, end: JobEnd) -> JobRecord:
        """Return one record of a job: times that the conductor saw and times that the ranks wrote."""
        times = rank_times(raw.read_ranks(self._directory.job_dir(end.job_id)))
        return JobRecord(
            job_id=end.job_id,
            planned_ns=end.planned_ns,
            submitted_ns=end.submitted_ns,
            released_ns=end.released_ns,
            status=end.status,
            cause=end.cause,
            **times.model_dump(),
        )
