"""Ray Train's TorchTrainer: Ray places the ranks of one job and joins them."""

from pathlib import Path

from paceline.launchers.contract import Command, LoadLauncher, Site
from paceline.launchers.matrix import MATRIX


class RayTrainLauncher(LoadLauncher):
    """A cluster of its own for each trial, then ``TorchTrainer.fit``."""

    name = "ray-train"
    row = MATRIX[name]
    modules = ("torch", "ray")
    scheduler = "Ray Train"
    startup_estimate_s = 16.0

    def command(self, plan_file: Path, site: Site) -> Command:
        """Return the command of the driver."""
        return Command((site.python, "-m", "paceline.drivers.ray_train", str(plan_file)), site.environment)
