"""The file in which a driver tells the conductor when jobs were submitted and released, as JSON lines."""

from pathlib import Path
from time import perf_counter_ns

from paceline.schema.records import DriverEvent


class Events:
    """Appends ``DriverEvent`` lines, stamped with the clock that all processes of this host share, to a file."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)  # opened for each line: Ray pickles this object, and an open file cannot be pickled

    def accepting(self) -> None:
        """Write that the cluster accepts jobs from now on."""
        self._write(DriverEvent.Kind.ACCEPTING)

    def submitted(self, job: int) -> None:
        """Write that a job was submitted now."""
        self._write(DriverEvent.Kind.SUBMITTED, job)

    def released(self, job: int, error: str | None = None) -> None:
        """Write that a job has ended, and why where it ended badly."""
        self._write(DriverEvent.Kind.RELEASED, job, error)

    def _write(self, kind: DriverEvent.Kind, job: int | None = None, error: str | None = None) -> None:
        line = DriverEvent(event=kind, t_ns=perf_counter_ns(), job=job, error=error).model_dump_json()
        with self._path.open("a") as file:
            file.write(line + "\n")
