"""Which blocks of a comparison do not count (METHOD §6): whole ones, by rules fixed before any outcome is seen."""

from collections.abc import Sequence

from paceline.spec.records import Result
from paceline.spec.trial import Trial

DISTURBED = "disturbed"
"""The flag of a trial during which something else used its devices; ``interference.py`` has the rules."""

Block = tuple[int, int]
"""(comparison, block)."""


def excluded_blocks(trials: Sequence[Trial], results: dict[str, Result]) -> dict[Block, list[str]]:
    """Return the blocks that do not count and why: a trial of theirs was disturbed.

    Where that would leave a comparison nothing, its blocks are kept: they are flagged, and too few for a verdict.
    """
    reasons: dict[Block, dict[str, None]] = {}
    for trial in trials:
        if trial.id in results:
            found = reasons.setdefault((trial.cell.comparison, trial.block), {})
            flags = (flag for flag in results[trial.id].flags if flag.name == DISTURBED)
            found |= {f"{trial.cell.engine}: {flag.message}": None for flag in flags}
    undisturbed = {comparison for (comparison, _), found in reasons.items() if not found}
    return {block: list(found) for block, found in reasons.items() if found and block[0] in undisturbed}
