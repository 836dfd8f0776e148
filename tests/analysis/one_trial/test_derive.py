"""From the records of a trial to its result."""

from pathlib import Path

from paceline.analysis.one_trial.derive import derive
from paceline.schema.trial import Status
from paceline.store.run_directory import TrialDirectory


def test_a_rank_that_dies_anywhere_gives_a_result_and_never_a_figure(run: Path) -> None:
    (path,) = run.glob("trials/*/jobs/0/rank-1.jsonl")
    lines = path.read_text().splitlines(keepends=True)
    directory = TrialDirectory(path.parents[2])
    for kept in range(len(lines) - 1):  # the last line only says when the rank was done
        path.write_text("".join(lines[:kept]))
        assert derive(directory.records()).status is Status.INVALID, lines[kept]
    (path.parent / "rank-1-steps.npy").unlink()
    path.write_text("".join(lines))
    assert derive(directory.records()).status is Status.INVALID
