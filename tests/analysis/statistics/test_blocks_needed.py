"""How many blocks would decide an undecided pair."""

import math

import numpy as np

from paceline.analysis.statistics.blocks_needed import blocks_needed


def test_blocks_needed_are_those_after_which_most_runs_decide() -> None:
    draw = np.random.default_rng(9)
    easy, hard = draw.normal(0.10, 0.03, 8), draw.normal(0.03, 0.03, 8)
    few, many = blocks_needed(easy), blocks_needed(hard)
    assert few is not None
    assert few <= 12
    assert many is None or many > few
    assert blocks_needed(np.array([0.1, math.inf])) is None
