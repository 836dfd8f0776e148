"""Run by test_proof: honest and faulty strategies, each proven in one two-rank group, and the single process they face.

python faulty_engines.py OUT           the single process, once a case
torchrun ... faulty_engines.py OUT     all faults, one after another
"""

import os
import sys
from pathlib import Path
from time import perf_counter_ns
from typing import Any

import torch
import torch.distributed as dist
from torch import nn

from paceline.rank.loop import Feed, run_loop
from paceline.rank.proof_at_end import prove_end
from paceline.rank.proof_trial import Prover
from paceline.rank.recorder import Recorder
from paceline.rank.sampler import Sampler
from paceline.schema.engine import EngineName
from paceline.schema.proof import PROOF_SEED, ProofPlan
from paceline.schema.suite import Recipe
from paceline.schema.trial import Cell
from paceline.store.raw import read_ranks
from paceline.strategies.blueprint import Blueprint
from paceline.strategies.contract import Membership
from paceline.strategies.ddp import DDP
from paceline.strategies.fsdp2 import FSDP2
from paceline.strategies.single import Single
from paceline.strategies.torch_strategy import TorchStrategy
from paceline.strategies.zero import Zero0, Zero2, Zero3
from paceline.workloads.contract import Workload, load_workload
from support.builders import make_cell, make_job

RERUNS = 8
HALVED_AFTER = 14


class Normalised(Workload):
    """A small model with batch statistics."""

    samples, global_batch = 400, 32

    def build(self) -> nn.Module:
        return nn.Sequential(nn.Linear(8, 16), nn.BatchNorm1d(16), nn.ReLU(), nn.Linear(16, 4))

    def batch(self, indices: Any) -> Any:
        draw = [torch.Generator().manual_seed(int(i)) for i in indices]
        inputs = torch.stack([torch.randn(8, generator=g) * (1 + i % 3) for g, i in zip(draw, indices, strict=True)])
        return inputs, torch.from_numpy(indices % 4)

    def loss(self, model: Any, batch: Any) -> Any:
        return nn.functional.cross_entropy(model(batch[0]), batch[1])


class OwnLoops(DDP):
    """Honest: as shipped, torch steps on many tensors at once. That is how, not what."""

    def wrap(self, workload: Workload) -> None:
        super().wrap(workload)
        for group in self.optimiser.param_groups:
            group["foreach"] = True


class ClipsAtOne(DDP):
    def backward(self, batch: Any, *, last: bool) -> torch.Tensor:
        share = super().backward(batch, last=last)
        if last:
            torch.nn.utils.clip_grad_norm_(self.model.parameters(), 1.0)
        return share


class LearnsFaster(DDP):
    def wrap(self, workload: Workload) -> None:
        super().wrap(workload)
        for group in self.optimiser.param_groups:
            group["lr"] *= 1.01


class Decays(DDP):
    def wrap(self, workload: Workload) -> None:
        super().wrap(workload)
        for group in self.optimiser.param_groups:
            group["weight_decay"] = 0.01


class SeesRankZero(DDP):
    """Every rank trains on what rank 0 got."""

    def loss(self, batch: Any) -> torch.Tensor:
        batch = tuple(tensor.clone() for tensor in batch)
        for tensor in batch:
            dist.broadcast(tensor, 0)
        return super().loss(batch)


class RepeatsFirstMicroBatch(DDP):
    def step(self, micro_batches: Any) -> Any:
        first, *rest = list(micro_batches)
        return super().step(iter([first] * (1 + len(rest))))


class ByHand(TorchStrategy):
    """Honest: gradients averaged by hand. Nothing sends rank 0's weights to the others."""

    def wrap(self, workload: Workload) -> None:
        self.take_state(Blueprint(workload, self.job).whole(), workload)

    def backward(self, batch: Any, *, last: bool) -> torch.Tensor:
        share = super().backward(batch, last=last)
        for parameter in self.model.parameters() if last else ():
            dist.all_reduce(parameter.grad)
            parameter.grad /= self.membership.world_size
        return share


class SeedsEachRank(ByHand):
    def wrap(self, workload: Workload) -> None:
        self.job = self.job.model_copy(update={"seed": self.job.seed + self.membership.rank})
        super().wrap(workload)


class ForgetsAccumulation(DDP):
    def backward(self, batch: Any, *, last: bool) -> torch.Tensor:
        share = super().backward(batch, last=last)
        if last:
            for parameter in self.model.parameters():
                parameter.grad *= self.job.cell.accumulation
        return share


