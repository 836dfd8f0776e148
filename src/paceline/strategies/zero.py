"""DeepSpeed: the ZeRO stages (Rajbhandari et al. 2020), each a class of a few lines."""

from collections.abc import Callable, Iterator
from typing import Any, ClassVar

import deepspeed
import torch.distributed as dist

from paceline.spec.conditions import Policy
from paceline.spec.records import LiveSettings
from paceline.strategies import device
from paceline.strategies.contract import Group, LossFunction, StepOutcome
from paceline.strategies.torch_strategy import (
    TorchGroup,
    TorchStrategy,
    build_optimiser,
    dtype_name,
    optimiser_settings,
    qualified_name,
    state_dtype,
)
from paceline.workloads.contract import OptimiserSettings


class Zero(TorchStrategy):
    """DeepSpeed's engine around the model, with our optimiser object as its client optimiser."""

    stage: ClassVar[int]

    def join(self) -> Group:
        """Let DeepSpeed initialise (or adopt) the group; the backend is said, never guessed."""
        deepspeed.init_distributed(
            dist_backend=device.collective_backend(self.device),
            auto_mpi_discovery=False,
            verbose=False,
            timeout=self.collective_timeout,
        )
        return TorchGroup()

    def wrap(self, build: Callable[[], Any], loss: LossFunction, optimiser: OptimiserSettings) -> None:
        """Build the model and hand it to ``deepspeed.initialize``."""
        model = build().to(self.device)
        client = build_optimiser(model.parameters(), optimiser, self.job)
        self.model, self.optimiser, _, _ = deepspeed.initialize(
            model=model, optimizer=client, config=self.configuration(), dist_init_required=False
        )
        self.loss = loss

    def configuration(self) -> dict[str, Any]:
        """Return DeepSpeed's JSON: what the cell fixes, what ``normalised`` fixes, then the variant's overlay."""
        cell = self.job.cell
        config: dict[str, Any] = {
            "train_micro_batch_size_per_gpu": cell.micro_batch,
            "gradient_accumulation_steps": cell.accumulation,
            "zero_optimization": {"stage": self.stage},
            # Our optimiser is torch.optim's, which DeepSpeed has no list entry for.
            "zero_allow_untested_optimizer": True,
            # Its own timers synchronise and count differently; the harness times.
            "wall_clock_breakdown": False,
            "timers": {"throughput": {"enabled": False}},
            "steps_per_print": 10**9,
        }
        if self.job.conditions.policy is Policy.NORMALISED:
            # DeepSpeed clips at 1.0 unless told otherwise; no other engine clips.
            config["gradient_clipping"] = 0.0
        return merged(config, cell.settings)

    def step(self, micro_batches: Iterator[Any]) -> StepOutcome:
        """Forward, backward and step through DeepSpeed's engine, which itself divides by the accumulation."""
        assert self.loss is not None
        total: Any = 0.0
        for batch, last in self.observed(micro_batches):
            loss = self.loss(self.model, batch)
            self.model.backward(loss)
            self.model.step()
            total = total + loss.detach() / self.job.cell.accumulation
            if last:
                applied = bool(self.model.was_step_applied())
        return StepOutcome(total, applied)

    def live(self) -> LiveSettings:
        """Return what is in force, as DeepSpeed's engine and its optimiser tell it."""
        engine = self.model
        inner = getattr(self.optimiser, "optimizer", self.optimiser)
        local = [p for group in inner.param_groups for p in group["params"]]
        parameters = list(engine.module.parameters())
        return LiveSettings(
            world_size=engine.world_size,
            micro_batch=engine.train_micro_batch_size_per_gpu(),
            accumulation=engine.gradient_accumulation_steps(),
            gradient_clipping=engine.gradient_clipping() or None,
            parameter_dtype=dtype_name(parameters[0]),
            compute_dtype=dtype_name(parameters[0]),
            reduction_dtype=str(engine.communication_data_type).removeprefix("torch."),
            master_dtype=dtype_name(local[0]),
            optimiser_state_dtype=state_dtype(inner),
            optimiser=qualified_name(inner),
            optimiser_settings=optimiser_settings(inner),
            parameters_total=sum(p.numel() for p in parameters),
            optimiser_parameters_local=sum(p.numel() for p in local),
            backend=dist.get_backend(),
        )

    def close(self) -> None:
        """Free DeepSpeed's hooks and buffers, then leave the group."""
        if self.model is not None:
            self.model.destroy()
        super().close()


class Zero0(Zero):
    """Nothing sharded: DeepSpeed's engine as a data-parallel loop."""

    stage = 0


class Zero2(Zero):
    """Optimiser state and gradients sharded."""

    stage = 2


def merged(base: dict[str, Any], overlay: dict[str, Any]) -> dict[str, Any]:
    """Return base with the overlay's values, nested sections merged."""
    result = dict(base)
    for key, value in overlay.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result
