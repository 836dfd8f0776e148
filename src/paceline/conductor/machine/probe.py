"""Running a probe: a short child process that answers one question and may import frameworks to do so."""

import subprocess
import sys
import uuid
from collections.abc import Sequence
from pathlib import Path

from paceline.conductor.machine.leftovers import make_temp_dir, remove_temp_dir
from paceline.conductor.machine.processes import end_processes, end_with_parent
from paceline.launchers.environment import base_environment
from paceline.schema.conditions import Conditions
from paceline.schema.records import TRIAL_MARKER


def run_probe(
    module: str,
    arguments: Sequence[str],
    patience_s: float,
    import_path: str | None = None,
    cwd: Path | None = None,
    *,
    merge_errors: bool = False,
) -> subprocess.CompletedProcess[str] | None:
    """Run ``python -m module`` in the environment of ranks on the CPU; return None when it takes longer than allowed.

    ``import_path`` is where the user's own modules are looked for, besides the Python path. Without ``cwd`` the probe
    works in its temporary folder. ``merge_errors`` puts standard error into ``stdout``, in the order of printing.

    Every process that the probe leaves behind is ended. Raises RuntimeError when one survives even that.
    """
    temp_dir = make_temp_dir()
    marker = uuid.uuid4().hex
    # Files, not pipes: a pipe reaches its end only when every descendant that inherited it has ended.
    output_file, error_file = temp_dir / "stdout", temp_dir / "stderr"
    try:
        with output_file.open("wb") as output, error_file.open("wb") as errors:
            process = subprocess.Popen(
                [sys.executable, "-m", module, *arguments],
                env=base_environment(Conditions(), "cpu", temp_dir, {TRIAL_MARKER: marker}, import_path),
                cwd=cwd or temp_dir,
                stdin=subprocess.DEVNULL,
                stdout=output,
                stderr=subprocess.STDOUT if merge_errors else errors,
                start_new_session=True,
                preexec_fn=end_with_parent,  # noqa: PLW1509
            )
        try:
            status = process.wait(patience_s)
        except subprocess.TimeoutExpired:
            return None
        finally:
            end_processes(f"{TRIAL_MARKER}={marker}")
            process.kill()  # a process may overwrite its environment, and the marker with it
            process.wait()
        return subprocess.CompletedProcess(
            process.args, status, output_file.read_text(errors="replace"), error_file.read_text(errors="replace")
        )
    finally:
        remove_temp_dir(temp_dir)
