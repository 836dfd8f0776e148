"""Ray Tune: each job is a Tune trial of one rank, Tune's controller decides when it runs."""

from pathlib import Path

from paceline.launchers.contract import Command, LoadLauncher, Site
from paceline.launchers.matrix import MATRIX


class RayTuneLauncher(LoadLauncher):
    """A cluster of its own for each trial, then ``Tuner.fit`` over all jobs."""

    name = "ray-tune"
    row = MATRIX[name]
    modules = ("torch", "ray")
    scheduler = "Ray Tune, a fresh actor a job"
    startup_estimate_s = 9.0

    def command(self, plan_file: Path, site: Site) -> Command:
        """Return the command of the driver."""
        return Command((site.python, "-m", "paceline.drivers.ray_tune", str(plan_file)), site.environment)
