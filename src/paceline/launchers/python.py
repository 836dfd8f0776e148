"""Plain ``python``: one rank in one process, without an agent; with all cores it is the baseline of every category."""

from pathlib import Path

from paceline.launchers.contract import Command, JobLauncher, Site
from paceline.launchers.matrix import SINGLE, Row
from paceline.schema.suite import Variant


class PythonLauncher(JobLauncher):
    """The cheapest way to start one rank."""

    name = "python"
    row = Row(SINGLE)
    modules = ("torch",)
    startup_estimate_s = 0.3
    variants = {"all-cores": Variant(cores_per_rank="all", summary="one process with all cores of the machine")}

    def command(self, job_file: Path, ranks: int, site: Site) -> Command:  # noqa: ARG002 - always one rank
        """Return the command of the rank itself."""
        return Command((site.python, "-m", "paceline.rank", str(job_file)), site.environment)
