"""Steps that are recorded instead of timed, for a proof to compare."""

import hashlib
from typing import Any

import numpy as np
import torch
from numpy.typing import NDArray
from torch.nn.modules.dropout import _DropoutNd

from paceline.rank.loop import Feed
from paceline.rank.sketch import sketches
from paceline.schema.records import PartRecord, Scale
from paceline.strategies.contract import Strategy
from paceline.workloads.contract import OptimiserSettings, Workload

Array = NDArray[np.float64]


class ProofWorkload(Workload):
    """A workload without dropout; with a ``scale`` also with the optimiser and loss scale of ``Part.GRADIENTS``."""

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


def proven_steps(
    name: str, strategy: Strategy, feed: Feed, steps: int, loss_scale: float = 1.0
) -> tuple[PartRecord, Array, list[str]]:
    """Train; return the record, sketches of all weights (steps + 1, tensors, SKETCH_WIDTH) and the tensors' names."""
    squares: list[float] = []
    strategy.before_update(lambda gradients: squares.append(sum(float(g.double().square().sum()) for g in gradients)))
    names, start = sketches(strategy.full_parameters())
    weights, losses, applied, gradient_squares = [start], [], [], []
    for _ in range(steps):
        squares.clear()
        outcome = strategy.step(feed.next_step())
        losses.append(float(outcome.loss) / loss_scale)
        applied.append(outcome.applied)
        # A sum, because an optimiser may be called several times a step, each time on some of the parameters.
        gradient_squares.append(sum(squares))
        weights.append(sketches(strategy.full_parameters())[1])
    record = PartRecord(
        part=name,
        losses=losses,
        applied=applied,
        gradient_squares=gradient_squares,
        weights_digests=[hashlib.blake2b(w.tobytes(), digest_size=8).hexdigest() for w in weights],
        samples=feed.consumed,
        bf16_weights=all(_is_bf16(p) for _, p in strategy.full_parameters()),
        live=strategy.live(),
    )
    return record, np.stack(weights), names


def _is_bf16(tensor: torch.Tensor) -> bool:
    """Return whether every value is exactly a bf16 number, whatever the tensor's dtype."""
    return bool((tensor.detach().bfloat16().to(tensor.dtype) == tensor.detach()).all())
