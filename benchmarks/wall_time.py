"""Division of a run's wall time: seconds by part, for each category and for the run as a whole.

    python benchmarks/wall_time.py RUN [RUN ...]

Trials of one job are divided by the phases of their first rank. Trials of many jobs are divided in the same way, each
job's seconds counted as a share of a slot, with `idle` for slots without a job while other slots still have one.
"""

import argparse
from collections import Counter, defaultdict
from collections.abc import Iterator
from itertools import pairwise
from pathlib import Path

from rich.console import Console
from rich.table import Table

from paceline.launchers.contract import LoadLauncher, launcher_named
from paceline.schema.records import Phase, RankRecord
from paceline.schema.trial import Status
from paceline.schema.trial_records import TrialRecords
from paceline.store.run_directory import RunDirectory, TrialDirectory

PARTS = {
    "cluster": "start and stop of a framework's cluster around the jobs (the conductor's clean-up after it included)",
    "launch": "submission to the first line in the rank",
    "import": "frameworks, model code",
    "rendezvous": "ranks meet",
    "build": "model, data, wrapping",
    "first_step": "the first optimiser step",
    "warm_up": "fixed number of steps",
    "steady": "the timed window",
    "harness": "Paceline in the rank: digests, memory, writing",
    "teardown": "the rank's last line until its submitter knows",
    "idle": "a slot without a job",
    "conductor": "Paceline outside: preparing, cleaning up, deriving, writing",
}
_NS = 1e-9
_RESUMED_S = 30.0
"""Longest gap between two trials that counts as the conductor's; a longer gap is a pause before the run was resumed."""


def main() -> None:
    """Print a table a run."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("runs", nargs="+", type=Path)
    console = Console()
    for path in parser.parse_args().runs:
        directory = RunDirectory.open(path)
        trials = [
            directory.trial(t).records(with_arrays=False) for t in directory.run().plan if directory.trial(t).finished
        ]
        console.print(_table(path, trials))
        console.print(_proofs(directory, sum(records.ending.wall_s for records in trials)))


def _proofs(directory: RunDirectory, timed_s: float) -> str:
    """Return the share of proofs in the run's time, beside its own blocks and beside twelve blocks."""
    folders = [TrialDirectory(path) for path in (directory.path / "proofs").glob("*") if path.is_dir()]
    walls = {f.path.name: f.records(with_arrays=False).ending.wall_s for f in folders if f.finished}
    engines_s = sum(wall for name, wall in walls.items() if name.startswith("proof-"))
    alone_s = sum(walls.values()) - engines_s
    blocks = len({t.block for t in directory.run().plan})
    twelve_s = timed_s / blocks * 12
    return (
        f"proofs: {engines_s:.0f} s, and single processes {alone_s:.0f} s unless remembered; beside {timed_s:.0f} s of "
        f"trials {engines_s / timed_s:.1%}, beside twelve such blocks {engines_s / twelve_s:.1%} "
        f"(cold {(engines_s + alone_s) / twelve_s:.1%})"
    )


def _table(path: Path, trials: list[TrialRecords]) -> Table:
    seconds: dict[str, Counter[str]] = defaultdict(Counter)
    for records in trials:
        if records.ending.status is Status.OK and all(job.status is Status.OK for job in records.jobs):
            seconds[records.trial.cell.category] += Counter(dict(_parts(records)))
        else:
            seconds["failed trials"]["harness"] += records.ending.wall_s
    ordered = sorted(trials, key=lambda records: records.load.started_ns)
    gaps = ((b.load.started_ns - a.load.started_ns) * _NS - a.ending.wall_s for a, b in pairwise(ordered))
    seconds["between trials"]["conductor"] = sum(gap for gap in gaps if 0 < gap < _RESUMED_S)
    seconds["all"] = sum(seconds.values(), Counter())
    table = Table(title=f"{path}: {len(trials)} trials, {seconds['all'].total() / 60:.1f} min; seconds (share)")
    table.add_column("part")
    for name, counted in seconds.items():
        table.add_column(f"{name}\n{counted.total():.0f} s", justify="right")
    table.add_column("what it is")
    for part, about in PARTS.items():
        cells = (f"{c[part]:.1f} ({c[part] / max(c.total(), 1e-9):.0%})" if c[part] else "" for c in seconds.values())
        table.add_row(part, *cells, about)
    return table


def _parts(records: TrialRecords) -> Iterator[tuple[str, float]]:
    """Yield (part, seconds) that add up to the trial's wall time."""
    load, wall_s = records.load, records.ending.wall_s
    assert load.accepting_ns is not None
    cluster_s = (load.accepting_ns - load.started_ns) * _NS
    end_ns = max(job.released_ns or 0 for job in records.jobs)
    slots = min(len(records.trial.slots), len(records.jobs))
    has_cluster = isinstance(launcher_named(records.trial.cell.engine.launcher), LoadLauncher)
    framework_places_jobs = has_cluster and records.trial.cell.load.many
    total: Counter[str] = Counter()
    for job in records.jobs:
        first = records.ranks[job.job_id][0]
        total += Counter(dict(_phases(first)))
        assert job.submitted_ns is not None
        assert job.released_ns is not None
        assert first.done_ns is not None
        # A framework that places jobs itself gets all of them at once: a job's wait for a slot is no part of the slot.
        begun_ns = first.process_started_ns if framework_places_jobs else job.submitted_ns
        total["launch"] += (first.process_started_ns - begun_ns) * _NS
        total["teardown"] += (job.released_ns - first.done_ns) * _NS
        total["harness"] += (first.done_ns - first.process_started_ns) * _NS - sum(s for _, s in _phases(first))
    total["idle"] += max(0.0, slots * (end_ns - load.accepting_ns) * _NS - total.total())
    shares = Counter({part: value / slots for part, value in total.items()})
    after_s = wall_s - (end_ns - load.started_ns) * _NS
    shares["cluster"] = cluster_s + (after_s if has_cluster else 0.0)
    shares["conductor"] = 0.0 if has_cluster else after_s
    yield from shares.items()


def _phases(rank: RankRecord) -> list[tuple[str, float]]:
    """Return seconds of the phases inside a rank; ``launch`` and ``teardown`` happen around it."""
    inside = set(Phase) - {Phase.LAUNCH, Phase.TEARDOWN}
    return [
        (str(p.name), (p.end_ns - p.start_ns) * _NS)
        for p in rank.phases
        if p.name in inside and p.start_ns is not None and p.end_ns is not None
    ]


if __name__ == "__main__":
    main()
