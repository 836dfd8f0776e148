"""``python -m paceline.drivers.ray_core PLAN.json``: every job of the plan as a Ray task; Ray places them."""

import sys
from pathlib import Path
from typing import Any

import ray

from paceline.drivers.events import Events
from paceline.drivers.ray_cluster import cluster
from paceline.spec.trial import LoadPlan


def train(job_file: str) -> None:
    """Run one rank inside a Ray worker (executed there)."""
    import sys
    from time import perf_counter_ns

    started_ns = perf_counter_ns()
    reused = "paceline.rank.entry" in sys.modules

    from paceline.rank.entry import run_rank
    from paceline.strategies.contract import Membership

    run_rank(job_file, Membership(reused_process=reused), started_ns)


def main(plan_path: str) -> None:
    """Submit all jobs together and write down when each was submitted and came back."""
    plan = LoadPlan.model_validate_json(Path(plan_path).read_text())
    events = Events(plan.events_file)
    resources: dict[str, Any] = {"num_gpus": 1} if plan.tier == "gpu" else {"num_cpus": 1}
    task = ray.remote(max_retries=0, **resources)(train)
    with cluster(plan):
        events.write("accepting")
        pending = {}
        for job in plan.jobs:
            pending[task.remote(job.file)] = job.job_id
            events.write("submitted", job.job_id)
        while pending:
            (done, *_), _ = ray.wait(list(pending), num_returns=1)
            job_id = pending.pop(done)
            try:
                ray.get(done)
            except ray.exceptions.RayError as error:
                events.write("released", job_id, error=f"{type(error).__name__}: {error}")
            else:
                events.write("released", job_id)


if __name__ == "__main__":
    main(sys.argv[1])
