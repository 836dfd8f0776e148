"""Files of a run directory (docs/run-directory.md): only this module knows their names and places."""

from collections.abc import Iterator
from pathlib import Path

import numpy as np
from numpy.typing import NDArray
from pydantic import ValidationError

from paceline.errors import RecordError, RequestError
from paceline.schema.proof import Proof
from paceline.schema.records import SCHEMA_VERSION, DriverEvent, Ending, JobRecord, LoadRecord, Result
from paceline.schema.run import Run
from paceline.schema.trial import Status, Trial
from paceline.schema.trial_records import TrialRecords
from paceline.store import raw
from paceline.store.files import read_model, write_model, write_whole

REPEATED = (Status.INTERRUPTED, Status.INFRASTRUCTURE)
"""Statuses that say nothing about an engine: a resumed run repeats these trials."""


class TrialDirectory:
    """Folder of one trial: ``RUN/trials/<id>`` or ``RUN/proofs/<id>``."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def finished(self) -> bool:
        """Whether the trial has a result and a resumed run need not repeat it. The result is the last file written."""
        return (self.path / "result.json").exists() and self.result().status not in REPEATED

    def job_dir(self, job_id: int) -> Path:
        """Return the folder of one job's ranks."""
        return self.path / "jobs" / str(job_id)

    @property
    def driver_events_file(self) -> Path:
        """File in which a driver writes when jobs were submitted and released."""
        return self.path / "driver-events.jsonl"

    def driver_events(self) -> Iterator[DriverEvent]:
        """Yield the events that a driver has written so far; none for a trial without a driver."""
        return (DriverEvent.model_validate(line) for line in raw.json_lines(self.driver_events_file))

    def begin(self, trial: Trial) -> None:
        """Make the folder and write the exact trial. The folder of an earlier attempt is renamed to ``attempt-N``."""
        if self.path.exists():
            attempt = sum(1 for _ in self.path.parent.glob(f"{self.path.name}.attempt-*")) + 1
            self.path.rename(self.path.with_name(f"{self.path.name}.attempt-{attempt}"))
        self.path.mkdir(parents=True)
        write_model(self.path / "trial.json", trial)

    def end(self, ending: Ending, load: LoadRecord, jobs: list[JobRecord]) -> None:
        """Write the conductor's records of a trial; its ranks have written their own by now."""
        write_whole(self.path / "jobs.jsonl", "".join(job.model_dump_json() + "\n" for job in jobs))
        write_model(self.path / "load.json", load)
        write_model(self.path / "ending.json", ending)

    def write_result(self, result: Result) -> None:
        """Write the derived result, which marks the trial as finished."""
        write_model(self.path / "result.json", result)

    @property
    def has_proof(self) -> bool:
        """Whether the outcome of a proof trial has been written."""
        return (self.path / "proof.json").exists()

    def write_proof(self, proof: Proof) -> None:
        """Write the outcome of a proof trial."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_model(self.path / "proof.json", proof)

    def proof(self) -> Proof:
        """Return the outcome of a proof trial. Raises RecordError when it is missing or unreadable."""
        return read_model(self.path / "proof.json", Proof)

    def proof_arrays(self) -> dict[str, NDArray[np.float64]]:
        """Return rank 0's sketches of weights by name, empty where it took none. Raises RecordError when unreadable."""
        path = self.job_dir(0) / "rank-0-proof.npz"
        return raw.read_arrays(path) if path.exists() else {}

    def wall_s(self) -> float | None:
        """Return the seconds from the trial's start to its end, clean-up included; None for a trial without an end."""
        path = self.path / "ending.json"
        return read_model(path, Ending).wall_s if path.exists() else None

    def result(self) -> Result:
        """Return the stored result. Raises RecordError when it is missing or unreadable."""
        return read_model(self.path / "result.json", Result)

    def records(self, *, with_arrays: bool = True) -> TrialRecords:
        """Read the raw records. Raises RecordError when a file is missing or unreadable.

        ``with_arrays``: also step boundaries and sketches of weights.
        """
        try:
            return self._records(with_arrays)
        except (ValidationError, KeyError, TypeError) as error:
            raise RecordError(f"{self.path} holds a malformed record: {error}") from error

    def _records(self, with_arrays: bool) -> TrialRecords:
        trial = read_model(self.path / "trial.json", Trial)
        jobs = [JobRecord.model_validate(line) for line in raw.json_lines(self.path / "jobs.jsonl")]
        ranks = {job.job_id: raw.read_ranks(self.job_dir(job.job_id)) for job in jobs}
        bounds = {}
        for job_id, records in ranks.items() if with_arrays else ():
            for record in records:
                rank_bounds = raw.read_bounds(self.job_dir(job_id), record.rank)
                if rank_bounds is not None:
                    bounds[job_id, record.rank] = rank_bounds
        return TrialRecords(
            trial=trial,
            ending=read_model(self.path / "ending.json", Ending),
            load=read_model(self.path / "load.json", LoadRecord),
            jobs=jobs,
            ranks=ranks,
            bounds=bounds,
            proof_arrays=self.proof_arrays() if with_arrays else {},
        )


class RunDirectory:
    """Folder of a run: run.json, and one folder for each trial and each proof."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, run: Run) -> "RunDirectory":
        """Make a new run directory. Raises RequestError when it cannot be written or is not empty."""
        try:
            path.mkdir(parents=True, exist_ok=True)
            if any(path.iterdir()):
                raise RequestError(f"output directory {path} is not empty: name another with --out, or --resume {path}")
            (path / "trials").mkdir()
            write_model(path / "run.json", run)
        except OSError as error:
            raise RequestError(
                f"output directory {path} cannot be written ({error.strerror}): name another with --out"
            ) from error
        return cls(path)

    @classmethod
    def open(cls, path: Path) -> "RunDirectory":
        """Open an existing run directory. Raises RequestError when the folder is not a run directory."""
        if not (path / "run.json").is_file():
            raise RequestError(f"{path} is not a run directory: it has no run.json")
        return cls(path)

    def run(self) -> Run:
        """Return the run that run.json describes. Raises RecordError when its schema version is not this Paceline's."""
        run = read_model(self.path / "run.json", Run)
        if run.schema_version != SCHEMA_VERSION:
            raise RecordError(
                f"{self.path} has schema version {run.schema_version}, this Paceline reads {SCHEMA_VERSION}: "
                "use the version that wrote it"
            )
        return run

    def trial(self, trial: Trial) -> TrialDirectory:
        """Return the folder of a timed trial, whether it exists or not."""
        return TrialDirectory(self.path / "trials" / trial.id)

    def proof(self, trial: Trial) -> TrialDirectory:
        """Return the folder of a proof trial, or of the reference process that it is compared with."""
        return TrialDirectory(self.path / "proofs" / trial.id)
