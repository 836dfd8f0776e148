"""Tests whether the launches of one engine vary more than those of another."""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import permutation_test

from paceline.schema.model import Model

FEWEST = 32
"""Fewest blocks for a test of spread."""
LEVEL = 0.025
"""One-sided error in each direction."""
_RESAMPLES = 4999
"""Permutations of each test."""


class Dispersion(Model):
    """The spread of an engine's launches compared with that of the reference engine's."""

    ratio: float
    """Standard deviations of ln(time), engine / reference."""
    p_more: float
    """One-sided p-value for "the engine varies more"."""
    p_less: float
    """One-sided p-value for "the engine varies less"."""

    @property
    def word(self) -> str:
        """``varies more`` or ``varies less`` where that is proven, else empty."""
        if self.p_more <= LEVEL:
            return "varies more"
        return "varies less" if self.p_less <= LEVEL else ""


def dispersion(engine: NDArray[np.float64], reference: NDArray[np.float64]) -> Dispersion | None:
    """Return the test on times of two engines in the same blocks; None below ``FEWEST`` blocks, or with failures.

    It is a permutation test: distances of ln(time) from the engine's own median are swapped within blocks.
    """
    logs = np.log([engine, reference])
    if logs.shape[1] < FEWEST or not np.isfinite(logs).all():
        return None
    distances = np.abs(logs - np.median(logs, axis=1, keepdims=True))
    p_values = {
        side: permutation_test(
            tuple(distances),
            lambda a, b, axis: np.mean(a - b, axis=axis),
            permutation_type="samples",
            alternative=side,
            n_resamples=_RESAMPLES,
            rng=np.random.default_rng(0),
        ).pvalue
        for side in ("greater", "less")
    }
    spread = np.std(logs, axis=1, ddof=1)
    return Dispersion(
        ratio=float(spread[0] / spread[1]) if spread[1] > 0 else np.inf,
        p_more=float(p_values["greater"]),
        p_less=float(p_values["less"]),
    )