class Scales(DDP):
    factor = 1.0

    def backward(self, batch: Any, *, last: bool) -> torch.Tensor:
        share = super().backward(batch, last=last)
        for parameter in self.model.parameters() if last else ():
            parameter.grad *= self.factor
        return share


class Sums(Scales):
    factor = 2.0


class LeavesLossScale(Scales):
    factor = 1 / 65536


class RoundsWeights(DDP):
    def step(self, micro_batches: Any) -> Any:
        outcome = super().step(micro_batches)
        for parameter in self.model.parameters():
            parameter.data = parameter.data.bfloat16().float()
        return outcome


class FreezesOne(DDP):
    def wrap(self, workload: Workload) -> None:
        super().wrap(workload)
        self.frozen = next(self.model.parameters())
        self.optimiser.param_groups[0]["params"] = [
            p for p in self.optimiser.param_groups[0]["params"] if p is not self.frozen
        ]


class SkipsEveryTenth(DDP):
    steps = 0

    def step(self, micro_batches: Any) -> Any:
        self.steps += 1
        before = [p.detach().clone() for p in self.model.parameters()]
        outcome = super().step(micro_batches)
        if self.steps % 10 == 0:
            for parameter, old in zip(self.model.parameters(), before, strict=True):
                parameter.data.copy_(old)
        return outcome


class StepsWhenWrapped(DDP):
    """As DeepSpeed 0.19 does at stage 0 in bf16: a step of zeros that changes nothing but the optimiser's count."""

    def wrap(self, workload: Workload) -> None:
        super().wrap(workload)
        for parameter in self.model.parameters():
            parameter.grad = torch.zeros_like(parameter)
        self.optimiser.step()


class LeavesDropoutOn(DDP):
    def wrap(self, workload: Workload) -> None:
        super().wrap(workload)
        layer = list(self.model.module.children())[-1]
        self.model.module.left_on = nn.Dropout(0.1)
        layer.register_forward_hook(lambda _module, _inputs, output: self.model.module.left_on(output))


class DropsIncomplete(DDP):
    """Honest by itself; ``main`` lets its sampler drop what the single process pads."""


class _SumOverRanks(torch.autograd.Function):
    @staticmethod
    def forward(_context: Any, values: torch.Tensor) -> torch.Tensor:
        total = values.clone()
        dist.all_reduce(total)
        return total

    @staticmethod
    def backward(_context: Any, gradient: torch.Tensor) -> torch.Tensor:
        total = gradient.clone()
        dist.all_reduce(total)
        return total


class SynchronisesNorm(DDP):
    def wrap(self, workload: Workload) -> None:
        super().wrap(workload)
        self.model.module[1].forward = self._normalise

    def _normalise(self, values: torch.Tensor) -> torch.Tensor:
        norm, ranks = self.model.module[1], self.membership.world_size
        mean = _SumOverRanks.apply(values.mean(dim=0)) / ranks
        variance = _SumOverRanks.apply(((values - mean) ** 2).mean(dim=0)) / ranks
        return (values - mean) / torch.sqrt(variance + norm.eps) * norm.weight + norm.bias


class SlowsDown(DDP):
    """Its learning rate is halved after steps that no proof trial makes."""

    steps = 0

    def step(self, micro_batches: Any) -> Any:
        outcome = super().step(micro_batches)
        self.steps += 1
        for group in self.optimiser.param_groups if self.steps == HALVED_AFTER else ():
            group["lr"] /= 2
        return outcome


def case(workload: str = "lenet5", accumulation: int = 1, **changes: Any) -> Cell:
    fields = {
        "workload": workload, "dataset": "generated", "engine": EngineName("torchrun", "ddp"), "ranks": 2,
        "micro_batch": 16 // accumulation, "accumulation": accumulation, "samples": 176,
    }  # fmt: skip
    return make_cell(**(fields | changes))


PLAIN, ACCUMULATED, NORMED = case(), case(accumulation=4), case("support.faulty_engines:Normalised")
PADDED = case(incomplete_batch="pad")

