"""Whether launches of one engine vary more than another's."""

import math

import numpy as np

from paceline.analysis.statistics.dispersion import dispersion


def test_launches_that_vary_more_are_told_and_twins_are_not() -> None:
    draw = np.random.default_rng(13)
    shared = draw.normal(0, 0.05, (400, 40))  # what a block does to both engines alike
    wrong = 0
    for base in shared:
        one, other = (np.exp(base + draw.normal(0, 0.03, 40)) for _ in range(2))
        found = dispersion(one, other)
        assert found is not None
        wrong += found.word != ""
    assert wrong <= 0.05 * 400 + 3 * math.sqrt(0.05 * 0.95 * 400)
    calm, wild = np.exp(draw.normal(0, 0.02, 40)), np.exp(draw.normal(0, 0.06, 40))
    more, less = dispersion(wild, calm), dispersion(calm, wild)
    assert more is not None
    assert less is not None
    assert (more.word, less.word) == ("varies more", "varies less")
    assert dispersion(wild[:31], calm[:31]) is None
