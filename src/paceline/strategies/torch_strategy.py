"""What strategies on PyTorch share: device, optimiser, group, the read-back of live objects."""

import hashlib
from collections.abc import Callable, Iterator
from datetime import timedelta
from typing import Any

import torch
import torch.distributed as dist

from paceline.spec.conditions import Policy
from paceline.spec.records import LiveSettings
from paceline.spec.trial import Job
from paceline.strategies import device
from paceline.strategies.contract import Group, LossFunction, Membership, Solo, StepOutcome, Strategy
from paceline.workloads.contract import OptimiserSettings


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
        self.model: Any = None
        self.optimiser: Any = None
        self.loss: LossFunction | None = None
        self._seen_micro_batch = 0
        self._seen_accumulation = 0

    def join(self) -> Group:
        """Initialise the default group, unless the launcher did or there is nobody to meet."""
        if not self.membership.joined:
            dist.init_process_group(device.collective_backend(self.device), timeout=self.collective_timeout)
        return TorchGroup()

    @property
    def collective_timeout(self) -> timedelta:
        """How long a collective waits for the other ranks before it raises."""
        return timedelta(minutes=self.job.conditions.collective_timeout_minutes)

    def move(self, batch: Any) -> Any:
        """Return the batch on this rank's device."""
        return device.move(batch, self.device)

    def synchronise(self) -> None:
        """Return when the device has finished all submitted work."""
        device.synchronise(self.device)

    def observed(self, micro_batches: Iterator[Any]) -> Iterator[tuple[Any, bool]]:
        """Yield (micro-batch, whether it is the last of the step) and remember sizes for ``live``."""
        seen = 0
        following = next(micro_batches)
        while following is not None:
            batch, following = following, next(micro_batches, None)
            seen += 1
            self._seen_micro_batch = len(batch[0])
            yield batch, following is None
        self._seen_accumulation = seen

    def step(self, micro_batches: Iterator[Any]) -> StepOutcome:
        """Accumulate gradients of the step's mean loss, then apply them."""
        assert self.loss is not None
        self.optimiser.zero_grad(set_to_none=True)
        total = torch.zeros((), device=self.device)
        for batch, last in self.observed(micro_batches):
            total += self.backward(batch, last=last)
        self.optimiser.step()
        return StepOutcome(total, applied=True)

    def backward(self, batch: Any, *, last: bool) -> torch.Tensor:  # noqa: ARG002 - subclasses synchronise on the last
        """Add the gradient of this micro-batch's share of the step's loss; return that share."""
        assert self.loss is not None
        share = self.loss(self.model, batch) / self.job.cell.accumulation
        share.backward()
        detached: torch.Tensor = share.detach()
        return detached

    def evaluate(self, correct: Callable[[Any, Any], int], batch: Any) -> int:
        """Return ``correct(model, batch)`` with the model in evaluation mode."""
        self.model.eval()
        try:
            return correct(self.model, self.move(batch))
        finally:
            self.model.train()

    def initial_weights_digest(self) -> str:
        """Return the digest of all parameters by name, as bytes of their own dtype."""
        return weights_digest(self.model.named_parameters())

    def live(self) -> LiveSettings:
        """Return what is in force, read back from the model, the optimiser and the group."""
        parameters = list(self.model.parameters())
        local = [p for group in self.optimiser.param_groups for p in group["params"]]
        gradient = next((p.grad for p in parameters if p.grad is not None), None)
        grouped = dist.is_initialized()
        return LiveSettings(
            world_size=dist.get_world_size() if grouped else 1,
            micro_batch=self._seen_micro_batch,
            accumulation=self._seen_accumulation,
            gradient_clipping=None,
            parameter_dtype=dtype_name(parameters[0]),
            compute_dtype=dtype_name(parameters[0]),
            reduction_dtype=dtype_name(gradient if gradient is not None else local[0]),
            master_dtype=dtype_name(local[0]),
            optimiser_state_dtype=state_dtype(self.optimiser),
            optimiser=qualified_name(self.optimiser),
            optimiser_settings=optimiser_settings(self.optimiser),
            parameters_total=sum(p.numel() for p in parameters),
            optimiser_parameters_local=sum(p.numel() for p in local),
            backend=dist.get_backend() if grouped else None,
        )

    def close(self) -> None:
        """Leave the group, unless the launcher owns it."""
        if dist.is_initialized() and not self.membership.joined:
            dist.destroy_process_group()


class SoloTorchStrategy(TorchStrategy):
    """A strategy of exactly one rank, which needs no group."""

    def join(self) -> Group:
        """Return the group of one."""
        return Solo()


def build_optimiser(parameters: Any, settings: OptimiserSettings, job: Job) -> torch.optim.Optimizer:
    """Return the optimiser that every strategy uses; under ``normalised`` its implementation is fixed as well.

    Raises ValueError for an optimiser that is not known here.
    """
    implementation: dict[str, Any] = {}
    if job.conditions.policy is Policy.NORMALISED:
        implementation = {"foreach": False, "fused": False}
    if settings.name == "adamw":
        return torch.optim.AdamW(
            parameters,
            lr=settings.learning_rate,
            betas=settings.betas,
            eps=settings.epsilon,
            weight_decay=settings.weight_decay,
            **implementation,
        )
    if settings.name == "sgd":
        return torch.optim.SGD(
            parameters,
            lr=settings.learning_rate,
            momentum=settings.momentum,
            weight_decay=settings.weight_decay,
            **implementation,
        )
    raise ValueError(f"unknown optimiser {settings.name!r}: use 'adamw' or 'sgd'")


def weights_digest(named: Any) -> str:
    """Return a hex digest of (name, values) in order of name; 'module.' prefixes of wrappers are left out."""
    digest = hashlib.blake2b(digest_size=16)
    for name, tensor in sorted((n.removeprefix("module."), p) for n, p in named):
        digest.update(name.encode())
        digest.update(tensor.detach().cpu().contiguous().view(torch.uint8).numpy().tobytes())
    return digest.hexdigest()


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


def qualified_name(thing: Any) -> str:
    """Return module and class of an object."""
    return f"{type(thing).__module__}.{type(thing).__qualname__}"


def optimiser_settings(optimiser: Any) -> dict[str, Any]:
    """Return the plain settings of the first parameter group as they are in force."""
    plain = (int, float, bool, str, tuple, list, type(None))
    return {k: v for k, v in sorted(optimiser.param_groups[0].items()) if k != "params" and isinstance(v, plain)}
