"""The ``deepspeed`` command, as people run it on one machine."""

from pathlib import Path

from paceline.launchers.contract import Command, JobLauncher, Site


class DeepSpeedLauncher(JobLauncher):
    """A runner starts a launcher that starts the ranks."""

    name = "deepspeed"
    modules = ("torch", "deepspeed")
    startup_estimate_s = 5.5

    def command(self, job_file: Path, ranks: int, site: Site) -> Command:
        """Return the deepspeed command line.

        The hostfile is one that does not exist: a stray /job/hostfile would make the runner try ssh. The number of
        accelerators is said, because a plain CPU machine counts as one.
        """
        argv = (
            str(site.scripts / "deepspeed"),
            "--hostfile",
            str(site.temp_dir / "no-hostfile"),
            "--num_accelerators",
            str(ranks),
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
