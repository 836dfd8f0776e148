"""The order in which the engines of a block run (docs/method.md, "Order of a comparison")."""

from collections.abc import Sequence

from paceline.schema.trial import Trial


def block_order(engines: int, block: int) -> list[int]:
    """Return the order of engines in a block: the row of a Williams design (1949), cycled over blocks.

    Each engine comes equally often at each position, and equally often directly after each other engine. An odd number
    of engines needs the mirrored rows for that too: a full cycle has ``engines`` rows when their number is even, twice
    as many when it is odd. The result holds indices of engines, from 0.
    """
    if engines == 1:
        return [0]
    first = [0]
    low, high = 1, engines - 1
    while low <= high:
        first.append(low)
        low += 1
        if low <= high:
            first.append(high)
            high -= 1
    cycle = engines if engines % 2 == 0 else 2 * engines
    shift = block % cycle
    row = [(engine + shift) % engines for engine in first]
    return row if shift < engines else row[::-1]


def blocks_of(trials: Sequence[Trial]) -> dict[int, list[Trial]]:
    """Return the trials of each block, in the given order."""
    blocks: dict[int, list[Trial]] = {}
    for trial in trials:
        blocks.setdefault(trial.block, []).append(trial)
    return blocks
