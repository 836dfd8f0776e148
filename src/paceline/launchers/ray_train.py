"""Ray Train's TorchTrainer: Ray places the ranks of one job and joins them into a process group.

The driver that calls it is ``paceline.drivers.ray_train``.
"""

from pathlib import Path

from paceline.launchers.contract import Command, LoadLauncher, Site
from paceline.launchers.matrix import ALL, Row


class RayTrainLauncher(LoadLauncher):
    """Starts a Ray cluster for each trial and calls ``TorchTrainer.fit``."""

    name = "ray-train"
    row = Row(
        ALL,
        many_jobs=False,
        why_one_job="several trainers in one cluster need room for their controllers; use ray-core for many jobs",
    )
    modules = ("torch", "ray")
    scheduler = "Ray Train"
    startup_estimate_s = 16.0

    def command(self, plan_file: Path, site: Site) -> Command:
        """Return the command of the driver."""
        return Command((site.python, "-m", "paceline.drivers.ray_train", str(plan_file)), site.environment)
