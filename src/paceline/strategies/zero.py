"""DeepSpeed's ZeRO stages (Rajbhandari et al. 2020), with and without offload; each is a class of a few lines."""

from collections.abc import Iterator
from typing import Any, ClassVar

import deepspeed
import torch
import torch.distributed as dist
from deepspeed.utils import safe_get_full_fp32_param, safe_get_full_optimizer_state

from paceline.schema.conditions import Policy
from paceline.schema.records import LiveSettings
from paceline.schema.suite import Recipe
from paceline.strategies import device
from paceline.strategies.blueprint import Blueprint
from paceline.strategies.contract import Group, StepOutcome
from paceline.strategies.groups import TorchGroup
from paceline.strategies.optimisers import build_optimiser
from paceline.strategies.read_back import (
    active_dropout,
    counted_steps,
    dtype_name,
    optimiser_settings,
    qualified_name,
    state_dtype,
)
from paceline.strategies.torch_strategy import TorchStrategy
from paceline.workloads.contract import Workload


class Zero(TorchStrategy):
    """DeepSpeed's engine around the model, with the optimiser of ``build_optimiser`` as its client optimiser."""

    stage: ClassVar[int]
    offload: ClassVar[tuple[str, ...]] = ()
    """Sections of DeepSpeed's ``zero_optimization`` that send state to the CPU."""

    def join(self) -> Group:
        """Let DeepSpeed initialise (or adopt) the group, with an explicit backend instead of a guessed one."""
        deepspeed.init_distributed(
            dist_backend=device.collective_backend(self.device),
            auto_mpi_discovery=False,
            verbose=False,
            timeout=self.collective_timeout,
        )
        return TorchGroup()

    def wrap(self, workload: Workload) -> None:
        """Build the model and hand it to ``deepspeed.initialize``."""
        model = self.build(Blueprint(workload, self.job))
        trained = [p for p in model.parameters() if p.requires_grad]
        client = build_optimiser(trained, workload.optimiser, self.job)
        self.model, self.optimiser, _, _ = deepspeed.initialize(
            model=model, optimizer=client, config=self.configuration(), dist_init_required=False
        )
        self._loss = workload.loss

    def build(self, blueprint: Blueprint) -> torch.nn.Module:
        """Return the whole model on the device."""
        return blueprint.whole().to(self.device)

    def configuration(self) -> dict[str, Any]:
        """Return DeepSpeed's configuration: settings of the cell, then of ``normalised``, then of the variant."""
        cell = self.job.cell
        zero: dict[str, Any] = {"stage": self.stage, **{section: {"device": "cpu"} for section in self.offload}}
        config: dict[str, Any] = {
            "train_micro_batch_size_per_gpu": cell.micro_batch,
            "gradient_accumulation_steps": cell.accumulation,
            "zero_optimization": zero,
            # The optimiser is one of torch.optim's, which DeepSpeed does not list as tested, offloaded or not.
            "zero_allow_untested_optimizer": True,
            "zero_force_ds_cpu_optimizer": False,
            # DeepSpeed's own timers synchronise and count differently; only the harness times.
            "wall_clock_breakdown": False,
            "timers": {"throughput": {"enabled": False}},
            "steps_per_print": 10**9,
        }
        if self.recipe is Recipe.AMP:
            config["torch_autocast"] = {"enabled": True, "dtype": "bfloat16"}
        if self.recipe is Recipe.BF16_MASTER:
            config["bf16"] = {"enabled": True}
        if self.job.conditions.policy is Policy.NORMALISED:
            # DeepSpeed clips at norm 1.0 by default; no other engine clips.
            config["gradient_clipping"] = 0.0
        return merged(config, cell.variant.settings)

    def loss(self, batch: Any) -> torch.Tensor:
        """Return the mean loss; DeepSpeed's own configuration sets the precision."""
        mean: torch.Tensor = self._loss(self.model, batch)
        return mean

    def step(self, micro_batches: Iterator[Any]) -> StepOutcome:
        """Forward, backward and step through DeepSpeed's engine, which itself divides by the accumulation."""
        shares = []
        for batch in micro_batches:
            loss = self.loss(batch)
            self.model.backward(loss)
            self.model.step()
            shares.append(loss.detach())
        self._seen_micro_batch, self._seen_accumulation = len(batch[0]), len(shares)
        mean = shares[0] if len(shares) == 1 else torch.stack(shares).mean()
        return StepOutcome(mean, applied=bool(self.model.was_step_applied()))

    def live(self) -> LiveSettings:
        """Return the settings in force, as DeepSpeed's engine and its optimiser report them."""
        engine = self.model
        optimiser = self.torch_optimiser
        masters = self.stepped_on()
        parameters = list(engine.module.parameters())
        parameter_dtype = dtype_name(parameters[0])
        return LiveSettings(
            world_size=engine.world_size,
            micro_batch=self._seen_micro_batch,
            accumulation=self._seen_accumulation,
            gradient_clipping=engine.gradient_clipping() or None,
            parameter_dtype=parameter_dtype,
            compute_dtype="bfloat16" if engine.torch_autocast_enabled() else parameter_dtype,
            reduction_dtype=str(engine.communication_data_type).removeprefix("torch."),
            master_dtype=dtype_name(masters[0]),
            optimiser_state_dtype=state_dtype(optimiser),
            optimiser=qualified_name(optimiser),
            optimiser_settings=optimiser_settings(optimiser),
            parameters_total=sum(getattr(p, "ds_numel", p.numel()) for p in parameters),
            optimiser_parameters_local=sum(p.numel() for p in masters),
            backend=dist.get_backend(),
            device_type=parameters[0].device.type,
            optimiser_steps=counted_steps(optimiser),
            dropout=active_dropout(engine.module),
        )

    def training_state(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield every trained parameter with its state, gathered from DeepSpeed's partitions (collective)."""
        optimiser = self.torch_optimiser
        if optimiser is self.optimiser:  # DeepSpeed has not wrapped torch's optimiser: nothing is partitioned
            yield from super().training_state()
            return
        first_state = next(iter(optimiser.state.values()))
        keys = [key for key, value in first_state.items() if isinstance(value, torch.Tensor) and value.dim()]
        step = counted_steps(optimiser)
        for name, parameter in self.model.module.named_parameters():
            if parameter.requires_grad:
                state = {key: safe_get_full_optimizer_state(parameter, key).clone() for key in keys}
                count = {} if step is None else {"step": step}
                yield name, {"weight": safe_get_full_fp32_param(parameter).clone(), **state, **count}

    def stepped_on(self) -> list[torch.Tensor]:
        """Return the tensors that the optimiser of this rank updates: whole parameters, or partitions of them."""
        return [p for group in self.torch_optimiser.param_groups for p in group["params"]]

    def close(self) -> None:
        """Free DeepSpeed's hooks and buffers, then leave the group."""
        if self.model is not None:
            self.model.destroy()
        super().close()


class Zero0(Zero):
    """Nothing sharded: DeepSpeed's engine as a data-parallel loop."""

    stage = 0


class Zero1(Zero):
    """Optimiser state sharded."""

    stage = 1


class Zero2(Zero):
    """Optimiser state and gradients sharded."""

    stage = 2


class Zero2Offload(Zero2):
    """ZeRO-2 with optimiser state on the CPU. On a CPU device it runs, but saves no memory."""

    offload = ("offload_optimizer",)


class Zero3(Zero):
    """Parameters sharded too. The model is built in partitions, so that no rank ever holds the whole of it."""

    stage = 3

    def build(self, blueprint: Blueprint) -> torch.nn.Module:
        """Return the model, built under ``zero.Init`` and filled with initial values one parameter at a time."""
        with deepspeed.zero.Init(config_dict_or_path=self.configuration()):
            model = blueprint.bare()
        for name, parameter in model.named_parameters():
            with deepspeed.zero.GatheredParameters([parameter], modifier_rank=0), torch.no_grad():
                if self.membership.rank == 0:
                    parameter.copy_(blueprint.initial(name, parameter.shape))
        return model

    def full_parameters(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield every parameter gathered, one at a time (collective)."""
        for name, parameter in self.model.named_parameters():
            with deepspeed.zero.GatheredParameters([parameter]):
                yield name, parameter.detach().clone()

    def stepped_on(self) -> list[torch.Tensor]:
        """Return this rank's fp32 partitions: the optimiser's ``param_groups`` hold them only during a step."""
        return list(self.optimiser.fp32_partitioned_groups_flat)


class Zero3Offload(Zero3):
    """ZeRO-3 with parameters and optimiser state on the CPU. On a CPU device it runs, but saves no memory."""

    offload = ("offload_optimizer", "offload_param")


def merged(base: dict[str, Any], overlay: dict[str, Any]) -> dict[str, Any]:
    """Return base with the overlay's values, nested sections merged."""
    result = dict(base)
    for key, value in overlay.items():
        both = isinstance(value, dict) and isinstance(result.get(key), dict)
        result[key] = merged(result[key], value) if both else value
    return result
