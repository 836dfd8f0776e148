"""One rank of a proof trial: short untimed trainings in the engine's real wrapping, written down to be compared.

The single process that everybody is compared with runs the same code with all micro-batches of all ranks in one rank.
"""

from __future__ import annotations

import hashlib
from collections.abc import Callable
from dataclasses import replace
from time import perf_counter_ns
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.modules.batchnorm import _BatchNorm
from torch.nn.modules.dropout import _DropoutNd

from paceline.rank import conditions
from paceline.rank.loop import Feed
from paceline.rank.recorder import Recorder
from paceline.rank.sampling import Sampler
from paceline.rank.sketch import sketches
from paceline.spec.proof import STEPS, Part
from paceline.spec.records import PartRecord, Scale
from paceline.spec.suite import Recipe
from paceline.spec.trial import Job
from paceline.strategies.contract import Membership, Strategy, load_strategy
from paceline.workloads.contract import OptimiserSettings, Workload, load_workload

Array = NDArray[np.float64]
MakeStrategy = Callable[[Job, Membership], Strategy]

SCALED_NORM = 1e3
"""Of the gradient in part A."""
RELATIVE_UPDATE = 0.02
"""Of the weights in a step of part A."""


class ProofWorkload(Workload):
    """A workload without dropout, with part A's optimiser and loss scale where that is what is proven."""

    def __init__(self, inner: Workload, scale: Scale | None) -> None:
        super().__init__(inner.tier, inner.dataset)
        self._inner = inner
        self._loss_scale = scale.loss_scale if scale else 1.0
        self.samples, self.global_batch, self.data = inner.samples, inner.global_batch, inner.data
        self.optimiser = OptimiserSettings(name="sgd", learning_rate=scale.learning_rate) if scale else inner.optimiser

    def build(self) -> Any:
        """Return the model with every dropout switched off."""
        model = self._inner.build()
        for module in model.modules():
            for name, value in list(vars(module).items()):
                if isinstance(value, float) and ("dropout" in name or isinstance(module, _DropoutNd)):
                    setattr(module, name, 0.0)
        return model

    def layers(self, model: Any) -> list[Any]:
        """Return the repeated submodules."""
        return self._inner.layers(model)

    def batch(self, indices: Any) -> Any:
        """Return the samples with these global indices."""
        return self._inner.batch(indices)

    def loss(self, model: Any, batch: Any) -> Any:
        """Return the scaled mean loss."""
        loss = self._inner.loss(model, batch)
        return loss if self._loss_scale == 1.0 else loss * self._loss_scale


