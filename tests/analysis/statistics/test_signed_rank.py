"""The signed-rank test and its interval agree with scipy where it has the quantity."""

import math

import numpy as np
import pytest
from scipy.stats import bootstrap, wilcoxon

from paceline.analysis.statistics.signed_rank import interval, p_above, p_below, pseudo_median, walsh_averages


@pytest.mark.parametrize("n", [5, 8, 20, 50])
def test_the_test_is_scipys_and_its_inversion_agrees_with_it(n: int) -> None:
    d = np.random.default_rng(n).normal(0.3, 1, n)
    averages = walsh_averages(d)
    assert p_below(averages, 0.0) == pytest.approx(wilcoxon(d, alternative="less", method="exact").pvalue)
    assert p_above(averages, 0.0) == pytest.approx(wilcoxon(d, alternative="greater", method="exact").pvalue)
    low, high = interval(averages, 0.025)
    for edge, test in ((low, p_above), (high, p_below)):
        if math.isfinite(edge):
            inside = edge + (1e-9 if edge == low else -1e-9)
            outside = edge - (1e-9 if edge == low else -1e-9)
            assert test(averages, inside) > 0.025 >= test(averages, outside)
    assert low < pseudo_median(averages) < high


def test_few_blocks_bound_nothing() -> None:
    assert interval(walsh_averages(np.arange(1.0, 5.0)), 0.025) == (-math.inf, math.inf)


def test_the_pseudo_median_agrees_with_a_bootstrap_of_itself() -> None:
    d = np.random.default_rng(1).standard_t(3, 30) * 0.03
    low, high = interval(walsh_averages(d), 0.025)
    resampled = bootstrap(
        (d,),
        lambda x, axis: np.median(walsh_averages(np.moveaxis(x, axis, -1)), axis=-1),
        method="percentile",
        rng=np.random.default_rng(2),
    )
    assert low == pytest.approx(resampled.confidence_interval.low, abs=0.006)
    assert high == pytest.approx(resampled.confidence_interval.high, abs=0.006)
