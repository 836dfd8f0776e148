"""The base classes of strategies on PyTorch: one model, one optimiser, one step of several micro-batches."""

from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from paceline.schema.records import DeviceMemory, LiveSettings
from paceline.schema.suite import Recipe
from paceline.schema.trial import Job
from paceline.strategies import device, precision
from paceline.strategies.contract import Group, Membership, Solo, StepClock, StepOutcome, Strategy
from paceline.strategies.groups import TorchGroup, leave_group
from paceline.strategies.optimisers import build_optimiser
from paceline.strategies.precision import MasterWeights
from paceline.strategies.read_back import (
    active_dropout,
    counted_steps,
    dtype_name,
    optimiser_settings,
    qualified_name,
    state_dtype,
    weights_digest,
)
from paceline.workloads.contract import Workload


class TorchStrategy(Strategy):
    """One model, one optimiser, micro-batches one after another; subclasses define how the model is wrapped."""

    def __init__(self, job: Job, membership: Membership) -> None:
        super().__init__(job, membership)
        self.device = device.device_of(job, membership)
        self.recipe = job.cell.recipe
        self.model: Any = None
        self.optimiser: Any = None
        self.master_weights: MasterWeights | None = None
        self._loss: Callable[[Any, Any], Any] = _loss_before_wrap
        self._is_last = [False] * (job.cell.accumulation - 1) + [True]
        """For each micro-batch of a step, whether it is the step's last one."""
        self._seen_micro_batch = 0
        self._seen_accumulation = 0

    def join(self) -> Group:
        """Initialise the default group, unless the launcher has done so already."""
        if not self.membership.joined:
            dist.init_process_group(device.collective_backend(self.device), timeout=self.collective_timeout)
        return TorchGroup()

    def loss(self, batch: Any) -> torch.Tensor:
        """Return the mean loss of a micro-batch, in the recipe's precision."""
        if self.recipe is not Recipe.AMP:
            plain: torch.Tensor = self._loss(self.model, batch)
            return plain
        with torch.autocast(self.device.type, torch.bfloat16):
            autocast: torch.Tensor = self._loss(self.model, batch)
        return autocast

    def take_state(self, model: torch.nn.Module, workload: Workload) -> None:
        """Keep a wrapped model and build its optimiser, which steps on fp32 masters in recipe ``bf16-master``."""
        self.model, self._loss = model, workload.loss
        trained = [p for p in model.parameters() if p.requires_grad]
        if self.recipe is Recipe.BF16_MASTER:
            self.master_weights = MasterWeights(trained)
            trained = self.master_weights.masters
        self.optimiser = build_optimiser(trained, workload.optimiser, self.job)

    @property
    def torch_optimiser(self) -> Any:
        """The ``torch.optim.Optimizer`` that steps in the end, also where DeepSpeed has wrapped it."""
        return getattr(self.optimiser, "optimizer", self.optimiser)

    @property
    def collective_timeout(self) -> timedelta:
        """How long a collective waits for the other ranks before it raises."""
        return timedelta(minutes=self.job.conditions.collective_timeout_minutes)

    def move(self, batch: Any) -> Any:
        """Return the batch on this rank's device."""
        return precision.inputs(device.move(batch, self.device), self.recipe)

    def synchronise(self) -> None:
        """Return when the device has finished all submitted work."""
        device.synchronise(self.device)

    def step_clock(self, clock: Callable[[], int]) -> StepClock:
        """Return the clock that marks the edges of steps on this rank's device."""
        return device.step_clock(self.device, clock)

    def device_memory(self) -> DeviceMemory | None:
        """Return the memory of this rank's device; None on a CPU."""
        return device.memory(self.device)

    def step(self, micro_batches: Iterator[Any]) -> StepOutcome:
        """Accumulate gradients of the step's mean loss, then apply them."""
        self.optimiser.zero_grad(set_to_none=True)
        shares = []
        for batch, last in zip(micro_batches, self._is_last, strict=True):
            shares.append(self.backward(batch, last=last))
        self._seen_micro_batch, self._seen_accumulation = len(batch[0]), len(shares)
        if self.master_weights is not None:
            self.master_weights.step(self.optimiser)
        else:
            self.optimiser.step()
        return StepOutcome(_total(shares), applied=True)

    def backward(self, batch: Any, *, last: bool) -> torch.Tensor:  # noqa: ARG002 - subclasses synchronise on the last
        """Add the gradient of this micro-batch's share of the step's loss; return that share."""
        share = self.loss(batch)
        if self.job.cell.accumulation > 1:
            share = share / self.job.cell.accumulation
        share.backward()  # type: ignore[no-untyped-call]
        return share.detach()

    def evaluate(self, correct: Callable[[Any, Any], int], batch: Any) -> int:
        """Return ``correct(model, batch)`` with the model in evaluation mode."""
        self.model.eval()
        try:
            return correct(self.model, self.move(batch))
        finally:
            self.model.train()

    def initial_weights_digest(self) -> str:
        """Return the digest of all parameters by name, as fp32 bytes: the same for every layout of the state."""
        return weights_digest(self.full_parameters())

    def full_parameters(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield every parameter whole, by its name in the workload's model, one at a time (collective)."""
        yield from self.model.named_parameters()

    def training_state(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield every trained parameter with its optimiser's state, whole, one at a time (collective)."""
        for name, stepped_on in self.stepped_on_by_name():
            state = self.optimiser.state[stepped_on]
            yield name, {"weight": _gathered(stepped_on), **{key: _gathered(value) for key, value in state.items()}}

    def stepped_on_by_name(self) -> list[tuple[str, torch.Tensor]]:
        """Return the tensors that the optimiser updates (parameters, or their fp32 masters) with the parameters' names.

        The names are those in the workload's model.
        """
        trained = [(n.removeprefix("module."), p) for n, p in self.model.named_parameters() if p.requires_grad]
        masters = self.master_weights.masters if self.master_weights else [p for _, p in trained]
        return [(name, master) for (name, _), master in zip(trained, masters, strict=True)]

    def before_update(self, receive: Callable[[list[Any]], None]) -> None:
        """Call ``receive`` from a hook of torch's own optimiser, which every strategy here steps in the end."""

        def hook(optimiser: torch.optim.Optimizer, _args: Any, _settings: Any) -> None:
            stepped_on = (p for group in optimiser.param_groups for p in group["params"])
            receive([_local_part(p.grad) for p in stepped_on if p.grad is not None])

        self.torch_optimiser.register_step_pre_hook(hook)

    def live(self) -> LiveSettings:
        """Return what is in force, read back from the model, the optimiser and the group."""
        parameters = list(self.model.parameters())
        local = [p for group in self.optimiser.param_groups for p in group["params"]]
        grouped = dist.is_initialized()
        return LiveSettings(
            world_size=dist.get_world_size() if grouped else 1,
            micro_batch=self._seen_micro_batch,
            accumulation=self._seen_accumulation,
            gradient_clipping=None,
            parameter_dtype=dtype_name(parameters[0]),
            compute_dtype="bfloat16" if self.recipe is Recipe.AMP else dtype_name(parameters[0]),
            reduction_dtype=dtype_name(parameters[0]),
            master_dtype=dtype_name(local[0]),
            optimiser_state_dtype=state_dtype(self.optimiser),
            optimiser=qualified_name(self.optimiser),
            optimiser_settings=optimiser_settings(self.optimiser),
            parameters_total=sum(p.numel() for p in parameters),
            optimiser_parameters_local=sum(p.numel() for p in local),
            backend=dist.get_backend() if grouped else None,
            device_type=parameters[0].device.type,
            optimiser_steps=counted_steps(self.optimiser),
            dropout=active_dropout(self.model),
        )

    def close(self) -> None:
        """Free the training state, then leave the group, unless the launcher owns it."""
        self.model = self.optimiser = self.master_weights = None
        if dist.is_initialized() and not self.membership.joined:
            leave_group()


class SoloTorchStrategy(TorchStrategy):
    """A strategy of exactly one rank, which needs no group."""

    def take_training_state(self, state: Mapping[str, Mapping[str, Any]]) -> None:
        """Continue from the ``training_state`` of any strategy. Raises KeyError where a parameter is missing."""
        with torch.no_grad():
            for name, stepped_on in self.stepped_on_by_name():
                values = {key: _as_optimiser_state(value, stepped_on) for key, value in state[name].items()}
                stepped_on.copy_(values.pop("weight"))
                self.optimiser.state[stepped_on] = values
        if self.master_weights is not None:
            self.master_weights.round_back()

    def join(self) -> Group:
        """Return a group of one rank."""
        return Solo()


def _loss_before_wrap(_model: Any, _batch: Any) -> Any:
    raise RuntimeError("a loss was asked for before wrap()")


def _total(shares: list[torch.Tensor]) -> torch.Tensor:
    """Return the step's loss; a single share is not copied, because small steps would feel the copy."""
    return shares[0] if len(shares) == 1 else torch.stack(shares).sum()


def _local_part(tensor: torch.Tensor) -> torch.Tensor:
    """Return this rank's part of a sharded tensor, or the tensor itself where it is whole."""
    to_local = getattr(tensor, "to_local", None)
    return tensor if to_local is None else to_local()


def _gathered(value: Any) -> Any:
    """Return a whole copy of a tensor that may be sharded (collective); a count of steps becomes a plain number."""
    if not isinstance(value, torch.Tensor):
        return value
    full = getattr(value, "full_tensor", None)
    whole = value.detach().clone() if full is None else full().detach().clone()
    return whole if whole.dim() else whole.item()


def _as_optimiser_state(value: Any, like: torch.Tensor) -> torch.Tensor:
    """Return a value as torch's optimisers keep it: a count as a tensor on the CPU, a tensor on the weight's device."""
    if isinstance(value, torch.Tensor):
        return value.to(like.device, copy=True)
    return torch.tensor(float(value))
