"""How a driver tells the conductor what it submitted and what came back: JSON lines with the shared clock."""

import json
from pathlib import Path
from time import perf_counter_ns


class Events:
    """Appends ``{"event": ..., "t_ns": ..., "job": ..., "error": ...}`` to a file."""

    def __init__(self, path: str) -> None:
        self._file = Path(path).open("a", buffering=1)  # noqa: SIM115 - lives as long as the driver

    def write(self, event: str, job: int | None = None, error: str | None = None) -> None:
        """Append one event, stamped now."""
        line = {"event": event, "t_ns": perf_counter_ns(), "job": job, "error": error}
        self._file.write(json.dumps(line) + "\n")
