"""``torchrun`` (torch.distributed.run), as people run it on one machine."""

from pathlib import Path

from paceline.launchers.contract import Command, JobLauncher, Site
from paceline.launchers.matrix import MATRIX


class TorchrunLauncher(JobLauncher):
    """An agent starts the ranks; ``--standalone`` lets it pick its own free port."""

    name = "torchrun"
    row = MATRIX[name]
    modules = ("torch",)
    startup_estimate_s = 3.0

    def command(self, job_file: Path, ranks: int, site: Site) -> Command:
        """Return the torchrun command line; the loopback address avoids a host name that may not resolve."""
        argv = (
            str(site.scripts / "torchrun"),
            "--standalone",
            "--local-addr",
            "127.0.0.1",
            "--nproc-per-node",
            str(ranks),
            "--module",
            "paceline.rank",
            str(job_file),
        )
        return Command(argv, site.environment)
