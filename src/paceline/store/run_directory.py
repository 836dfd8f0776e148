"""Names and places of everything in a run directory (docs/run-directory.md), read and written in this one file."""

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
"""Endings that say nothing of an engine: a resumed run tries again."""


class TrialDirectory:
    """``RUN/trials/<id>``."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @property
    def finished(self) -> bool:
        """Whether the trial has a result (written last, so all else is there) that a resumed run need not repeat."""
        return (self.path / "result.json").exists() and self.result().status not in REPEATED

    def job_dir(self, job_id: int) -> Path:
        """Return the folder of one job's ranks."""
        return self.path / "jobs" / str(job_id)

    @property
    def driver_events_file(self) -> Path:
        """Where a driver writes what it submitted and got back."""
        return self.path / "driver-events.jsonl"

    def driver_events(self) -> Iterator[DriverEvent]:
        """Yield what a driver has written so far; nothing where there is none."""
        return (DriverEvent.model_validate(line) for line in raw.json_lines(self.driver_events_file))

    def begin(self, trial: Trial) -> None:
        """Make the folder and write the exact trial. What an interrupted attempt left is moved aside, never mixed."""
        if self.path.exists():
            attempt = sum(1 for _ in self.path.parent.glob(f"{self.path.name}.attempt-*")) + 1
            self.path.rename(self.path.with_name(f"{self.path.name}.attempt-{attempt}"))
        self.path.mkdir(parents=True)
        write_model(self.path / "trial.json", trial)

    def end(self, ending: Ending, load: LoadRecord, jobs: list[JobRecord]) -> None:
        """Write what the conductor saw; ranks have written theirs."""
        write_whole(self.path / "jobs.jsonl", "".join(job.model_dump_json() + "\n" for job in jobs))
        write_model(self.path / "load.json", load)
        write_model(self.path / "ending.json", ending)

    def write_result(self, result: Result) -> None:
        """Write what was derived. Its presence says that the trial is finished."""
        write_model(self.path / "result.json", result)

    @property
    def has_proof(self) -> bool:
        """Whether the outcome of a proof trial is written down."""
        return (self.path / "proof.json").exists()

    def write_proof(self, proof: Proof) -> None:
        """Write the outcome of a proof trial."""
        self.path.mkdir(parents=True, exist_ok=True)
        write_model(self.path / "proof.json", proof)

    def proof(self) -> Proof:
        """Return the outcome of a proof trial. Raises RecordError when it is missing or unreadable."""
        return read_model(self.path / "proof.json", Proof)

    def proof_arrays(self) -> dict[str, NDArray[np.float64]]:
        """Return what rank 0 kept of the weights, empty when it proved nothing. Raises RecordError when unreadable."""
        path = self.job_dir(0) / "rank-0-proof.npz"
        return raw.read_arrays(path) if path.exists() else {}

    def wall_s(self) -> float | None:
        """Return the seconds from the trial's start to its end, clean-up included; None where nothing was written."""
        path = self.path / "ending.json"
        return read_model(path, Ending).wall_s if path.exists() else None

    def result(self) -> Result:
        """Return the stored result. Raises RecordError when it is missing or unreadable."""
        return read_model(self.path / "result.json", Result)

    def records(self, *, with_arrays: bool = True) -> TrialRecords:
        """Read the raw records. Raises RecordError when a file is missing or unreadable."""
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
                found = raw.read_bounds(self.job_dir(job_id), record.rank)
                if found is not None:
                    bounds[job_id, record.rank] = found
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
    """``RUN``: run.json and one folder a trial."""

    def __init__(self, path: Path) -> None:
        self.path = path

    @classmethod
    def create(cls, path: Path, run: Run) -> "RunDirectory":
        """Make a new run directory. Raises RequestError when it cannot be written or holds something already."""
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
        """Open an existing run directory. Raises RequestError when it is none."""
        if not (path / "run.json").is_file():
            raise RequestError(f"{path} is not a run directory: it has no run.json")
        return cls(path)

    def run(self) -> Run:
        """Return run.json. Raises RecordError for a schema version that this Paceline does not know."""
        run = read_model(self.path / "run.json", Run)
        if run.schema_version != SCHEMA_VERSION:
            raise RecordError(
                f"{self.path} has schema version {run.schema_version}, this Paceline reads {SCHEMA_VERSION}: "
                "use the version that wrote it"
            )
        return run

    def trial(self, trial: Trial) -> TrialDirectory:
        """Return the folder of a trial, whether it exists or not."""
        return TrialDirectory(self.path / "trials" / trial.id)

    def proof(self, trial: Trial) -> TrialDirectory:
        """Return the folder of a proof trial, or of the single process that it is compared with."""
        return TrialDirectory(self.path / "proofs" / trial.id)
