"""What else ran while a trial was timed, and the rules by which that takes its block out of a comparison.

The rules were fixed before any outcome was seen: more than ``STEAL_LIMIT`` of our cores' time taken by the hypervisor,
more than ``OUTSIDE_LIMIT`` of it used by processes outside the trial, or any throttling (docs/method.md, "Blocks that
do not count"). Two instruments feed them: around the window of a single job its leading rank reads ``/proc/stat`` less
the trial's own processes, and around many jobs, which have no window in common, the conductor looks at the outside
processes themselves.
"""

from collections.abc import Sequence

from paceline.schema.model import Model
from paceline.schema.records import BackgroundLoad, RankRecord
from paceline.schema.trial_records import TrialRecords

STEAL_LIMIT = 0.05
OUTSIDE_LIMIT = 0.10
SHORTEST_S = 0.5
"""The kernel counts in hundredths of a second: of a shorter window it says nothing."""


class Disturbance(Model):
    """Shares of the time of the cores that a trial could use, over its window; null where it is unknown."""

    steal_share: float | None
    outside_share: float | None
    """Share of core time used by processes outside the trial."""
    throttled: int | None = None
    """How often the cores were slowed down for heat, where the machine tells."""
    reason: str | None = None

    @property
    def beyond_limits(self) -> list[str]:
        """Why the trial's block does not count; empty for an undisturbed trial."""
        texts = []
        if self.steal_share is not None and self.steal_share > STEAL_LIMIT:
            texts.append(f"the hypervisor took {self.steal_share:.0%} of the window (limit {STEAL_LIMIT:.0%})")
        if self.outside_share is not None and self.outside_share > OUTSIDE_LIMIT:
            texts.append(f"other processes took {self.outside_share:.0%} of the window (limit {OUTSIDE_LIMIT:.0%})")
        if self.throttled:
            texts.append(f"cores were throttled {self.throttled} times")
        return texts


def disturbance(records: TrialRecords) -> Disturbance:
    """Return what the leader of a single job saw around its window, or the conductor around many jobs."""
    of_load = disturbance_of_load(records.load.surroundings)
    if records.trial.cell.load.many:
        return of_load
    return disturbance_of_window(records.ranks.get(0, [])).model_copy(update={"throttled": of_load.throttled})


def disturbance_of_load(background: BackgroundLoad | None) -> Disturbance:
    """Return what the conductor saw from before the first job until after the last."""
    if background is None:
        return Disturbance(steal_share=None, outside_share=None, reason="the conductor did not record it")
    capacity_s = background.seconds * len(background.cores)
    return Disturbance(
        steal_share=background.steal_s / capacity_s,
        outside_share=background.outside_s / capacity_s,
        throttled=background.throttled,
    )


def disturbance_of_window(ranks: Sequence[RankRecord]) -> Disturbance:
    """Return what the leader of a single job saw around its window."""
    leader = next((rank for rank in ranks if len(rank.activity) == 2 and rank.activity[0].trees_s is not None), None)
    if leader is None:
        return Disturbance(steal_share=None, outside_share=None, reason="no rank read it around its window")
    before, after = leader.activity
    seconds = (after.at_ns - before.at_ns) * 1e-9
    if seconds < SHORTEST_S:
        return Disturbance(steal_share=None, outside_share=None, reason=f"the window is shorter than {SHORTEST_S} s")
    assert before.trees_s is not None
    assert after.trees_s is not None
    capacity_s = seconds * len(after.cores)
    outside_s = (after.busy_s - before.busy_s) - (after.trees_s - before.trees_s)
    return Disturbance(
        steal_share=(after.steal_s - before.steal_s) / capacity_s, outside_share=max(0.0, outside_s) / capacity_s
    )
