"""How long a trial will take, before anything has run: rough figures of a two-core machine, said to be estimates."""

from paceline.launchers import contract as launchers
from paceline.launchers.contract import LoadLauncher
from paceline.spec.proof import STEPS, Part
from paceline.spec.suite import Recipe
from paceline.spec.trial import Cell, Trial
from paceline.strategies import descriptor as strategies
from paceline.workloads import descriptor as workloads

SUSTAINED_FLOPS_PER_S = {"cpu": 6.5e10, "gpu": 2.0e13}
"""What training sustains on one core or accelerator, fp32: ViT-Tiny runs at 7e10 a core on the README's machine."""
STEP_OVERHEAD_S = {"cpu": 0.006, "gpu": 0.004}
"""Of a step that computes next to nothing: Python, optimiser, collectives."""
DEEPSPEED_RANK_S = 4.0
"""Importing and initialising DeepSpeed in a rank."""
TORCH_RANK_S = 2.5
"""Importing torch and building the model in a rank."""
COMPILE_S = 60.0
"""torch.compile of a heavy model on two cores."""
CLEAN_UP_S = 1.0


def trial_s(trial: Trial) -> float:
    """Return the estimated wall time of a trial in seconds."""
    cell = trial.cell
    launcher = launchers.get(cell.engine.launcher)
    slots = len(trial.slots)
    rounds = -(-cell.load.jobs // slots)
    rank_s = _rank_start_s(cell)
    training_s = _training_s(cell, _steps(trial))
    if isinstance(launcher, LoadLauncher):
        # One cluster; workers start once and are reused.
        return launcher.startup_estimate_s + rank_s + rounds * training_s + CLEAN_UP_S
    # Every job starts a launcher of its own.
    return rounds * (launcher.startup_estimate_s + rank_s + training_s) + CLEAN_UP_S


def _steps(trial: Trial) -> int:
    """Return the optimiser steps of one job."""
    if trial.proof is None:
        return trial.cell.total_steps
    trainings = 1 if trial.cell.recipe is Recipe.FP32 else 2
    return STEPS[Part.GRADIENTS] + trainings * (1 + trial.proof.reruns) * STEPS[Part.TRAINING]


def _training_s(cell: Cell, steps: int) -> float:
    """Return the estimated time of all steps of one job."""
    tier = workloads.get(cell.workload).tiers[cell.tier]
    if workloads.get(cell.workload).selftest_only:
        return float(cell.variant.settings.get("step_s", 0.01)) * steps
    samples_per_rank = cell.micro_batch * cell.accumulation
    step_s = samples_per_rank * tier.flops_per_sample_training / SUSTAINED_FLOPS_PER_S[cell.tier]
    stepping_s = steps * (step_s / cell.cores_per_rank + STEP_OVERHEAD_S[cell.tier])
    return stepping_s + (COMPILE_S if cell.variant.compile else 0.0)


def _rank_start_s(cell: Cell) -> float:
    if workloads.get(cell.workload).selftest_only:
        return 0.2
    return DEEPSPEED_RANK_S if "deepspeed" in strategies.get(cell.engine.strategy).modules else TORCH_RANK_S
