"""Workloads: sizes against published figures, data by index."""

import numpy as np
import pytest
import torch

from paceline.workloads.contract import load_workload

REAL = {"lenet5": "digits", "vit": "digits", "resnet": "digits", "decoder": "python-stdlib"}


def parameters(name: str, tier: str) -> int:
    with torch.device("meta"):
        model = load_workload(name, tier, "generated").build()  # type: ignore[arg-type]
    return sum(p.numel() for p in model.parameters())


@pytest.mark.parametrize(
    ("name", "tier", "count"),
    [
        ("lenet5", "cpu", 61_706),
        ("resnet", "gpu", 25_557_032),
        ("vit", "gpu", 86_567_656),
        ("vit", "cpu", 5_390_410),
        ("resnet", "cpu", 11_181_642),
        ("decoder", "cpu", 4_877_568),
    ],
)
def test_models_have_their_published_sizes(name: str, tier: str, count: int) -> None:
    assert parameters(name, tier) == count


@pytest.mark.parametrize("name", REAL)
@pytest.mark.parametrize("twin", [False, True])
def test_batches_follow_from_global_indices(name: str, twin: bool) -> None:
    workload = load_workload(name, "cpu", "generated" if twin else REAL[name])
    together = workload.batch(np.array([3, 70, 5]))
    alone = workload.batch(np.array([70]))
    for whole, single in zip(together, alone, strict=True):
        assert torch.equal(whole[1:2], single)
    assert workload.samples > 1000
