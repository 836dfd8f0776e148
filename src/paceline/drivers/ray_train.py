"""``python -m paceline.drivers.ray_train PLAN.json``: run one job with Ray Train's TorchTrainer."""

import sys
from pathlib import Path
from typing import Any

from ray.train import FailureConfig, RunConfig, ScalingConfig
from ray.train.torch import TorchConfig, TorchTrainer

from paceline.drivers.events import Events
from paceline.drivers.ray_cluster import cluster
from paceline.schema.trial import LoadPlan


def train(config: dict[str, Any]) -> None:
    """Run one rank. Ray Train executes this function in a worker process, whose process group it has formed already."""
    from time import perf_counter_ns

    started_ns = perf_counter_ns()

    import ray.train

    from paceline.rank.entry import run_rank
    from paceline.strategies.contract import Membership

    context = ray.train.get_context()
    membership = Membership(
        rank=context.get_world_rank(),
        world_size=context.get_world_size(),
        local_rank=context.get_local_rank(),
        joined=True,
    )
    run_rank(config["job_file"], membership, started_ns)


def main(plan_path: str) -> None:
    """Run the plan's only job; write down when it was submitted and released."""
    plan = LoadPlan.model_validate_json(Path(plan_path).read_text())
    events = Events(plan.events_file)
    (job,) = plan.jobs
    gpu = plan.tier == "gpu"
    with cluster(plan):
        events.accepting()
        trainer = TorchTrainer(
            train,
            train_loop_config={"job_file": job.file},
            torch_config=TorchConfig(
                backend="nccl" if gpu else "gloo", timeout_s=60 * plan.conditions.collective_timeout_minutes
            ),
            scaling_config=ScalingConfig(
                num_workers=plan.ranks, use_gpu=gpu, resources_per_worker=None if gpu else {"CPU": plan.cores_per_rank}
            ),
            run_config=RunConfig(
                storage_path=str(Path(plan.temp_dir) / "results"), failure_config=FailureConfig(max_failures=0)
            ),
        )
        events.submitted(job.job_id)
        try:
            trainer.fit()
        except Exception as error:
            events.released(job.job_id, error=f"{type(error).__name__}: {error}")
        else:
            events.released(job.job_id)


if __name__ == "__main__":
    main(sys.argv[1])
