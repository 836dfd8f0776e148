"""Which blocks of a comparison do not count: whole ones, by rules fixed before any outcome is seen.

``one_trial/disturbance.py`` has the rules; docs/method.md, "Blocks that do not count", has their reasons.
"""

from collections.abc import Sequence

from paceline.schema.records import FlagName, Result
from paceline.schema.trial import Trial

Block = tuple[int, int]
"""(comparison, block)."""


def excluded_blocks(trials: Sequence[Trial], results: dict[str, Result]) -> dict[Block, list[str]]:
    """Return the blocks that do not count and why: a trial of theirs was disturbed.

    Where that would leave a comparison nothing, its blocks are kept: they are flagged, and too few for a verdict.
    """
    reasons: dict[Block, dict[str, None]] = {}
    for trial in trials:
        if trial.id in results:
            of_block = reasons.setdefault((trial.cell.comparison, trial.block), {})
            flags = (flag for flag in results[trial.id].flags if flag.name is FlagName.DISTURBED)
            of_block |= {f"{trial.cell.engine}: {flag.message}": None for flag in flags}
    undisturbed = {comparison for (comparison, _), of_block in reasons.items() if not of_block}
    return {block: list(of_block) for block, of_block in reasons.items() if of_block and block[0] in undisturbed}
