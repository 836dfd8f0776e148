"""Ranks with their uncertainty: the rank of an engine is an interval (Mogstad, Romano, Shaikh and Wilhelm 2024)."""

from collections.abc import Mapping

from paceline.analysis.statistics.pair_verdict import Verdict, Word
from paceline.schema.model import Model


class RankInterval(Model):
    """The best and the worst place that an engine may have."""

    best: int
    worst: int

    @property
    def winner(self) -> bool:
        """Whether the engine is proven faster than every other one."""
        return self.best == self.worst == 1


def rank_intervals(engines: list[str], pairs: Mapping[tuple[str, str], Verdict]) -> dict[str, RankInterval]:
    """Return the rank interval of each engine, from the verdicts on all pairs, each once as (engine, against which).

    ``best`` is one more than the number of engines proven faster, ``worst`` the number of all engines less those proven
    slower.
    """
    beaten_by = dict.fromkeys(engines, 0)
    beats = dict.fromkeys(engines, 0)
    for (one, other), verdict in pairs.items():
        if verdict.word is Word.FASTER:
            beats[one] += 1
            beaten_by[other] += 1
        elif verdict.word is Word.SLOWER:
            beats[other] += 1
            beaten_by[one] += 1
    return {name: RankInterval(best=1 + beaten_by[name], worst=len(engines) - beats[name]) for name in engines}
