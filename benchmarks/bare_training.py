"""A training as a person would write it, without a harness: ``whole_trial.py`` compares Paceline's trials with it.

torchrun ... benchmarks/bare_training.py LAUNCHER STRATEGY WORKLOAD MICRO_BATCH STEPS
"""

import os
import sys


def train(strategy: str, name: str, micro_batch: int, steps: int) -> None:
    """Train as one rank of a job."""
    import numpy as np
    import torch
    import torch.distributed as dist

    from paceline.workloads.contract import load_workload
    from paceline.workloads.descriptor import workload_named

    rank, ranks = int(os.environ["RANK"]), int(os.environ["WORLD_SIZE"])
    os.sched_setaffinity(0, {sorted(os.sched_getaffinity(0))[rank]})
    torch.set_num_threads(1)
    workload = load_workload(name, "cpu", workload_named(name).tiers["cpu"].datasets[-1])
    joined = dist.is_initialized()
    model = workload.build()
    optimiser = torch.optim.AdamW(model.parameters(), lr=workload.optimiser.learning_rate, foreach=False)
    if strategy == "ddp":
        if not joined:
            dist.init_process_group("gloo")
        model = torch.nn.parallel.DistributedDataParallel(model, broadcast_buffers=False)
    else:
        import deepspeed

        deepspeed.init_distributed("gloo", auto_mpi_discovery=False, verbose=False)
        config = {
            "train_micro_batch_size_per_gpu": micro_batch,
            "zero_optimization": {"stage": int(strategy.removeprefix("zero"))},
            "zero_allow_untested_optimizer": True,
            "gradient_clipping": 0.0,
        }
        model, optimiser, _, _ = deepspeed.initialize(
            model=model, optimizer=optimiser, config=config, dist_init_required=False
        )
    order = np.random.default_rng(0).permutation(workload.samples)
    for step in range(steps):
        first = (step * ranks + rank) * micro_batch
        batch = workload.batch(order[np.arange(first, first + micro_batch) % len(order)])
        loss = workload.loss(model, batch)
        if strategy == "ddp":
            optimiser.zero_grad()
            loss.backward()
            optimiser.step()
        else:
            model.backward(loss)
            model.step()
    if not joined:
        # With a model that outlives its gloo group, this script has once failed to end.
        del loss, model, optimiser
        dist.barrier()
        dist.destroy_process_group()


def train_in_ray(strategy: str, name: str, micro_batch: int, steps: int) -> None:
    """Train as the driver of a Ray Train script."""
    import ray
    from ray.train import RunConfig, ScalingConfig
    from ray.train.torch import TorchConfig, TorchTrainer

    folder = os.environ["TMPDIR"]
    ray.init(
        address="local", num_cpus=2, include_dashboard=False, object_store_memory=80 * 2**20, _temp_dir=f"{folder}/ray"
    )
    TorchTrainer(
        lambda config: train(*config["arguments"]),
        train_loop_config={"arguments": (strategy, name, micro_batch, steps)},
        torch_config=TorchConfig(backend="gloo"),
        scaling_config=ScalingConfig(num_workers=2, resources_per_worker={"CPU": 1}),
        run_config=RunConfig(storage_path=f"{folder}/results"),
    ).fit()
    ray.shutdown()


if __name__ == "__main__":
    start = train_in_ray if sys.argv[1] == "ray-train" else train
    start(sys.argv[2], sys.argv[3], int(sys.argv[4]), int(sys.argv[5]))
