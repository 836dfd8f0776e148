"""The real engines, end to end through the command line: real launchers, real clusters, real data."""

import json
import os
import signal
import subprocess
import time
from pathlib import Path

import numpy as np
import pytest

from paceline.conductor.machine.leftovers import shared_memory_names
from paceline.processes import marked_processes
from support.command_line import Cli
from support.records import ranks_of

pytestmark = [pytest.mark.engine, pytest.mark.timeout(420)]

MANY_JOBS = """
name: many
description: three small jobs at once on every engine that places many
proofs: false
comparisons:
  - category: high-load
    workload: lenet5
    tier: cpu
    engines: [torchrun/single, deepspeed/zero0, ray-core/single]
    ranks: 1
    load: {jobs: 3}
    warm_up_steps: 2
    steps: 20
"""

ACCUMULATION = """
name: accumulation
description: the same global batch in two micro-batches
proofs: false
comparisons:
  - category: moderate-complexity
    workload: lenet5
    tier: cpu
    engines: [torchrun/ddp, torchrun/zero2]
    ranks: 2
    accumulation: 2
    warm_up_steps: 1
    steps: 12
"""


TRAINED = (
    "torchrun/ddp,torchrun/fsdp2,torchrun/zero2,torchrun/zero3-offload,"
    "deepspeed/zero0,ray-train/ddp,ray-core/ddp,python/single,ray-tune/single"
)
"""Every launcher and kind of strategy once; the whole accuracy suite has more of their pairs."""


@pytest.fixture(scope="module")
def trained(tmp_path_factory: pytest.TempPathFactory) -> tuple[Cli, subprocess.CompletedProcess[str]]:
    """The built-in accuracy suite: engines train lenet5 for twelve epochs, untimed."""
    cli = Cli(tmp_path_factory.mktemp("trained"))
    shared = shared_memory_names()
    done = cli("run", "accuracy", "--engines", TRAINED, "--out", cli.folder / "run")
    assert shared_memory_names() <= shared
    return cli, done


def test_every_engine_learns_the_digits(trained: tuple[Cli, subprocess.CompletedProcess[str]]) -> None:
    cli, done = trained
    assert done.returncode == 0, done.stdout + done.stderr
    cells = cli.document()["cells"]
    assert len(cells) == 9
    for cell in cells:
        assert cell["status"] == "ok", cell["cause"]
        assert cell["data"] == "real"
        assert cell["metrics"]["test_accuracy"]["median"] > 0.9


def test_engines_do_the_same_work_step_by_step(trained: tuple[Cli, subprocess.CompletedProcess[str]]) -> None:
    cli, _ = trained
    for cell in cli.document()["cells"]:
        assert cell["same_conditions"]["outcome"] == "same", cell
        assert cell["same_work"]["outcome"] == "unproven", "agreement of losses is a screen, not a proof"
        difference = cell["same_work"]["max_relative_difference"]
        assert difference is None or difference < 1e-5


def test_losses_are_those_of_deepspeed_without_its_clipping(
    trained: tuple[Cli, subprocess.CompletedProcess[str]],
) -> None:
    cli, _ = trained
    for engine in ("torchrun/ddp", "torchrun/zero2", "deepspeed/zero0", "ray-core/ddp"):
        ((first, second),) = ranks_of(cli.folder / "run", engine)
        assert first.live is not None
        assert first.live.gradient_clipping is None
        assert first.live.world_size == 2
        assert np.mean([first.losses[-22:], second.losses[-22:]]) < 0.2 * np.mean([first.losses[:3]])


def test_sharding_strategies_hold_half_of_the_optimiser_state(
    trained: tuple[Cli, subprocess.CompletedProcess[str]],
) -> None:
    cli, _ = trained
    for strategy, share in {"ddp": 1.0, "fsdp2": 0.5, "zero2": 0.5, "zero3-offload": 0.5}.items():
        ((rank, _),) = ranks_of(cli.folder / "run", f"torchrun/{strategy}")
        assert rank.live is not None
        assert rank.live.parameters_total == 61_706
        assert rank.live.optimiser_parameters_local / 61_706 == pytest.approx(share, abs=0.01)


def test_ranks_ran_on_cores_of_their_own_with_one_thread(
    trained: tuple[Cli, subprocess.CompletedProcess[str]],
) -> None:
    cli, _ = trained
    for engine in ("torchrun/ddp", "deepspeed/zero0", "ray-train/ddp", "ray-core/ddp"):
        ((first, second),) = ranks_of(cli.folder / "run", engine)
        assert len(first.cores) == len(second.cores) == 1
        assert first.cores != second.cores
        for rank in (first, second):
            assert rank.conditions is not None
            assert rank.conditions["cores"] == rank.cores
            assert rank.conditions["intraop_threads"] == 1
            assert rank.conditions["environment"]["MALLOC_TOP_PAD_"] == "67108864"


def test_every_number_can_be_derived_again(trained: tuple[Cli, subprocess.CompletedProcess[str]]) -> None:
    cli, _ = trained
    assert cli("verify", cli.folder / "run").returncode == 0


def test_losses_stand_side_by_side(trained: tuple[Cli, subprocess.CompletedProcess[str]]) -> None:
    cli, _ = trained
    shown = cli("show", cli.folder / "run", "--proof", "lenet5")
    assert shown.returncode == 0
    assert "gradient_clipping" in shown.stdout


