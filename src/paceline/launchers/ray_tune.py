"""Ray Tune: each job is a Tune trial of one rank, and Tune's controller decides when it runs.

The driver that calls it is ``paceline.drivers.ray_tune``.
"""

from pathlib import Path

from paceline.launchers.contract import Command, LoadLauncher, Site
from paceline.launchers.matrix import SINGLE, Row


class RayTuneLauncher(LoadLauncher):
    """Starts a Ray cluster for each trial and calls ``Tuner.fit`` over all jobs."""

    name = "ray-tune"
    row = Row(SINGLE)
    modules = ("torch", "ray")
    scheduler = "Ray Tune, a fresh actor a job"
    startup_estimate_s = 9.0

    def command(self, plan_file: Path, site: Site) -> Command:
        """Return the command of the driver."""
        return Command((site.python, "-m", "paceline.drivers.ray_tune", str(plan_file)), site.environment)
