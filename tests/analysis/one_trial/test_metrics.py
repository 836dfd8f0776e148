"""Metrics from records: durations of steps, utilisation."""

from pathlib import Path

import numpy as np
import pytest

from paceline.analysis.one_trial.metrics import step_durations_s, utilisation
from paceline.schema.suite import Peak
from support.builders import make_cell


def test_a_straggler_counts_once(tmp_path: Path) -> None:
    """Two ranks late in turn: elapsed time is what counts, the sum of per-step maxima would be half as much again."""
    cell = make_cell(warm_up_steps=0, steps=4)
    # Steps of 50 ms, then the late rank needs 50 ms more and makes its peer wait in the next step.
    first = [[0, 50], [50, 100], [100, 200], [200, 250], [250, 350]]
    second = [[0, 50], [50, 150], [150, 200], [200, 300], [300, 350]]
    bounds = [np.array(b, dtype=np.int64) * 1_000_000 for b in (first, second)]
    elapsed_s = 0.300
    sum_of_maxima_s = sum(max(b[s, 1] - b[s, 0] for b in bounds) for s in range(1, 5)) / 1e9
    assert step_durations_s(bounds, cell).sum() == pytest.approx(elapsed_s)
    assert sum_of_maxima_s == pytest.approx(0.400)


def test_utilisation_above_one_is_reported_not_hidden() -> None:
    cell = make_cell(ranks=1, peak=Peak(flops_per_s=1e9, source="measured"), flops_per_sample_training=1e9)
    found = utilisation(cell, samples=3, window_s=2.0)
    assert found.value == pytest.approx(1.5)


@pytest.mark.parametrize("peak", [None, Peak(flops_per_s=None, source="unknown device")])
def test_an_unknown_peak_has_no_fallback(peak: Peak | None) -> None:
    found = utilisation(make_cell(peak=peak, flops_per_sample_training=1e9), samples=3, window_s=2.0)
    assert found.value is None
    assert found.reason