class Prover:
    """The parts of one rank's proof, one after another in one group."""

    def __init__(
        self, job: Job, membership: Membership, recorder: Recorder, make: MakeStrategy = load_strategy
    ) -> None:
        assert job.proof is not None
        self.job, self.plan = job, job.proof
        self.membership = membership
        self.recorder = recorder
        self._make = make
        self._arrays: dict[str, Array] = {}
        self._named = False

    def run(self) -> None:
        """Join once, then run every part; rank 0 keeps the weights, all ranks their digests."""
        job = self.job
        group_owner = self._make(job, self.membership)
        workload = load_workload(job.cell.workload, job.cell.tier, job.cell.dataset)
        conditions.apply(job.conditions)
        group_owner.join()
        scale = Scale(loss_scale=self.plan.loss_scale, learning_rate=self.plan.learning_rate)
        if self.plan.reference:
            scale = self._components(workload)
            self.recorder.write("proof_scale", scale)
        self._part(Part.GRADIENTS, workload, Recipe.FP32, scale)
        recipes = {Part.TRAINING: Recipe.FP32, Part.RECIPE: job.cell.recipe}
        if job.cell.recipe is Recipe.FP32:
            del recipes[Part.RECIPE]
        for part, recipe in recipes.items():
            self._part(part, workload, recipe)
            for number in range(1, self.plan.reruns + 1):
                self._part(part, workload, recipe, rerun=number)
        if self.membership.rank == 0:
            self.recorder.write_arrays(self._arrays)
        group_owner.close()
        self.recorder.write("done_ns", perf_counter_ns())

    def _part(self, part: Part, workload: Workload, recipe: Recipe, scale: Scale | None = None, rerun: int = 0) -> None:
        strategy, feed = self._wrapped(workload, recipe, scale, rerun)
        squares: list[float] = []
        strategy.before_update(
            lambda gradients: squares.append(sum(float(g.double().square().sum()) for g in gradients))
        )
        name = part if not rerun else f"{part}-{rerun}"
        weights, losses, applied, entered = [self._weights(strategy)], [], [], []
        for _ in range(STEPS[part]):
            squares.clear()
            outcome = strategy.step(feed.next_step())
            losses.append(float(outcome.loss) / (scale.loss_scale if scale else 1.0))
            applied.append(outcome.applied)
            entered.append(sum(squares))  # an optimiser that steps on parts is called several times a step
            weights.append(self._weights(strategy))
        self._arrays[f"{name}/weights"] = np.stack(weights)
        self.recorder.write(
            "proof",
            PartRecord(
                part=name,
                losses=losses,
                applied=applied,
                gradient_squares=entered,
                weights_digests=[hashlib.blake2b(w.tobytes(), digest_size=8).hexdigest() for w in weights],
                samples=[[int(i) for taken in step for i in taken] for step in feed.first_steps],
                bf16_weights=all(_is_bf16(p) for _, p in strategy.full_parameters()),
                live=strategy.live(),
            ),
        )
        strategy.close()

    def _wrapped(self, workload: Workload, recipe: Recipe, scale: Scale | None, rerun: int) -> tuple[Strategy, Feed]:
        job = self.job.model_copy(update={"cell": self.job.cell.model_copy(update={"recipe": recipe})})
        strategy = self._make(job, replace(self.membership, joined=True))
        strategy.join()
        strategy.wrap(ProofWorkload(workload, scale))
        cell = job.cell
        sampler = Sampler(
            samples=min(workload.samples, cell.samples or workload.samples),
            micro_batch=cell.micro_batch,
            accumulation=cell.accumulation,
            rank=self.membership.rank,
            ranks=self.membership.world_size,
            seed=job.seed,
            incomplete_batch=cell.incomplete_batch,
            permutation=rerun,
        )
        return strategy, Feed(sampler, lambda indices: strategy.move(workload.batch(indices)), perf_counter_ns)

    def _weights(self, strategy: Strategy) -> Array:
        names, found = sketches(strategy.full_parameters())
        if not self._named:
            self.recorder.write("proof_tensors", names)
            self._named = True
        return found

    def _components(self, workload: Workload) -> Scale:
        """Write the gradient of each micro-batch of the first step, and of the whole batch at once, apart.

        What an engine trained on is a combination of them: which one tells what it did. Returns part A's scale.
        """
        strategy, feed = self._wrapped(workload, Recipe.FP32, None, 0)
        model: Any = strategy.model  # type: ignore[attr-defined]
        plain = ProofWorkload(workload, None)

        def gradient(batch: Any) -> Array:
            model.zero_grad(set_to_none=True)
            plain.loss(model, batch).backward()
            return sketches(
                (n, p.grad if p.grad is not None else torch.zeros_like(p)) for n, p in model.named_parameters()
            )[1]

        batches = list(feed.next_step())
        components = np.stack([gradient(batch) for batch in batches])
        self._arrays["components"] = components
        if any(isinstance(module, _BatchNorm) for module in model.modules()):
            whole = tuple(torch.cat(tensors) for tensors in zip(*batches, strict=True))
            self._arrays["whole_batch"] = gradient(whole)
        weights = self._weights(strategy)
        strategy.close()
        norm = float(np.linalg.norm(components.mean(axis=0)))
        if not 0 < norm < np.inf:
            raise ValueError(f"the gradient at the initial weights has norm {norm}: nothing can be proven from it")
        return Scale(
            loss_scale=SCALED_NORM / norm,
            learning_rate=RELATIVE_UPDATE * float(np.linalg.norm(weights)) / SCALED_NORM,
        )


def _is_bf16(tensor: torch.Tensor) -> bool:
    return bool((tensor.detach().bfloat16().to(tensor.dtype) == tensor.detach()).all())
