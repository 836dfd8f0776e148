"""What else ran while a trial was timed, and the rules by which that excludes a block (METHOD §6).

The rules were fixed before any outcome was seen: more than ``STEAL_LIMIT`` of our cores' time taken by the hypervisor,
or more than ``OUTSIDE_LIMIT`` of it used by processes that are not the trial's. Whole blocks are excluded.
"""

from collections.abc import Sequence

from paceline.spec.model import Model
from paceline.spec.records import RankRecord, Surroundings
from paceline.store.run_directory import TrialRecords

STEAL_LIMIT = 0.05
OUTSIDE_LIMIT = 0.10
SHORTEST_S = 0.5
"""The kernel counts in hundredths of a second: of a shorter window it says nothing."""


class Interference(Model):
    """Shares of the time of the cores that a trial could use, over its window; null where it is unknown."""

    steal_share: float | None
    outside_share: float | None
    """Of processes that do not carry the trial's mark."""
    throttled: int | None = None
    """How often the cores were slowed down for heat, where the machine tells."""
    reason: str | None = None

    @property
    def excluding(self) -> list[str]:
        """Why the trial's block is excluded; empty for an undisturbed one."""
        found = []
        if self.steal_share is not None and self.steal_share > STEAL_LIMIT:
            found.append(f"the hypervisor took {self.steal_share:.0%} of the window (limit {STEAL_LIMIT:.0%})")
        if self.outside_share is not None and self.outside_share > OUTSIDE_LIMIT:
            found.append(f"other processes took {self.outside_share:.0%} of the window (limit {OUTSIDE_LIMIT:.0%})")
        if self.throttled:
            found.append(f"cores were throttled {self.throttled} times")
        return found


def interference(records: TrialRecords) -> Interference:
    """Return what the leader of a single job saw around its window, or the conductor around many jobs."""
    around = around_load(records.load.surroundings)
    if records.trial.cell.load.many:
        return around
    return around_window(records.ranks.get(0, [])).model_copy(update={"throttled": around.throttled})


def around_load(seen: Surroundings | None) -> Interference:
    """Return what the conductor saw from before the first job until after the last."""
    if seen is None:
        return Interference(steal_share=None, outside_share=None, reason="the conductor did not record it")
    capacity_s = seen.seconds * len(seen.cores)
    return Interference(
        steal_share=seen.steal_s / capacity_s, outside_share=seen.outside_s / capacity_s, throttled=seen.throttled
    )


def around_window(ranks: Sequence[RankRecord]) -> Interference:
    """Return what the leader of a single job saw around its window."""
    leader = next((rank for rank in ranks if len(rank.activity) == 2 and rank.activity[0].trees_s is not None), None)
    if leader is None:
        return Interference(steal_share=None, outside_share=None, reason="no rank read it around its window")
    before, after = leader.activity
    seconds = (after.at_ns - before.at_ns) * 1e-9
    if seconds < SHORTEST_S:
        return Interference(steal_share=None, outside_share=None, reason=f"the window is shorter than {SHORTEST_S} s")
    assert before.trees_s is not None
    assert after.trees_s is not None
    capacity_s = seconds * len(after.cores)
    outside_s = (after.busy_s - before.busy_s) - (after.trees_s - before.trees_s)
    return Interference(
        steal_share=(after.steal_s - before.steal_s) / capacity_s, outside_share=max(0.0, outside_s) / capacity_s
    )
