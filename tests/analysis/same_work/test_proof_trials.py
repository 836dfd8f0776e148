"""Which trials prove the work of a run's engines."""

import pytest

from paceline.conductor.execution.proof_runs import proof_trials, reference_trial
from paceline.conductor.planning.request import Request, new_run, planned


@pytest.mark.engine
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
