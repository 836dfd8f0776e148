"""One rank of a proof trial: short untimed trainings in the engine's real wrapping, recorded for comparison.

The reference process, with which every engine is compared, runs the same code; its one rank takes the micro-batches of
all ranks.
"""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace
from time import perf_counter_ns
from typing import Any

import numpy as np
import torch
from torch.nn.modules.batchnorm import _BatchNorm

from paceline.rank import read_back
from paceline.rank.loop import Feed
from paceline.rank.proof_steps import Array, ProofWorkload, proven_steps
from paceline.rank.recorder import Recorder
from paceline.rank.sampler import Sampler
from paceline.rank.sketch import sketches
from paceline.schema.proof import STEPS, Part
from paceline.schema.records import Scale
from paceline.schema.suite import Recipe
from paceline.schema.trial import Job
from paceline.strategies.contract import Membership, Strategy, load_strategy
from paceline.workloads.contract import Workload, load_workload

MakeStrategy = Callable[[Job, Membership], Strategy]

SCALED_NORM = 1e3
"""Target norm of the first scaled gradient in ``Part.GRADIENTS``."""
RELATIVE_UPDATE = 0.02
"""Target norm of the first update in ``Part.GRADIENTS``, relative to the norm of all weights."""


class Prover:
    """Runs the parts of one rank's proof one after another, in one group."""

    def __init__(
        self, job: Job, membership: Membership, recorder: Recorder, make: MakeStrategy = load_strategy
    ) -> None:
        assert job.proof is not None
        self.job, self.plan = job, job.proof
        self.membership = membership
        self.recorder = recorder
        self._make = make
        self._arrays: dict[str, Array] = {}
        self._names_written = False

    def run(self) -> None:
        """Join once, then run every part; rank 0 writes sketches of the weights, every rank writes their digests."""
        job = self.job
        group_owner = self._make(job, self.membership)
        workload = load_workload(job.cell.workload, job.cell.tier, job.cell.dataset)
        read_back.apply(job.conditions)
        group_owner.join()
        scale = Scale(loss_scale=self.plan.loss_scale, learning_rate=self.plan.learning_rate)
        if self.plan.reference:
            scale = self._micro_batch_gradients(workload)
            self.recorder.write("proof_scale", scale)
        self._run_part(Part.GRADIENTS, workload, Recipe.FP32, scale)
        recipes = {Part.TRAINING: Recipe.FP32, Part.RECIPE: job.cell.recipe}
        if job.cell.recipe is Recipe.FP32:
            del recipes[Part.RECIPE]
        for part, recipe in recipes.items():
            self._run_part(part, workload, recipe)
            for number in range(1, self.plan.reruns + 1):
                self._run_part(part, workload, recipe, rerun=number)
        if self.membership.rank == 0:
            self.recorder.write_arrays(self._arrays)
        group_owner.close()
        self.recorder.write("done_ns", perf_counter_ns())

    def _run_part(
        self, part: Part, workload: Workload, recipe: Recipe, scale: Scale | None = None, rerun: int = 0
    ) -> None:
        strategy, feed = self._wrap(workload, recipe, scale, rerun)
        name = part if not rerun else f"{part}-{rerun}"
        record, weights, names = proven_steps(name, strategy, feed, STEPS[part], scale.loss_scale if scale else 1.0)
        self._arrays[f"{name}/weights"] = weights
        if not self._names_written:
            self.recorder.write("proof_tensors", names)
            self._names_written = True
        self.recorder.write("proof", record)
        strategy.close()

    def _wrap(self, workload: Workload, recipe: Recipe, scale: Scale | None, rerun: int) -> tuple[Strategy, Feed]:
        job = self.job.model_copy(update={"cell": self.job.cell.model_copy(update={"recipe": recipe})})
        strategy = self._make(job, replace(self.membership, joined=True))
        strategy.join()
        strategy.wrap(ProofWorkload(workload, scale))
        sampler = Sampler.of(job.cell, workload.samples, self.membership.rank, job.seed, rerun)
        return strategy, Feed.of(strategy, workload, sampler, perf_counter_ns)

    def _micro_batch_gradients(self, workload: Workload) -> Scale:
        """Keep the gradient of each micro-batch of the first step by itself, and that of the whole batch at once.

        An engine's first gradient is a combination of these gradients, and the factors show what the engine did.
        Returns the scale of ``Part.GRADIENTS``. Raises ValueError where the gradient is zero or not finite.
        """
        strategy, feed = self._wrap(workload, Recipe.FP32, None, 0)
        model: Any = strategy.model  # type: ignore[attr-defined]
        unscaled = ProofWorkload(workload, None)

        def gradient(batch: Any) -> Array:
            model.zero_grad(set_to_none=True)
            unscaled.loss(model, batch).backward()
            return sketches(
                (n, p.grad if p.grad is not None else torch.zeros_like(p)) for n, p in model.named_parameters()
            )[1]

        batches = list(feed.next_step())
        components = np.stack([gradient(batch) for batch in batches])
        self._arrays["components"] = components
        if any(isinstance(module, _BatchNorm) for module in model.modules()):
            whole_batch = tuple(torch.cat(tensors) for tensors in zip(*batches, strict=True))
            self._arrays["whole_batch"] = gradient(whole_batch)
        weights = sketches(strategy.full_parameters())[1]
        strategy.close()
        norm = float(np.linalg.norm(components.mean(axis=0)))
        if not 0 < norm < np.inf:
            raise ValueError(f"the gradient at the initial weights has norm {norm}: nothing can be proven from it")
        return Scale(
            loss_scale=SCALED_NORM / norm,
            learning_rate=RELATIVE_UPDATE * float(np.linalg.norm(weights)) / SCALED_NORM,
        )
