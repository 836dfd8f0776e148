"""Places in a ranking are intervals that cover the true ones."""

from itertools import permutations

import numpy as np

from paceline.analysis.statistics.pair_verdict import Verdict, Word, verdict
from paceline.analysis.statistics.rank_intervals import RankInterval, rank_intervals


def pair(word: Word) -> Verdict:
    return verdict([0.0] * 8).model_copy(update={"word": word})


def test_ranks_are_intervals_whatever_the_order_of_names() -> None:
    truth = {("a", "b"): Word.FASTER, ("a", "c"): Word.FASTER, ("b", "c"): Word.INCONCLUSIVE}
    for names in permutations("abc"):
        found = rank_intervals(list(names), {engines: pair(word) for engines, word in truth.items()})
        assert found == {
            "a": RankInterval(best=1, worst=1),
            "b": RankInterval(best=2, worst=3),
            "c": RankInterval(best=2, worst=3),
        }
        assert found["a"].winner


def test_rank_intervals_cover_the_true_ranks() -> None:
    draw = np.random.default_rng(5)
    speeds = {"a": 0.0, "b": 0.04, "c": 0.05, "d": 0.12}
    pairs = [(x, y) for x in speeds for y in speeds if x < y]
    covered = 0
    for _ in range(200):
        launches = {name: speed + draw.normal(0, 0.02, 20) for name, speed in speeds.items()}
        found = rank_intervals(
            list(speeds), {(x, y): verdict(launches[x] - launches[y], family=len(pairs)) for x, y in pairs}
        )
        covered += all(found[n].best <= place <= found[n].worst for place, n in enumerate(speeds, 1))
    assert covered >= 0.95 * 200