ENGINES: dict[str, tuple[type[TorchStrategy], Cell]] = {
    "honest-ddp": (DDP, PLAIN),
    "honest-fsdp2": (FSDP2, PLAIN),
    "honest-zero2": (Zero2, PLAIN),
    "honest-by-hand": (ByHand, PLAIN),
    "honest-accumulated": (DDP, ACCUMULATED),
    "honest-normed": (DDP, NORMED),
    "honest-own-loops": (OwnLoops, PLAIN),
    "clips": (ClipsAtOne, PLAIN),
    "learns-faster": (LearnsFaster, PLAIN),
    "decays": (Decays, PLAIN),
    "sees-rank-zero": (SeesRankZero, PLAIN),
    "repeats": (RepeatsFirstMicroBatch, ACCUMULATED),
    "seeds-each-rank": (SeedsEachRank, PLAIN),
    "forgets-accumulation": (ForgetsAccumulation, ACCUMULATED),
    "sums": (Sums, PLAIN),
    "leaves-loss-scale": (LeavesLossScale, PLAIN),
    "rounds-weights": (RoundsWeights, PLAIN),
    "freezes-one": (FreezesOne, PLAIN),
    "skips-every-tenth": (SkipsEveryTenth, PLAIN),
    "steps-when-wrapped": (StepsWhenWrapped, PLAIN),
    "leaves-dropout-on": (LeavesDropoutOn, PLAIN),
    "drops-incomplete": (DropsIncomplete, PADDED),
    "synchronises-norm": (SynchronisesNorm, NORMED),
}


ENDS: dict[str, tuple[type[TorchStrategy], Cell]] = {
    "ddp": (DDP, ACCUMULATED),
    "normed": (DDP, NORMED),
    "fsdp2": (FSDP2, PLAIN),
    "zero0": (Zero0, PLAIN),
    "zero2": (Zero2, ACCUMULATED),
    "zero3": (Zero3, PLAIN),
    "zero2-bf16": (Zero2, case(recipe=Recipe.BF16_MASTER)),
    "ddp-bf16": (DDP, case(recipe=Recipe.BF16_MASTER)),
    "slows-down": (SlowsDown, PLAIN),
    "leaves-dropout-on": (LeavesDropoutOn, PLAIN),
}
"""Trained for ``STEPS_TO_END`` steps, then asked for the proof at the end."""
STEPS_TO_END = 20


def prove_the_end(out: Path, cell: Cell, membership: Membership, make: type[TorchStrategy]) -> None:
    cell = cell.model_copy(update={"warm_up_steps": 0, "steps": STEPS_TO_END - 1})
    job = make_job(out, cell)
    recorder = Recorder(str(out), membership.rank)
    for event, value in (("process_started_ns", 0), ("reused_process", False), ("cores", [])):
        recorder.write(event, value)
    workload = load_workload(cell.workload, cell.tier, cell.dataset)
    strategy = make(job, membership)
    group = strategy.join()
    strategy.wrap(workload)
    sampler = Sampler.of(cell, workload.samples, membership.rank, job.seed)
    feed = Feed(sampler, lambda indices: strategy.move(workload.batch(indices)), perf_counter_ns)
    run_loop(strategy, feed, group, perf_counter_ns, warm_up_steps=0, steps=cell.steps, at_edge=lambda _edge: None)
    prove_end(job, membership, recorder, strategy, workload, feed)
    strategy.close()
    recorder.close()


def prove(out: Path, cell: Cell, plan: ProofPlan, membership: Membership, make: type[TorchStrategy]) -> None:
    job = make_job(out, cell).model_copy(update={"proof": plan, "seed": PROOF_SEED})
    recorder = Recorder(str(out), membership.rank)
    for event, value in (("process_started_ns", 0), ("reused_process", False), ("cores", [])):
        recorder.write(event, value)
    Prover(job, membership, recorder, make).run()
    recorder.close()


def reference_name(cell: Cell) -> str:
    return f"reference-{cell.workload.partition(':')[2] or cell.workload}-{cell.accumulation}-{cell.incomplete_batch}"


def main(out: Path) -> None:
    if "RANK" not in os.environ:
        for cell in (PLAIN, ACCUMULATED, NORMED, PADDED):
            alone = cell.model_copy(update={"ranks": 1, "accumulation": 2 * cell.accumulation})
            prove(out / reference_name(cell), alone, ProofPlan(reference=True, reruns=RERUNS), Membership(), Single)
        return
    torch.set_num_threads(1)
    dist.init_process_group("gloo")
    membership = Membership.from_environment()
    for name, (strategy, cell) in ENGINES.items():
        (rank,) = read_ranks(out / reference_name(cell))
        assert rank.proof_scale is not None
        plan = ProofPlan(loss_scale=rank.proof_scale.loss_scale, learning_rate=rank.proof_scale.learning_rate)
        joined = Membership(membership.rank, membership.world_size, membership.local_rank, joined=True)
        asked = cell.model_copy(update={"incomplete_batch": "drop"}) if strategy is DropsIncomplete else cell
        prove(out / name, asked, plan, joined, strategy)
    for name, (strategy, cell) in ENDS.items():
        prove_the_end(out / f"end-{name}", cell, joined, strategy)
    dist.barrier()
    dist.destroy_process_group()


if __name__ == "__main__":
    main(Path(sys.argv[1]))
