"""``torchrun`` (torch.distributed.run), as it is used on one machine."""

from pathlib import Path

from paceline.launchers.contract import Command, JobLauncher, Site
from paceline.launchers.matrix import ALL, Row


class TorchrunLauncher(JobLauncher):
    """torchrun's agent starts the ranks; ``--standalone`` lets it choose a free port."""

    name = "torchrun"
    row = Row(ALL)
    modules = ("torch",)
    startup_estimate_s = 3.0

    def command(self, job_file: Path, ranks: int, site: Site) -> Command:
        """Return the torchrun command line, with the loopback address because the host's name may not resolve."""
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
