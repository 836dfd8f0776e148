"""How long a trial will take, estimated before anything has run, from rough figures of a two-core machine."""

from paceline.launchers.contract import LoadLauncher, launcher_named
from paceline.schema.proof import STEPS, Part
from paceline.schema.suite import Recipe
from paceline.schema.trial import Cell, Trial
from paceline.strategies.descriptor import strategy_named

SUSTAINED_FLOPS_PER_S = {"cpu": 6.5e10, "gpu": 2.0e13}
"""FLOPs per second that fp32 training sustains on one core or accelerator. ViT-Tiny reaches 7e10 on a core of the
machine in the README."""
STEP_OVERHEAD_S = {"cpu": 0.006, "gpu": 0.004}
"""Seconds of a step besides its FLOPs: Python, optimiser, collectives."""
DEEPSPEED_RANK_S = 4.0
"""Seconds to import and initialise DeepSpeed in a rank."""
TORCH_RANK_S = 2.5
"""Seconds to import torch and build the model in a rank."""
COMPILE_S = 60.0
"""Seconds that torch.compile takes for a heavy model on two cores."""
FAKE_RANK_S = 0.2
"""Seconds to start a rank without torch."""
CLEAN_UP_S = 1.0
"""Seconds from the end of the last job to the end of the trial."""


def expected_s(trial: Trial) -> float:
    """Return the seconds that the plan expects of a trial. A proof is not in the plan, so it is estimated now."""
    return trial_s(trial) if trial.estimate_s is None else trial.estimate_s


def trial_s(trial: Trial, flops_per_sample: float | None = None) -> float:
    """Return the estimated wall time of a trial in seconds.

    ``flops_per_sample``: rough FLOPs of training on one sample, used while the trial's cell has no counted figure.
    """
    cell = trial.cell
    launcher = launcher_named(cell.engine.launcher)
    slots = len(trial.slots)
    rounds = -(-cell.load.jobs // slots)
    rank_s = _rank_start_s(cell)
    flops = cell.flops_per_sample_training or flops_per_sample or 0.0
    training_s = _training_s(cell, _steps(trial), flops)
    if isinstance(launcher, LoadLauncher):
        # One cluster, whose workers start once and are reused.
        return launcher.startup_estimate_s + rank_s + rounds * training_s + CLEAN_UP_S
    # Each job starts its own launcher.
    return rounds * (launcher.startup_estimate_s + rank_s + training_s) + CLEAN_UP_S


def _steps(trial: Trial) -> int:
    """Return the optimiser steps of one job."""
    if trial.proof is None:
        return trial.cell.total_steps
    trainings = 1 if trial.cell.recipe is Recipe.FP32 else 2
    return STEPS[Part.GRADIENTS] + trainings * (1 + trial.proof.reruns) * STEPS[Part.TRAINING]


def _training_s(cell: Cell, steps: int, flops_per_sample: float) -> float:
    """Return the estimated time of all steps of one job."""
    if not cell.trains:
        return float(cell.variant.settings.get("step_s", 0.01)) * steps
    samples_per_rank = cell.micro_batch * cell.accumulation
    step_s = samples_per_rank * flops_per_sample / SUSTAINED_FLOPS_PER_S[cell.tier]
    stepping_s = steps * (step_s / cell.cores_per_rank + STEP_OVERHEAD_S[cell.tier])
    return stepping_s + (COMPILE_S if cell.variant.compile else 0.0)


def _rank_start_s(cell: Cell) -> float:
    if not cell.trains:
        return FAKE_RANK_S
    return DEEPSPEED_RANK_S if "deepspeed" in strategy_named(cell.engine.strategy).modules else TORCH_RANK_S
