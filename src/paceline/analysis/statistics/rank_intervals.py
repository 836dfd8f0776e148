"""Ranks with their uncertainty: an engine's rank is an interval (Mogstad, Romano, Shaikh and Wilhelm 2024)."""

from collections.abc import Mapping

from paceline.analysis.statistics.pair_verdict import Verdict, Word
from paceline.schema.model import Model


class RankInterval(Model):
    """The best and the worst place that an engine may have."""

    best: int
    worst: int

    @property
    def winner(self) -> bool:
        """Whether it is proven faster than every other engine."""
        return self.best == self.worst == 1


def rank_intervals(engines: list[str], pairs: Mapping[tuple[str, str], Verdict]) -> dict[str, RankInterval]:
    """Return rank intervals from verdicts on all pairs, each given once as (engine, against which).

    ``best`` is one more than the engines that are proven faster, ``worst`` is all engines less those proven slower.
    """
    beaten_by = dict.fromkeys(engines, 0)
    beats = dict.fromkeys(engines, 0)
    for (one, other), found in pairs.items():
        if found.word is Word.FASTER:
            beats[one] += 1
            beaten_by[other] += 1
        elif found.word is Word.SLOWER:
            beats[other] += 1
            beaten_by[one] += 1
    return {name: RankInterval(best=1 + beaten_by[name], worst=len(engines) - beats[name]) for name in engines}