def test_many_jobs_are_placed_and_measured(cli: Cli) -> None:
    done = cli.suite(MANY_JOBS)
    assert done.returncode == 0, done.stdout + done.stderr
    cells = {cell["engine"]: cell for cell in cli.document()["cells"]}
    fcfs = "Paceline's FCFS, fresh processes"
    assert [c["scheduler"] for c in cells.values()] == [fcfs, fcfs, "Ray's scheduler, worker processes reused"]
    for cell in cells.values():
        assert cell["same_conditions"]["outcome"] == "same", cell["same_conditions"]
        metrics = {name: spread["median"] for name, spread in cell["metrics"].items()}
        assert metrics["makespan_s"] <= metrics["makespan_with_startup_s"]
        assert metrics["jct_p50_s"] <= metrics["jct_p95_s"] <= metrics["makespan_s"]
        assert metrics["jobs_per_h"] == pytest.approx(3 * 3600 / metrics["makespan_s"])
        assert all(cell["phases_s"][name] > 0 for name in ("launch", "build", "steady", "teardown"))
        assert metrics["samples_per_s"] == pytest.approx(3 * 23 * 64 / metrics["makespan_s"])
    reused = [ranks[0].reused_process for ranks in ranks_of(cli.folder / "run", "ray-core/single")]
    assert sorted(reused) == [False, False, True], "Ray reuses a worker for the third task"
    assert cli("verify", cli.folder / "run").returncode == 0


def test_accumulation_gives_every_strategy_the_same_losses_and_one_process_too(cli: Cli) -> None:
    baseline = ACCUMULATION.replace("torchrun/zero2]", "torchrun/zero2, python/single@all-cores]")
    done = cli.suite(baseline.replace("ranks: 2", "ranks: all"))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "python/single@all-cores: on 1 rank with 2 cores" in done.stdout
    for cell in cli.document()["cells"]:
        assert cell["same_conditions"]["outcome"] == "same", "what follows from the layout is no difference"
        difference = cell["same_work"]["max_relative_difference"]
        assert difference is None or difference < 1e-5
    ((rank, _),) = ranks_of(cli.folder / "run", "torchrun/zero2")
    assert rank.live is not None
    assert (rank.live.micro_batch, rank.live.accumulation) == (16, 2)
    ((alone,),) = ranks_of(cli.folder / "run", "python/single@all-cores")
    assert alone.conditions is not None
    assert alone.conditions["intraop_threads"] == 2


def test_as_shipped_shows_what_defaults_do(cli: Cli) -> None:
    suite = ACCUMULATION.replace("steps: 12", "steps: 5")
    done = cli.suite(suite, "--conditions", "as-shipped")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "AS SHIPPED" in done.stdout
    clipping = {}
    for engine in ("torchrun/ddp", "torchrun/zero2"):
        ((rank, _),) = ranks_of(cli.folder / "run", engine)
        assert rank.live is not None
        clipping[engine] = rank.live.gradient_clipping
    assert clipping == {"torchrun/ddp": None, "torchrun/zero2": 1.0}, "DeepSpeed clips unless told otherwise"


def test_a_killed_rank_fails_its_trial_and_leaves_nothing(cli: Cli) -> None:
    suite = cli.folder / "suite.yaml"
    suite.write_text(ACCUMULATION.replace("[torchrun/ddp, torchrun/zero2]", "[torchrun/ddp]").replace(
        "steps: 12", "steps: 1000000"
    ))  # fmt: skip
    with subprocess.Popen(
        cli.argv("run", suite, "--out", cli.folder / "run", "--json"),
        env=cli.environment(), cwd=cli.folder, stdout=subprocess.PIPE, stderr=subprocess.DEVNULL, text=True,
    ) as process:  # fmt: skip
        try:
            os.kill(_training_rank(cli.folder / "run"), signal.SIGKILL)
            out, _ = process.communicate(timeout=120)
        finally:
            process.terminate()
    assert process.returncode == 1
    (cell,) = json.loads(out)["cells"]
    assert cell["status"] == "failed"
    assert "neither an error nor a normal end" in cell["cause"]
    assert _ranks_of(cli.folder / "run") == []


def _ranks_of(run: Path) -> list[Path]:
    """Return the /proc folders of the living ranks of a run's only trial."""
    (job,) = run.glob("trials/*/jobs/0/job.json")
    marked = marked_processes(json.loads(job.read_text())["tree_marker"])
    return [process for process in marked if b"paceline.rank" in (process / "cmdline").read_bytes().split(b"\0")]


def _training_rank(run: Path, patience_s: float = 90) -> int:
    """Return the pid of rank 1 once both ranks have finished their first step."""
    deadline = time.monotonic() + patience_s
    while time.monotonic() < deadline:
        edges = [p.read_text().count("after first_step") for p in run.glob("trials/*/jobs/0/rank-*.jsonl")]
        if len(edges) == 2 and all(edges):
            ranks = {process: (process / "environ").read_bytes().split(b"\0") for process in _ranks_of(run)}
            (process,) = [process for process, environment in ranks.items() if b"RANK=1" in environment]
            return int(process.name)
        time.sleep(0.05)
    raise AssertionError("no rank came to its first step")
