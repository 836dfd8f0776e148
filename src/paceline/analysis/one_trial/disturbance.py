"""What else ran while a trial was timed, and when it takes the trial's block out of a comparison.

A block does not count when the hypervisor took more than ``STEAL_LIMIT`` of the time of a trial's cores, when processes
outside the trial used more than ``OUTSIDE_LIMIT``, or when a core was throttled. These limits were fixed before any
outcome was seen (docs/method.md, "Blocks that do not count").

There are two sources. For a single job its leading rank reads ``/proc/stat`` at both ends of the window and subtracts
the trial's own processes. Many jobs have no window in common, so the conductor reads the outside processes themselves.
"""

from collections.abc import Sequence

from paceline.schema.model import Model
from paceline.schema.records import BackgroundLoad, RankRecord
from paceline.schema.trial_records import TrialRecords

STEAL_LIMIT = 0.05
"""Largest share of core time that the hypervisor may take from a trial."""
OUTSIDE_LIMIT = 0.10
"""Largest share of core time that processes outside a trial may use."""
SHORTEST_S = 0.5
"""Shortest window that is judged. The kernel counts in hundredths of a second, too coarse for shorter ones."""


class Disturbance(Model):
    """Shares of the time of the cores that a trial could use, over its window; null where it is unknown."""

    steal_share: float | None
    outside_share: float | None
    """Share of core time used by processes outside the trial."""
    throttled: int | None = None
    """How often the cores were slowed down for heat; null where the machine does not count it."""
    reason: str | None = None
    """Why the shares are unknown."""

    @property
    def beyond_limits(self) -> list[str]:
        """Limits that were exceeded, in words, so that the trial's block does not count; empty if undisturbed."""
        texts = []
        if self.steal_share is not None and self.steal_share > STEAL_LIMIT:
            texts.append(f"the hypervisor took {self.steal_share:.0%} of the window (limit {STEAL_LIMIT:.0%})")
        if self.outside_share is not None and self.outside_share > OUTSIDE_LIMIT:
            texts.append(f"other processes took {self.outside_share:.0%} of the window (limit {OUTSIDE_LIMIT:.0%})")
        if self.throttled:
            texts.append(f"cores were throttled {self.throttled} times")
        return texts


def disturbance(records: TrialRecords) -> Disturbance:
    """Return the disturbance of a trial's window, or of its whole load where it has many jobs."""
    whole_load = disturbance_of_load(records.load.surroundings)
    if records.trial.cell.load.many:
        return whole_load
    return disturbance_of_window(records.ranks.get(0, [])).model_copy(update={"throttled": whole_load.throttled})


def disturbance_of_load(background: BackgroundLoad | None) -> Disturbance:
    """Return the disturbance that the conductor read from before the first job until after the last."""
    if background is None:
        return Disturbance(steal_share=None, outside_share=None, reason="the conductor did not record it")
    capacity_s = background.seconds * len(background.cores)
    return Disturbance(
        steal_share=background.steal_s / capacity_s,
        outside_share=background.outside_s / capacity_s,
        throttled=background.throttled,
    )


def disturbance_of_window(ranks: Sequence[RankRecord]) -> Disturbance:
    """Return the disturbance that the leading rank of a single job read at both ends of its window."""
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
