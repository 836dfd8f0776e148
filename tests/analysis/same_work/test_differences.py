"""What is a difference of work, and what is only rounding."""

import numpy as np
import pytest

from paceline.analysis.same_work.differences import FLOOR, ProofRecords, first_training_difference
from paceline.schema.proof import Part
from paceline.schema.records import LiveSettings, PartRecord, RankRecord
from paceline.schema.suite import Recipe


@pytest.mark.parametrize(("ulps", "parts"), [(1, False), (60, True)])
def test_rounding_of_a_weight_of_one_is_no_fault(ulps: int, parts: bool) -> None:
    """Adam's first update is the rate with a sign, the same in all reruns; ZeRO-3 rounds 1 - 3e-4 the other way."""
    weights = np.ones((13, 1, 64)) - 3e-4 * np.arange(13)[:, None, None]
    moved = weights.copy()
    moved[1:, 0, :8] += ulps * 2.0**-24
    live = LiveSettings(
        world_size=1, micro_batch=1, accumulation=1, gradient_clipping=None, parameter_dtype="float32",
        compute_dtype="float32", reduction_dtype="float32", master_dtype="float32", optimiser_state_dtype="float32",
        optimiser="-", optimiser_settings={}, parameters_total=64, optimiser_parameters_local=64, backend=None,
        device_type="cpu",
    )  # fmt: skip

    def proven(found: np.ndarray) -> ProofRecords:
        names = ("training", *(f"training-{i}" for i in range(1, 9)))
        parts = [
            PartRecord(
                part=name, losses=[1.0] * 12, applied=[True] * 12, gradient_squares=[1.0] * 12,
                weights_digests=[], samples=[], bf16_weights=False, live=live,
            )
            for name in names
        ]  # fmt: skip
        rank = RankRecord(
            rank=0,
            process_started_ns=0,
            reused_process=False,
            cores=[0],
            phases=[],
            proof=parts,
            proof_tensors=["norm"],
        )
        return ProofRecords([rank], {f"{name}/weights": found for name in names})

    parted, worst = first_training_difference(proven(moved), proven(weights), 8, Part.TRAINING, Recipe.FP32)
    assert (parted is not None) == parts
    assert worst > FLOOR[Recipe.FP32], "it would be beyond the floor"
