"""Whether a finished run is valid, which decides between the exit codes 0 and 1."""

from paceline.analysis.whole_run.view import RunView
from paceline.schema.conditions import Policy
from paceline.schema.proof import WorkOutcome
from paceline.schema.trial import Status


def is_valid(view: RunView) -> bool:
    """Return whether every expectation holds, no trial failed unexpectedly, and no engine did different work.

    Under ``as-shipped`` engines may do different work, because such a run shows what their own defaults do.
    """
    expected_to_fail = {
        engine
        for definition in view.run.suite.comparisons
        for engine, expectations in definition.expect.items()
        if any(e.status not in (None, Status.OK) for e in expectations)
    }
    failed = any(row.failed and str(row.cell.engine) not in expected_to_fail for row in view.rows)
    normalised = view.run.conditions.policy is Policy.NORMALISED
    different = normalised and any(work.outcome is WorkOutcome.DIFFERENT for work in view.work.values())
    return not failed and not different and all(checked.holds for checked in view.expectations)
