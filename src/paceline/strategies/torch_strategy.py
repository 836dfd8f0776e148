"""What strategies on PyTorch share: device, optimiser, group, the read-back of live objects."""

import gc
import hashlib
from collections.abc import Callable, Iterator, Mapping
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist
from torch.nn.modules.dropout import _DropoutNd

from paceline.schema.conditions import Policy
from paceline.schema.records import DeviceMemory, LiveSettings
from paceline.schema.suite import Recipe
from paceline.schema.trial import Job
from paceline.strategies import device, precision
from paceline.strategies.contract import Group, Membership, Solo, StepClock, StepOutcome, Strategy
from paceline.strategies.precision import MasterWeights
from paceline.workloads.contract import OptimiserSettings, Workload


class TorchGroup:
    """Barrier over ``torch.distributed``'s default group."""

    def barrier(self) -> None:
        """Return when all ranks have called it."""
        dist.barrier()


class TorchStrategy(Strategy):
    """One model, one optimiser, micro-batches one after another; subclasses say how the model is wrapped."""

    def __init__(self, job: Job, membership: Membership) -> None:
        super().__init__(job, membership)
        self.device = device.device_of(job, membership)
        self.recipe = job.cell.recipe
        self.model: Any = None
        self.optimiser: Any = None
        self.master_weights: MasterWeights | None = None
        self._loss: Callable[[Any, Any], Any] = _nothing_wrapped
        self._last = [False] * (job.cell.accumulation - 1) + [True]
        """Of each micro-batch of a step, whether it is the last."""
        self._seen_micro_batch = 0
        self._seen_accumulation = 0

    def join(self) -> Group:
        """Initialise the default group, unless the launcher did or there is nobody to meet."""
        if not self.membership.joined:
            dist.init_process_group(device.collective_backend(self.device), timeout=self.collective_timeout)
        return TorchGroup()

    def loss(self, batch: Any) -> torch.Tensor:
        """Return the mean loss of a micro-batch, in the recipe's precision."""
        if self.recipe is not Recipe.AMP:
            plain: torch.Tensor = self._loss(self.model, batch)
            return plain
        with torch.autocast(self.device.type, torch.bfloat16):
            found: torch.Tensor = self._loss(self.model, batch)
        return found

    def take_state(self, model: torch.nn.Module, workload: Workload) -> None:
        """Keep a wrapped model and make its optimiser, on fp32 masters where the recipe has them."""
        self.model, self._loss = model, workload.loss
        trained = [p for p in model.parameters() if p.requires_grad]
        if self.recipe is Recipe.BF16_MASTER:
            self.master_weights = MasterWeights(trained)
            trained = self.master_weights.masters
        self.optimiser = build_optimiser(trained, workload.optimiser, self.job)

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
        """Return what marks the edges of steps on this rank's device."""
        return device.step_clock(self.device, clock)

    def device_memory(self) -> DeviceMemory | None:
        """Return the memory of this rank's device; None on a CPU."""
        return device.memory(self.device)

    def step(self, micro_batches: Iterator[Any]) -> StepOutcome:
        """Accumulate gradients of the step's mean loss, then apply them."""
        self.optimiser.zero_grad(set_to_none=True)
        shares = []
        for batch, last in zip(micro_batches, self._last, strict=True):
            shares.append(self.backward(batch, last=last))
        self._seen_micro_batch, self._seen_accumulation = len(batch[0]), len(shares)
        if self.master_weights is not None:
            self.master_weights.step(self.optimiser)
        else:
            self.optimiser.step()
        return StepOutcome(_sum(shares), applied=True)

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
        """Return the digest of all parameters by name, as fp32 bytes, so that layouts of state do not matter."""
        return weights_digest(self.full_parameters())

    def full_parameters(self) -> Iterator[tuple[str, torch.Tensor]]:
        """Yield every parameter whole, by its name in the workload's model, one at a time (collective)."""
        yield from self.model.named_parameters()

    def training_state(self) -> Iterator[tuple[str, dict[str, Any]]]:
        """Yield every trained parameter with its optimiser's state, whole, one at a time (collective)."""
        for name, stepped_on in self.stepped_on_by_name():
            state = self.optimiser.state[stepped_on]
            yield name, {"weight": _whole(stepped_on), **{key: _whole(value) for key, value in state.items()}}

    def stepped_on_by_name(self) -> list[tuple[str, torch.Tensor]]:
        """Return what the optimiser steps on (a parameter or its master) with the parameter's name in the model."""
        trained = [(n.removeprefix("module."), p) for n, p in self.model.named_parameters() if p.requires_grad]
        masters = self.master_weights.masters if self.master_weights else [p for _, p in trained]
        return [(name, master) for (name, _), master in zip(trained, masters, strict=True)]

    def before_update(self, tell: Callable[[list[Any]], None]) -> None:
        """Call ``tell`` from a hook of torch's own optimiser, which every strategy here steps in the end."""
        inner = getattr(self.optimiser, "optimizer", self.optimiser)

        def hook(optimiser: torch.optim.Optimizer, _args: Any, _settings: Any) -> None:
            stepped_on = (p for group in optimiser.param_groups for p in group["params"])
            tell([_local(p.grad) for p in stepped_on if p.grad is not None])

        inner.register_step_pre_hook(hook)

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
        """Go on from the ``training_state`` of any strategy. Raises KeyError where a trained parameter has none."""
        with torch.no_grad():
            for name, stepped_on in self.stepped_on_by_name():
                values = {key: _counted_or_copied(value, stepped_on) for key, value in state[name].items()}
                stepped_on.copy_(values.pop("weight"))
                self.optimiser.state[stepped_on] = values
        if self.master_weights is not None:
            self.master_weights.round_back()

    def join(self) -> Group:
        """Return the group of one."""
        return Solo()


