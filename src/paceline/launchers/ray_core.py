"""Ray tasks: each job is a task of one rank, Ray's scheduler places it, workers are reused (Ray's default)."""

from pathlib import Path

from paceline.launchers.contract import Command, LoadLauncher, Site


class RayCoreLauncher(LoadLauncher):
    """A cluster of its own for each trial, then all jobs submitted as tasks."""

    name = "ray-core"
    modules = ("torch", "ray")
    scheduler = "Ray's scheduler, worker processes reused"
    startup_estimate_s = 5.0

    def command(self, plan_file: Path, site: Site) -> Command:
        """Return the command of the driver."""
        return Command((site.python, "-m", "paceline.drivers.ray_core", str(plan_file)), site.environment)
