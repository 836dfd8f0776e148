"""``python -m paceline.drivers.ray_core PLAN.json``: run every job of the plan as Ray tasks; Ray places them."""

import sys
from pathlib import Path
from typing import Any

import ray
from ray.util.placement_group import PlacementGroup, placement_group, remove_placement_group
from ray.util.scheduling_strategies import PlacementGroupSchedulingStrategy

from paceline.drivers.events import Events
from paceline.drivers.ray_cluster import cluster
from paceline.net import free_port
from paceline.schema.trial import LoadPlan


def train(job_file: str, rank: int, ranks: int, port: int) -> None:
    """Run one rank. Ray executes this function in a worker process."""
    import os
    import sys
    from time import perf_counter_ns

    started_ns = perf_counter_ns()
    reused = "paceline.rank.entry" in sys.modules

    from paceline.net import free_port
    from paceline.rank.entry import run_rank
    from paceline.strategies.contract import Membership

    if ranks == 1:
        port = free_port()  # the task may have waited so long that the port of its submission is taken
    os.environ.update(
        MASTER_ADDR="127.0.0.1", MASTER_PORT=str(port), RANK=str(rank), WORLD_SIZE=str(ranks), LOCAL_RANK=str(rank)
    )
    run_rank(job_file, Membership(rank, ranks, rank, reused_process=reused), started_ns)


class Jobs:
    """The jobs in flight, with their tasks and placement groups."""

    def __init__(self, plan: LoadPlan, events: Events) -> None:
        self._plan = plan
        self._events = events
        resources = {"num_gpus": 1} if plan.tier == "gpu" else {"num_cpus": plan.cores_per_rank}
        self._bundle = {"GPU": 1} if plan.tier == "gpu" else {"CPU": plan.cores_per_rank}
        self._task = ray.remote(max_retries=0, **resources, **plan.launcher)(train)
        self._job_of_task: dict[Any, int] = {}
        self._unfinished_ranks: dict[int, int] = {}
        self._errors: dict[int, str] = {}
        self._groups: dict[int, PlacementGroup] = {}

    def submit(self, job_id: int, job_file: str) -> None:
        """Submit one task for each rank of a job; Ray holds them back until their resources are free."""
        ranks, task = self._plan.ranks, self._task
        if ranks > 1:
            group = placement_group([self._bundle] * ranks, strategy="STRICT_PACK")
            self._groups[job_id] = group
            task = task.options(scheduling_strategy=PlacementGroupSchedulingStrategy(group))
        port = free_port()
        for rank in range(ranks):
            self._job_of_task[task.remote(job_file, rank, ranks, port)] = job_id
        self._unfinished_ranks[job_id] = ranks
        self._events.submitted(job_id)

    def wait(self) -> None:
        """Wait for all jobs; write down the release of each when the last of its ranks has ended."""
        while self._job_of_task:
            (done, *_), _ = ray.wait(list(self._job_of_task), num_returns=1)
            job_id = self._job_of_task.pop(done)
            try:
                ray.get(done)
            except ray.exceptions.RayError as error:
                self._errors.setdefault(job_id, f"{type(error).__name__}: {error}")
            self._unfinished_ranks[job_id] -= 1
            if self._unfinished_ranks[job_id] == 0:
                self._events.released(job_id, error=self._errors.get(job_id))
                if job_id in self._groups:
                    remove_placement_group(self._groups.pop(job_id))


def main(plan_path: str) -> None:
    """Submit all jobs at once and wait for them."""
    plan = LoadPlan.model_validate_json(Path(plan_path).read_text())
    events = Events(plan.events_file)
    with cluster(plan):
        events.accepting()
        jobs = Jobs(plan, events)
        for job in plan.jobs:
            jobs.submit(job.job_id, job.file)
        jobs.wait()


if __name__ == "__main__":
    main(sys.argv[1])
