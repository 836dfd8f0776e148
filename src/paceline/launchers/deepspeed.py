"""The ``deepspeed`` command, as people run it on one machine."""

from pathlib import Path

from paceline.launchers.contract import Command, JobLauncher, Site
from paceline.launchers.matrix import MATRIX


class DeepSpeedLauncher(JobLauncher):
    """A runner starts a launcher that starts the ranks."""

    name = "deepspeed"
    row = MATRIX[name]
    modules = ("torch", "deepspeed")
    startup_estimate_s = 5.5

    def command(self, job_file: Path, ranks: int, site: Site) -> Command:
        """Return the deepspeed command line.

        The hostfile is one that does not exist: a stray /job/hostfile would make the runner try ssh. The number of
        accelerators is said, because a plain CPU machine counts as one; where there are some, their names are said,
        because next to a number the runner ignores CUDA_VISIBLE_DEVICES.
        """
        where = (
            ("--include", f"localhost:{','.join(site.accelerators)}")
            if site.accelerators
            else ("--num_accelerators", str(ranks))
        )
        argv = (
            str(site.scripts / "deepspeed"),
            "--hostfile",
            str(site.temp_dir / "no-hostfile"),
            *where,
            "--master_addr",
            "127.0.0.1",
            "--master_port",
            str(site.port),
            "--no_local_rank",
            "--module",
            "paceline.rank",
            str(job_file),
        )
        return Command(argv, site.environment)
