"""Which rank sees which samples."""

import numpy as np
import pytest
from hypothesis import given
from hypothesis import strategies as st

from paceline.rank.sampler import Sampler


def samplers(samples: int, micro: int, accumulation: int, ranks: int, incomplete: str = "drop") -> list[Sampler]:
    return [Sampler(samples, micro, accumulation, r, ranks, 7, incomplete) for r in range(ranks)]  # type: ignore[arg-type]


def epoch(group: list[Sampler]) -> tuple[list[int], int]:
    """Return all indices of one epoch over all ranks, and how many of them are padding."""
    steps = [s.step(i) for i in range(group[0].steps_per_epoch) for s in group]
    return [int(i) for step in steps for m in step.micro_batches for i in m], sum(step.padded for step in steps)


def test_ten_samples_on_four_ranks_padded() -> None:
    indices, padded = epoch(samplers(10, 1, 1, 4, "pad"))
    assert (len(indices), len(set(indices)), padded) == (12, 10, 2)


def test_ten_samples_on_four_ranks_dropped() -> None:
    group = samplers(10, 1, 1, 4)
    indices, padded = epoch(group)
    assert (len(indices), len(set(indices)), padded, group[0].dropped_per_epoch) == (8, 8, 0, 2)


@given(st.integers(1, 4), st.integers(1, 4), st.integers(1, 4), st.integers(1, 5), st.integers(0, 30))
def test_ranks_share_a_global_batch_without_overlap(
    micro: int, accumulation: int, ranks: int, batches: int, rest: int
) -> None:
    samples = micro * accumulation * ranks * batches + rest
    indices, _ = epoch(samplers(samples, micro, accumulation, ranks))
    assert len(indices) == len(set(indices)) >= samples - rest % (micro * accumulation * ranks) - rest


@given(st.sampled_from([(1, 8, 1), (2, 4, 1), (2, 2, 2), (4, 2, 1)]), st.integers(0, 9))
def test_the_global_batch_does_not_depend_on_how_it_is_cut(shape: tuple[int, int, int], step: int) -> None:
    ranks, micro, accumulation = shape
    parts = [m for s in samplers(100, micro, accumulation, ranks) for m in s.step(step).micro_batches]
    assert np.array_equal(np.concatenate(parts), Sampler(100, 8, 1, 0, 1, 7, "drop").step(step).micro_batches[0])


def test_epochs_and_seeds_shuffle_differently() -> None:
    one, other = Sampler(64, 64, 1, 0, 1, 1, "drop"), Sampler(64, 64, 1, 0, 1, 2, "drop")
    first, second = one.step(0).micro_batches[0], one.step(1).micro_batches[0]
    assert not np.array_equal(first, second)
    assert not np.array_equal(first, other.step(0).micro_batches[0])


def test_too_few_samples_are_refused_with_the_fix() -> None:
    with pytest.raises(ValueError, match="incomplete_batch: pad"):
        Sampler(10, 16, 1, 0, 1, 0, "drop")
