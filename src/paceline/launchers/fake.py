"""Starts fake ranks without torch, for the self-tests of the harness only."""

from pathlib import Path

from paceline.launchers.contract import Command, JobLauncher, Site
from paceline.launchers.matrix import MATRIX


class FakeLauncher(JobLauncher):
    """A small agent forks the ranks, as torchrun's would."""

    name = "fake"
    row = MATRIX[name]
    startup_estimate_s = 0.5
    selftest_only = True

    def command(self, job_file: Path, ranks: int, site: Site) -> Command:
        """Return the command of the agent."""
        environment = site.environment | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(site.port)}
        return Command((site.python, "-m", "paceline.drivers.fake_agent", str(ranks), str(job_file)), environment)
