"""Where warm-up ends, on series with known answers and on public real ones."""

import gzip

import numpy as np
import pytest

from paceline.analysis.one_trial.warm_up import detect
from support.builders import SHARED_DATA


def noisy(level: float, count: int, seed: int, noise: float = 0.03) -> np.ndarray:
    return level * np.exp(np.random.default_rng(seed).normal(0, noise, count))


@pytest.mark.parametrize("tail", [40, 41, 43, 97])
def test_the_series_of_the_method_page(tail: int) -> None:
    found = detect(np.array([5.0, 0.6, 0.12] + [0.1] * tail))
    assert (found.steps, found.shape) == (3, "warm-up")
    assert found.steady_median_s == pytest.approx(0.1)


@pytest.mark.parametrize("seed", range(5))
def test_noise_alone_is_flat(seed: int) -> None:
    assert detect(noisy(0.1, 100, seed)).shape == "flat"


@pytest.mark.parametrize("seed", range(5))
def test_a_slow_start_is_found(seed: int) -> None:
    found = detect(np.concatenate([noisy(0.13, 30, seed), noisy(0.1, 70, seed + 100)]))
    assert found.shape == "warm-up"
    assert abs(found.steps - 30) <= 3
    assert found.steady_median_s == pytest.approx(0.1, rel=0.02)


def test_a_slow_end_is_a_slow_down() -> None:
    assert detect(np.concatenate([noisy(0.1, 50, 1), noisy(0.13, 50, 2)])).shape == "slow-down"


def test_few_steps_say_nothing() -> None:
    assert detect(np.array([5.0, 0.1, 0.1])).shape == "too short"


@pytest.mark.parametrize("job", [1, 2, 3, 4])
def test_real_series_are_taken_in_any_length(job: int) -> None:
    path = SHARED_DATA / f"pai_step_times_job{job}.csv.gz"
    if not path.exists():
        pytest.skip(f"{path} is not on this machine")
    with gzip.open(path, "rt") as file:
        header = file.readline().strip().split(",")
        rows = [line.strip().split(",") for line in file]
    worker, column = header.index("worker"), header.index("batch_time_norm")
    series = np.array([float(row[column]) for row in rows if row[worker] == rows[0][worker]])[:100]
    found = detect(series)
    assert 0 <= found.steps < len(series)
    assert np.isfinite(found.steady_median_s)