def _nothing_wrapped(_model: Any, _batch: Any) -> Any:
    raise RuntimeError("a loss was asked for before wrap()")


def _sum(shares: list[torch.Tensor]) -> torch.Tensor:
    """Return the step's loss without a copy where there is only one share: small steps would feel it."""
    return shares[0] if len(shares) == 1 else torch.stack(shares).sum()


def _local(tensor: torch.Tensor) -> torch.Tensor:
    """Return this rank's part of a tensor that is spread over ranks, or the tensor itself."""
    to_local = getattr(tensor, "to_local", None)
    return tensor if to_local is None else to_local()


def _whole(value: Any) -> Any:
    """Return a copy of a tensor that may be spread over ranks (collective); of a count of steps, the number."""
    if not isinstance(value, torch.Tensor):
        return value
    full = getattr(value, "full_tensor", None)
    whole = value.detach().clone() if full is None else full().detach().clone()
    return whole if whole.dim() else whole.item()


def _counted_or_copied(value: Any, like: torch.Tensor) -> torch.Tensor:
    """Return state as torch's optimisers keep it: a count is a tensor on the CPU, the rest lies beside the weight."""
    if isinstance(value, torch.Tensor):
        return value.to(like.device, copy=True)
    return torch.tensor(float(value))


def active_dropout(model: torch.nn.Module) -> float:
    """Return the largest probability of a dropout module that is in training mode; zero where there is none."""
    active = (m.p for m in model.modules() if isinstance(m, _DropoutNd) and m.training)
    return max(active, default=0.0)


def leave_group() -> None:
    """Destroy the default group when nothing refers to it any more and no rank is still in a collective.

    A gloo group that lives on until the interpreter ends aborts the process ("terminate called without an active
    exception", one exit in five here), and a finished training would look like a crash.
    """
    gc.collect()
    dist.barrier()
    dist.destroy_process_group()


def build_optimiser(
    parameters: list[torch.nn.Parameter], settings: OptimiserSettings, job: Job
) -> torch.optim.Optimizer:
    """Return the optimiser that every strategy uses; under ``normalised`` its implementation is fixed as well.

    Raises ValueError for an optimiser that is not known here, or when nothing is trained.
    """
    if not parameters:
        raise ValueError("every parameter is frozen: there is nothing to train")
    implementation: dict[str, Any] = {}
    if job.conditions.policy is Policy.NORMALISED:
        implementation = {"foreach": False, "fused": False}
    groups = _groups(parameters, settings)
    if settings.name == "adamw":
        return torch.optim.AdamW(
            groups, lr=settings.learning_rate, betas=settings.betas, eps=settings.epsilon, **implementation
        )
    if settings.name == "sgd":
        return torch.optim.SGD(groups, lr=settings.learning_rate, momentum=settings.momentum, **implementation)
    raise ValueError(f"unknown optimiser {settings.name!r}: use 'adamw' or 'sgd'")


def _groups(parameters: list[torch.nn.Parameter], settings: OptimiserSettings) -> list[dict[str, Any]]:
    """Return one group, or two where some parameters are spared weight decay."""
    decayed = [p for p in parameters if _dimensions(p) >= settings.decay_from_dimensions]
    spared = [p for p in parameters if _dimensions(p) < settings.decay_from_dimensions]
    groups = [
        {"params": decayed, "weight_decay": settings.weight_decay},
        {"params": spared, "weight_decay": 0.0},
    ]
    return [group for group in groups if group["params"]]


def _dimensions(parameter: torch.nn.Parameter) -> int:
    """Return the number of dimensions of the whole parameter; ZeRO-3 keeps it beside its partition."""
    return len(getattr(parameter, "ds_shape", parameter.shape))


def weights_digest(named: Iterator[tuple[str, torch.Tensor]]) -> str:
    """Return a hex digest over (name, digest of fp32 values) in order of name; wrappers' 'module.' is left out.

    Each tensor is digested as it comes, so that parameters which are gathered one at a time are never held together.
    """
    digests = {}
    for name, tensor in named:
        values = tensor.detach().cpu().float().contiguous().view(torch.uint8).numpy()
        digests[name.removeprefix("module.")] = hashlib.blake2b(values.tobytes(), digest_size=16).hexdigest()
    return hashlib.blake2b(repr(sorted(digests.items())).encode(), digest_size=16).hexdigest()


def dtype_name(tensor: torch.Tensor) -> str:
    """Return e.g. ``float32``."""
    return str(tensor.dtype).removeprefix("torch.")


def state_dtype(optimiser: Any) -> str:
    """Return the dtype of the optimiser's per-element state, or ``none`` before the first step or without state."""
    for state in optimiser.state.values():
        for value in state.values():
            if isinstance(value, torch.Tensor) and value.dim() > 0:
                return dtype_name(value)
    return "none"


def counted_steps(optimiser: Any) -> int | None:
    """Return how many steps the optimiser has counted for its first parameter; None where it keeps no count."""
    counts = (state["step"] for state in optimiser.state.values() if "step" in state)
    found = next(counts, None)
    return None if found is None else int(found)


def qualified_name(thing: Any) -> str:
    """Return module and class of an object."""
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def optimiser_settings(optimiser: Any) -> dict[str, Any]:
    """Return the plain settings of the first parameter group as they are in force."""
    plain = (int, float, bool, str, tuple, list, type(None))
    return {k: v for k, v in sorted(optimiser.param_groups[0].items()) if k != "params" and isinstance(v, plain)}
