"""What runs of a test leave on the machine."""

from collections.abc import Iterable
from pathlib import Path

from paceline.conductor.machine.leftovers import SHARED_MEMORY
from paceline.schema.records import TRIAL_MARKER


def trial_processes(state_home: str) -> list[int]:
    """Return the processes of trials whose command line was started with this XDG_STATE_HOME."""
    found = []
    for entry in Path("/proc").iterdir():
        if entry.name.isdigit():
            try:
                environment = (entry / "environ").read_bytes().split(b"\0")
            except OSError:
                continue
            marked = any(line.startswith(f"{TRIAL_MARKER}=".encode()) for line in environment)
            if marked and f"XDG_STATE_HOME={state_home}".encode() in environment:
                found.append(int(entry.name))
    return found


def abandoned(segments: Iterable[str]) -> list[str]:
    """Return which segments of shared memory no living process has mapped: what is left when their makers are gone."""
    mapped = ""
    for process in Path("/proc").iterdir():
        try:
            mapped += (process / "maps").read_text() if process.name.isdigit() else ""
        except OSError:
            continue
    return [name for name in segments if str(SHARED_MEMORY / name) not in mapped]
