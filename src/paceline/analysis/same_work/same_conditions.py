"""Whether two trials ran under the same conditions, from what every rank read back (docs/method.md, "Conditions")."""

from paceline.schema.conditions import ConditionsOutcome, differing_conditions, soft_differences
from paceline.schema.model import Model
from paceline.schema.trial_records import TrialRecords


class SameConditions(Model):
    """The conditions of a cell compared with those of the reference engine's cell."""

    outcome: ConditionsOutcome
    differences: list[str] = []
    notes: list[str] = []
    """Soft items in which first ranks differ. They are reported, but do not keep an engine out of a ranking."""


NO_CONDITIONS = SameConditions(outcome=ConditionsOutcome.UNPROVEN)


def compare_conditions(trial: TrialRecords, reference: TrialRecords) -> SameConditions:
    """Compare what ranks read back: every rank of both trials must agree with the first rank of ``reference``."""
    engine_items, reference_items = _read_back(trial), _read_back(reference)
    if not engine_items or not reference_items:
        return NO_CONDITIONS
    base = reference_items[0]
    same_layout = trial.trial.cell.layout == reference.trial.cell.layout
    differences = {
        text
        for items in (*engine_items, *reference_items)
        for text in differing_conditions(items, base, same_layout=same_layout)
    }
    return SameConditions(
        outcome=ConditionsOutcome.DIFFERENT if differences else ConditionsOutcome.SAME,
        differences=sorted(differences),
        notes=soft_differences(engine_items[0], base),
    )


def worst_conditions(compared: list[SameConditions]) -> SameConditions:
    """Return the comparison of the block in which most conditions differ."""
    return max(compared, key=lambda c: len(c.differences), default=NO_CONDITIONS)


def _read_back(records: TrialRecords) -> list[dict[str, object]]:
    """Return what every rank read back, before the window and after it."""
    read = (c for ranks in records.ranks.values() for r in ranks for c in (r.conditions, r.conditions_at_start))
    return [items for items in read if items is not None]
