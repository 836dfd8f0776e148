"""Plain PyTorch on one rank."""

from paceline.schema.suite import Recipe
from paceline.strategies.blueprint import Blueprint
from paceline.strategies.precision import parameters_to_bf16
from paceline.strategies.torch_strategy import SoloTorchStrategy
from paceline.workloads.contract import Workload


class Single(SoloTorchStrategy):
    """The unwrapped model and its optimiser; no communication."""

    def wrap(self, workload: Workload) -> None:
        """Build the model on the device."""
        model = Blueprint(workload, self.job).whole().to(self.device)
        if self.recipe is Recipe.BF16_MASTER:
            parameters_to_bf16(model)
        self.take_state(model, workload)
