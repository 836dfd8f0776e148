"""Planted faults are caught and named, honest strategies are not accused: real torch ranks, really faulty engines."""

import subprocess
import sys
from pathlib import Path

import pytest

from paceline.analysis.same_work.differences import ProofRecords
from paceline.analysis.same_work.proof_outcome import end_proof_outcome, proof_outcome
from paceline.conductor.machine.leftovers import swept
from paceline.launchers.environment import base_environment, operator_cache, scripts_dir
from paceline.schema.conditions import Conditions
from paceline.schema.proof import Proof
from paceline.schema.records import Ending, LoadRecord, RankRecord
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
