"""Planted faults are caught and named, honest strategies are not accused: real torch ranks, really faulty engines."""

import subprocess
import sys
from pathlib import Path

import numpy as np
import pytest

from paceline.analysis.one_trial.disturbance import disturbance_of_window
from paceline.analysis.same_work.differences import FLOOR, ProofRecords, first_training_difference
from paceline.analysis.same_work.proof_outcome import end_proof_outcome, proof_outcome
from paceline.conductor.execution.proof_runs import proof_trials, reference_trial
from paceline.conductor.machine.leftovers import swept
from paceline.conductor.planning.request import Request, new_run, planned
from paceline.launchers.environment import base_environment, operator_cache, scripts_dir
from paceline.rank.sketch import sketch
from paceline.schema.conditions import Conditions
from paceline.schema.proof import Part, Proof
from paceline.schema.records import Activity, Ending, LiveSettings, LoadRecord, PartRecord, RankRecord
from paceline.schema.suite import Recipe
from paceline.schema.trial import Cell, Status, Trial
from paceline.schema.trial_records import TrialRecords
from paceline.store.raw import read_arrays, read_ranks
from support import faulty_engines

pytestmark = [pytest.mark.engine, pytest.mark.timeout(300)]

NAMED = {
    "clips": "gradients are clipped at norm 1",
    "learns-faster": "the learning rate is 1.01 times what is stated",
    "decays": "weights decay by 0.01 more than is stated",
    "sees-rank-zero": "rank 1 have no part in the gradient",
    "repeats": "micro-batch 1 count 4 times",
    "seeds-each-rank": "ranks start from different weights",
    "forgets-accumulation": "not divided by the number of micro-batches",
    "sums": "summed over ranks instead of averaged",
    "leaves-loss-scale": "1/65536",
    "rounds-weights": "the masters are not fp32",
    "freezes-one": "parameter c1.weight does not move",
    "skips-every-tenth": "step 10 changes nothing",
    "steps-when-wrapped": "the optimiser has counted 13 steps, 12 were made",
    "leaves-dropout-on": "dropout of 0.1 is on",
    "drops-incomplete": "incomplete last batch dropped",
    "synchronises-norm": "BatchNorm is synchronised",
}


