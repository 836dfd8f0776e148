"""Which blocks of a comparison do not count: whole blocks, by limits fixed before any outcome is seen.

``one_trial/disturbance.py`` has the limits; docs/method.md, "Blocks that do not count", has their reasons.
"""

from collections.abc import Sequence

from paceline.schema.records import FlagName, Result
from paceline.schema.trial import Trial

Block = tuple[int, int]
"""Number of a comparison in its suite, and number of a block."""


def excluded_blocks(trials: Sequence[Trial], results: dict[str, Result]) -> dict[Block, list[str]]:
    """Return the blocks in which a trial was disturbed, and why they do not count.

    Where every block of a comparison was disturbed, all are kept: their trials are flagged instead.
    """
    reasons: dict[Block, dict[str, None]] = {}
    for trial in trials:
        if trial.id in results:
            block_reasons = reasons.setdefault((trial.cell.comparison, trial.block), {})
            flags = (flag for flag in results[trial.id].flags if flag.name is FlagName.DISTURBED)
            block_reasons |= {f"{trial.cell.engine}: {flag.message}": None for flag in flags}
    with_undisturbed_block = {comparison for (comparison, _), texts in reasons.items() if not texts}
    return {block: list(texts) for block, texts in reasons.items() if texts and block[0] in with_undisturbed_block}
