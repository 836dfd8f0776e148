"""The objects that the entry points name. The conductor imports this module, so nothing here imports torch."""

from pathlib import Path

from paceline.launchers.contract import Command, JobLauncher, Site
from paceline.launchers.matrix import Row
from paceline.strategies.descriptor import StrategyDescriptor

ALL_REDUCE = StrategyDescriptor(
    name="all-reduce",
    implementation="own_engine.all_reduce:AllReduce",
    modules=("torch",),
    summary="data parallel by hand: one all-reduce a tensor, after the backward pass",
    launchers=("torchrun", "ray-train", "ray-core"),
)


class SpawnLauncher(JobLauncher):
    """Ranks as children of one Python process, as many tutorials start them."""

    name = "spawn"
    row = Row(strategies=frozenset({"ddp", "all-reduce"}))
    modules = ("torch",)
    startup_estimate_s = 3.0

    def command(self, job_file: Path, ranks: int, site: Site) -> Command:
        argv = (site.python, "-m", "own_engine.spawn", str(job_file), str(ranks), str(site.port))
        return Command(argv, site.environment)