@pytest.fixture(scope="module")
def recorded(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Prove every engine of ``faulty_engines`` in one two-rank group, after the single processes."""
    out = tmp_path_factory.mktemp("proofs")
    environment = base_environment(Conditions(), "cpu", out, {}, str(Path(__file__).parents[1]))
    script = [str(Path(faulty_engines.__file__)), str(out)]
    torchrun = [str(scripts_dir() / "torchrun"), "--standalone", "--local-addr", "127.0.0.1", "--nproc-per-node", "2"]
    for command in ([sys.executable, *script], [*torchrun, *script]):
        with swept(operator_cache()):
            done = subprocess.run(command, env=environment, capture_output=True, text=True, check=False)
        assert done.returncode == 0, done.stderr[-3000:]
    return out


def outcome(recorded: Path, name: str) -> Proof:
    _, cell = faulty_engines.ENGINES[name]
    mine, alone = (
        ProofRecords(read_ranks(folder), read_arrays(folder / "rank-0-proof.npz"))
        for folder in (recorded / name, recorded / faulty_engines.reference_name(cell))
    )
    return proof_outcome(mine, alone, cell, faulty_engines.RERUNS)


@pytest.mark.parametrize("name", [name for name in faulty_engines.ENGINES if name.startswith("honest")])
def test_an_honest_engine_is_equal(recorded: Path, name: str) -> None:
    found = outcome(recorded, name)
    assert found.outcome == "equal", found.cause
    assert found.max_relative_difference is not None
    assert found.max_relative_difference < 1e-4


@pytest.mark.parametrize("name", [name for name in faulty_engines.ENGINES if not name.startswith("honest")])
def test_a_planted_fault_is_caught_and_named(recorded: Path, name: str) -> None:
    found = outcome(recorded, name)
    assert found.outcome == "different"
    assert NAMED[name] in found.cause


@pytest.mark.parametrize("name", faulty_engines.ENDS)
def test_the_state_at_the_end_of_a_window_is_proven(recorded: Path, name: str) -> None:
    _, cell = faulty_engines.ENDS[name]
    folder = recorded / f"end-{name}"
    found = end_proof_outcome(ended_well(cell, read_ranks(folder), folder / "rank-0-proof.npz"))
    assert found is not None
    if name == "slows-down":
        assert found.outcome == "different", "within the 12 steps of a proof trial its learning rate is right"
        assert "update" in found.cause
    elif name == "leaves-dropout-on":
        assert found.outcome == "unproven"
        assert "dropout of 0.1 is on" in found.cause
    else:
        assert found.outcome == "equal", found.cause


def ended_well(cell: Cell, ranks: list[RankRecord], arrays: Path) -> TrialRecords:
    return TrialRecords(
        trial=Trial(
            id="t", cell=cell, block=0, position=0, seed=0, conditions=Conditions(), devices=(0, 1), prove_end=True
        ),
        ending=Ending(status=Status.OK, cause=None, wall_s=1.0),
        load=LoadRecord(started_ns=0, accepting_ns=0, scheduler=""),
        jobs=[],
        ranks={0: ranks},
        bounds={},
        proof_arrays=read_arrays(arrays) if arrays.exists() else {},
    )


def test_a_proof_without_its_arrays_is_unproven(recorded: Path) -> None:
    name = "honest-ddp"
    _, cell = faulty_engines.ENGINES[name]
    alone = recorded / faulty_engines.reference_name(cell)
    reference = ProofRecords(read_ranks(alone), read_arrays(alone / "rank-0-proof.npz"))
    assert proof_outcome(ProofRecords(read_ranks(recorded / name), {}), reference, cell, 8).outcome == "unproven"


@pytest.mark.parametrize(("ulps", "parts"), [(1, False), (60, True)])
def test_rounding_of_a_weight_of_one_is_no_fault(ulps: int, parts: bool) -> None:
    """Adam's first update is the rate with a sign, the same in all reruns; ZeRO-3 rounds 1 - 3e-4 the other way."""
    weights = np.ones((13, 1, 64)) - 3e-4 * np.arange(13)[:, None, None]
    moved = weights.copy()
    moved[1:, 0, :8] += ulps * 2.0**-24
    live = LiveSettings(
        world_size=1, micro_batch=1, accumulation=1, gradient_clipping=None, parameter_dtype="float32",
        compute_dtype="float32", reduction_dtype="float32", master_dtype="float32", optimiser_state_dtype="float32",
        optimiser="-", optimiser_settings={}, parameters_total=64, optimiser_parameters_local=64, backend=None,
        device_type="cpu",
    )  # fmt: skip

    def proven(found: np.ndarray) -> ProofRecords:
        names = ("training", *(f"training-{i}" for i in range(1, 9)))
        parts = [
            PartRecord(
                part=name, losses=[1.0] * 12, applied=[True] * 12, gradient_squares=[1.0] * 12,
                weights_digests=[], samples=[], bf16_weights=False, live=live,
            )
            for name in names
        ]  # fmt: skip
        rank = RankRecord(
            rank=0,
            process_started_ns=0,
            reused_process=False,
            cores=[0],
            phases=[],
            proof=parts,
            proof_tensors=["norm"],
        )
        return ProofRecords([rank], {f"{name}/weights": found for name in names})

    parted, worst = first_training_difference(proven(moved), proven(weights), 8, Part.TRAINING, Recipe.FP32)
    assert (parted is not None) == parts
    assert worst > FLOOR[Recipe.FP32], "it would be beyond the floor"


def test_a_sketch_is_linear_and_keeps_norms() -> None:
    import torch

    draw = torch.Generator().manual_seed(0)
    a, b = torch.randn(300, 400, generator=draw), torch.randn(300, 400, generator=draw)
    assert np.allclose(sketch("t", a + b), sketch("t", a) + sketch("t", b), atol=1e-4)
    assert np.linalg.norm(sketch("t", a)) == pytest.approx(float(a.norm()), rel=0.3)
    one = torch.zeros(300, 400)
    one[17, 5] = 3.0
    assert np.linalg.norm(sketch("t", one)) == 3.0, "a fault in one element is as visible as one in all"
    assert not np.array_equal(sketch("t", a), sketch("u", a))


def test_one_proof_serves_all_loads_of_an_engine() -> None:
    run = new_run(planned(Request("standard", assignments=("tier=cpu",))), print)
    proofs = proof_trials(run)
    shapes = [(str(t.cell.engine), t.cell.workload, t.cell.ranks) for t in proofs]
    assert len(shapes) == len(set(shapes)) == 17, "21 cells; what trains one job and many has one proof"
    references = {reference_trial(run, t).id: reference_trial(run, t).cell for t in proofs}
    assert len(references) == 4, "two workloads, each cut for two ranks and for one"
    for proof in proofs:
        alone = reference_trial(run, proof).cell
        assert alone.global_batch == proof.cell.global_batch
        assert alone.micro_batch == proof.cell.micro_batch


def activity(at_s: float, busy_s: float, trees_s: float, steal_s: float = 0.0) -> Activity:
    return Activity(
        at_ns=int(at_s * 1e9), cores=[0, 1], busy_s=busy_s, steal_s=steal_s, own_s=0.0, trees_s=trees_s,
        major_faults=0, minor_faults=0, involuntary_switches=0, frequency_mhz=None,
    )  # fmt: skip


@pytest.mark.parametrize(
    ("after", "said"),
    [
        (activity(110, 18.0, 18.0), []),
        (activity(110, 20.0, 17.5), ["other processes took 12% of the window (limit 10%)"]),
        (activity(110, 18.0, 18.0, steal_s=2.0), ["the hypervisor took 10% of the window (limit 5%)"]),
        (activity(100.3, 1.0, 0.0), []),
    ],
)
def test_a_disturbed_window_is_excluded_by_rules_fixed_beforehand(after: Activity, said: list[str]) -> None:
    rank = RankRecord(
        rank=0, process_started_ns=0, reused_process=False, cores=[0], phases=[],
        activity=[activity(100, 0.0, 0.0), after],
    )  # fmt: skip
    assert disturbance_of_window([rank]).beyond_limits == said
