"""Conditions: which differences part two trials, which are only told."""

from paceline.schema.conditions import Conditions, differing_conditions, soft_differences


def test_soft_conditions_are_told_and_hard_ones_part() -> None:
    one = {"intraop_threads": 1, "process_threads": 14, "other_environment": {"NCCL_ASYNC_ERROR_HANDLING": "1"}}
    other = {"intraop_threads": 2, "process_threads": 37, "other_environment": {}}
    assert differing_conditions(one, other) == ["intraop_threads: 1 / 2"]
    assert soft_differences(one, other) == ["process_threads: 14 / 37", "NCCL_ASYNC_ERROR_HANDLING: 1 / None"]


def test_glibc_takes_the_allocator_settings() -> None:
    """glibc ignores a mmap threshold above half of its 64 MiB heaps without a word."""
    assert Conditions().malloc_mmap_threshold_bytes <= 32 * 1024**2
