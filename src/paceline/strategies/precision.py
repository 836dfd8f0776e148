"""Recipe ``bf16-master`` on plain PyTorch: bf16 weights with fp32 masters (docs/method.md, "Same work")."""

from typing import Any

import torch

from paceline.schema.suite import Recipe


def inputs(batch: Any, recipe: Recipe) -> Any:
    """Return the batch with its floating-point tensors in the dtype of the weights."""
    if recipe is not Recipe.BF16_MASTER:
        return batch
    return tuple(tensor.bfloat16() if tensor.is_floating_point() else tensor for tensor in batch)


def parameters_to_bf16(model: torch.nn.Module) -> None:
    """Round the weights to bf16 in place; buffers (batch statistics) stay fp32."""
    for parameter in model.parameters():
        parameter.data = parameter.data.bfloat16()


class MasterWeights:
    """Keeps an fp32 copy of bf16 weights, steps an optimiser on it, and rounds the result back."""

    def __init__(self, weights: list[torch.nn.Parameter]) -> None:
        self._weights = weights
        self.masters = [torch.nn.Parameter(w.detach().float()) for w in weights]

    def step(self, optimiser: torch.optim.Optimizer) -> None:
        """Step the optimiser on the masters with the weights' gradients, then copy the masters to the weights."""
        for weight, master in zip(self._weights, self.masters, strict=True):
            master.grad = None if weight.grad is None else weight.grad.float()
            weight.grad = None
        optimiser.step()
        self.round_back()

    def round_back(self) -> None:
        """Copy the masters to the weights, rounded to bf16."""
        with torch.no_grad():
            for weight, master in zip(self._weights, self.masters, strict=True):
                weight.copy_(master)
