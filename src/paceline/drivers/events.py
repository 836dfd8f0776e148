"""How a driver tells the conductor what it submitted and what came back: JSON lines with the shared clock."""

from pathlib import Path
from time import perf_counter_ns

from paceline.schema.records import DriverEvent


class Events:
    """Appends ``DriverEvent`` lines to a file."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)  # opened for every line, because Ray pickles what holds this

    def accepting(self) -> None:
        """Write that jobs can be submitted from now on."""
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
