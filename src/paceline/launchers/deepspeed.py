"""The ``deepspeed`` command, as it is used on one machine."""

from pathlib import Path

from paceline.launchers.contract import Command, JobLauncher, Site
from paceline.launchers.matrix import ZERO, Row


class DeepSpeedLauncher(JobLauncher):
    """DeepSpeed's runner starts DeepSpeed's launcher, which starts the ranks."""

    name = "deepspeed"
    row = Row(ZERO)
    modules = ("torch", "deepspeed")
    startup_estimate_s = 5.5

    def command(self, job_file: Path, ranks: int, site: Site) -> Command:
        """Return the deepspeed command line.

        The named hostfile does not exist: without a name the runner would read a stray /job/hostfile and try ssh.
        On the CPU tier the number of ranks must be given, because the runner counts a CPU machine as one accelerator.
        With accelerators their names are given, because a number would make the runner ignore CUDA_VISIBLE_DEVICES.
        """
        devices = (
            ("--include", f"localhost:{','.join(site.accelerators)}")
            if site.accelerators
            else ("--num_accelerators", str(ranks))
        )
        argv = (
            str(site.scripts / "deepspeed"),
            "--hostfile",
            str(site.temp_dir / "no-hostfile"),
            *devices,
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
