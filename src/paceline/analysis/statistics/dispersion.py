"""Whether launches of one engine vary more than another's: tested, not only shown."""

import numpy as np
from numpy.typing import NDArray
from scipy.stats import permutation_test

from paceline.schema.model import Model

FEWEST = 32
"""Blocks before which spreads of launches say nothing."""
LEVEL = 0.025
"""One-sided error in each direction."""
_RESAMPLES = 4999


class Dispersion(Model):
    """The spread of launches of an engine beside that of its reference."""

    ratio: float
    """Standard deviations of ln(time), engine / reference."""
    p_more: float
    """One-sided p-value for "the engine varies more"."""
    p_less: float

    @property
    def word(self) -> str:
        """What is proven, empty where nothing is."""
        if self.p_more <= LEVEL:
            return "varies more"
        return "varies less" if self.p_less <= LEVEL else ""


def dispersion(mine: NDArray[np.float64], theirs: NDArray[np.float64]) -> Dispersion | None:
    """Return the test on paired times of the same blocks; None for fewer than ``FEWEST``, or with failures.

    Distances of launches from their engine's own median are swapped within blocks.
    """
    logs = np.log([mine, theirs])
    if logs.shape[1] < FEWEST or not np.isfinite(logs).all():
        return None
    distances = np.abs(logs - np.median(logs, axis=1, keepdims=True))
    found = {
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
        p_more=float(found["greater"]),
        p_less=float(found["less"]),
    )
