"""How a driver tells the conductor what it submitted and what came back: JSON lines with the shared clock."""

import json
from pathlib import Path
from time import perf_counter_ns


class Events:
    """Appends ``{"event": ..., "t_ns": ..., "job": ..., "error": ...}`` to a file."""

    def __init__(self, path: str) -> None:
        self._path = Path(path)  # opened for every line, because Ray pickles what holds this

    def write(self, event: str, job: int | None = None, error: str | None = None) -> None:
        """Append one event, stamped now."""
        line = {"event": event, "t_ns": perf_counter_ns(), "job": job, "error": error}
        with self._path.open("a") as file:
            file.write(json.dumps(line) + "\n")
