"""In which order the engines of a block run."""

from collections.abc import Sequence

from paceline.schema.trial import Trial


def block_order(engines: int, block: int) -> list[int]:
    """Return the order of engines in a block: the row of a Williams design (1949), cycled over blocks.

    Each engine comes equally often at each position, and equally often right after each other one; an odd number of
    engines needs the mirrored rows as well, so a full cycle has ``engines`` rows (even) or twice as many (odd).
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
    turn = block % cycle
    row = [(place + turn) % engines for place in first]
    return row if turn < engines else row[::-1]


def blocks_of(trials: Sequence[Trial]) -> dict[int, list[Trial]]:
    """Return trials by block, in order."""
    found: dict[int, list[Trial]] = {}
    for trial in trials:
        found.setdefault(trial.block, []).append(trial)
    return found
