"""Fake ranks without torch, for the self-tests of the harness only. The agent is ``paceline.drivers.fake_agent``."""

from pathlib import Path

from paceline.launchers.contract import Command, JobLauncher, Site
from paceline.launchers.matrix import Row


class FakeLauncher(JobLauncher):
    """Runs a small agent that starts the ranks, as torchrun's agent does."""

    name = "fake"
    row = Row(frozenset({"fake"}))
    startup_estimate_s = 0.5
    selftest_only = True

    def command(self, job_file: Path, ranks: int, site: Site) -> Command:
        """Return the command of the agent."""
        environment = site.environment | {"MASTER_ADDR": "127.0.0.1", "MASTER_PORT": str(site.port)}
        return Command((site.python, "-m", "paceline.drivers.fake_agent", str(ranks), str(job_file)), environment)
