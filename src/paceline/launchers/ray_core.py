"""Ray tasks: a job of one rank is a task, a job of several ranks a placement group with one task for each rank.

The driver that submits them to Ray is ``paceline.drivers.ray_core``.
"""

from pathlib import Path
from typing import ClassVar

from paceline.launchers.contract import Command, LoadLauncher, Site
from paceline.launchers.matrix import ALL, Row
from paceline.schema.suite import Variant

FRESH = {"max_calls": 1}
"""Options of Ray tasks that give each of them a new worker process."""


class RayCoreLauncher(LoadLauncher):
    """Starts a Ray cluster for each trial and submits all jobs as tasks; Ray decides when and where they run."""

    name = "ray-core"
    row = Row(ALL)
    modules = ("torch", "ray")
    scheduler = "Ray's scheduler"
    startup_estimate_s = 5.0
    variants: ClassVar[dict[str, Variant]] = {
        "reused": Variant(summary="worker processes are reused (Ray's default)"),
        "fresh": Variant(launcher=FRESH, summary="a new worker process for every task"),
    }

    def placed_by(self, variant: Variant) -> str:
        """Return the scheduler's name and whether worker processes are reused: both change times."""
        processes = "fresh processes" if variant.launcher == FRESH else "worker processes reused"
        return f"{self.scheduler}, {processes}"

    def command(self, plan_file: Path, site: Site) -> Command:
        """Return the command of the driver."""
        return Command((site.python, "-m", "paceline.drivers.ray_core", str(plan_file)), site.environment)
