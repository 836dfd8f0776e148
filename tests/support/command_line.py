"""The real command line, as a process of its own or within the test's."""

import io
import json
import os
import subprocess
import sys
from contextlib import chdir, redirect_stderr, redirect_stdout
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest.mock import patch

from paceline.cli.main import main


@dataclass
class Cli:
    """The ``paceline`` command, with a state folder of its own so that tests do not wait for each other."""

    folder: Path

    def environment(self, **more: str) -> dict[str, str]:
        return os.environ | {"XDG_STATE_HOME": str(self.folder / "state"), "NO_COLOR": "1"} | more

    def argv(self, *arguments: str | Path) -> list[str]:
        return [sys.executable, "-m", "paceline.cli.main", *map(str, arguments)]

    def __call__(self, *arguments: str | Path, **more: Any) -> subprocess.CompletedProcess[str]:
        return subprocess.run(
            self.argv(*arguments),
            env=self.environment(**more),
            cwd=self.folder,
            text=True,
            capture_output=True,
            timeout=280,
        )

    def here(self, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a command that starts no trial within this process, which saves a second of imports."""
        argv = ["paceline", *map(str, arguments)]
        out, err = io.StringIO(), io.StringIO()
        with (
            patch.object(sys, "argv", argv),
            patch.dict(os.environ, self.environment()),
            chdir(self.folder),
            redirect_stdout(out),
            redirect_stderr(err),
        ):
            try:
                main()
                status = 0
            except SystemExit as end:
                status = end.code if isinstance(end.code, int) else int(end.code is not None)
        return subprocess.CompletedProcess(argv, status, out.getvalue(), err.getvalue())

    def suite(self, text: str, *arguments: str | Path) -> subprocess.CompletedProcess[str]:
        """Run a suite given as YAML into ``self.folder / "run"``."""
        path = self.folder / "suite.yaml"
        path.write_text(text)
        return self("run", path, "--out", self.folder / "run", *arguments)

    def document(self) -> dict[str, Any]:
        shown = self.here("show", self.folder / "run", "--json")
        assert shown.returncode == 0, shown.stderr
        found: dict[str, Any] = json.loads(shown.stdout)
        return found
