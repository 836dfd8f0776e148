"""FLOPs against published figures."""

import pytest
import torch

from paceline.workloads.contract import load_workload
from paceline.workloads.flops import count_training_flops


def test_flops_agree_with_published_figures() -> None:
    """Training is about three forwards; 2 FLOP a MAC. ResNet-50: 4.1 GMAC, ViT-B/16: 17.6 GMAC at 224 pixels."""
    for name, giga_macs in (("resnet", 4.1), ("vit", 17.6)):
        counted = count_training_flops(load_workload(name, "gpu", "generated"))
        assert counted == pytest.approx(giga_macs * 1e9 * 2 * 3, rel=0.06)


def test_flops_of_lenet5_are_those_by_hand() -> None:
    convolutions = 28 * 28 * 6 * 25 + 10 * 10 * 16 * 150
    full = 400 * 120 + 120 * 84 + 84 * 10
    # Backward is twice forward, but the first layer needs no gradient of its input.
    by_hand = 2 * (3 * (convolutions + full) - 28 * 28 * 6 * 25)
    assert count_training_flops(load_workload("lenet5", "cpu", "generated")) == by_hand


def parameters(name: str, tier: str) -> int:
    with torch.device("meta"):
        model = load_workload(name, tier, "generated").build()  # type: ignore[arg-type]
    return sum(p.numel() for p in model.parameters())


def test_flops_of_the_decoder_follow_6nd() -> None:
    workload = load_workload("decoder", "gpu", "generated")
    assert count_training_flops(workload) == pytest.approx(6 * parameters("decoder", "gpu") * 1024, rel=0.10)
