"""``python -m paceline.probes.gloo_average``: do two gloo ranks average the gradients 1 and 2 to 1.5?

FSDP2 on gloo once summed them (pytorch#162338). DDP and FSDP2 are both tried, with real process groups.
"""

import tempfile
from pathlib import Path

import torch
import torch.distributed as dist
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.multiprocessing.spawn import spawn
from torch.nn.parallel import DistributedDataParallel

from paceline.strategies.groups import leave_group


def _gradient(model: torch.nn.Module, value: float) -> float:
    """Return the gradient of a model with one weight after a backward pass with input ``value``."""
    model(torch.full((1, 1), value)).sum().backward()
    gradient = next(iter(model.parameters())).grad
    assert gradient is not None
    full_gradient = gradient.full_tensor() if hasattr(gradient, "full_tensor") else gradient
    return float(full_gradient.sum())


def _ddp_average(value: float) -> float:
    return _gradient(DistributedDataParallel(torch.nn.Linear(1, 1, bias=False)), value)


def _fsdp2_average(value: float) -> float:
    model = torch.nn.Linear(1, 1, bias=False)
    fully_shard(model, mesh=init_device_mesh("cpu", (2,)))
    return _gradient(model, value)


def probe(rank: int, rendezvous: str) -> None:
    """Run one of two ranks; rank 0 prints the averages."""
    dist.init_process_group("gloo", init_method=f"file://{rendezvous}", rank=rank, world_size=2)
    ddp, fsdp2 = _ddp_average(rank + 1.0), _fsdp2_average(rank + 1.0)
    if rank == 0:
        print(f"ddp {ddp:g} fsdp2 {fsdp2:g}", flush=True)
    leave_group()


def main() -> None:
    """Start both ranks and wait for them."""
    with tempfile.TemporaryDirectory() as folder:
        spawn(probe, args=(str(Path(folder) / "rendezvous"),), nprocs=2)  # type: ignore[no-untyped-call]


if __name__ == "__main__":
    main()
