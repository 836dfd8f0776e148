"""From suite to trials: balanced order, refusals before anything starts."""

import pytest

from paceline import registry
from paceline.conductor.machine.inventory import inspect_machine
from paceline.conductor.planning.plan import Plan, make_plan
from paceline.conductor.planning.suites import built_in_suites, load_suite, override, parse_suite
from paceline.conductor.planning.workload_facts import described_workloads
from paceline.errors import RequestError
from paceline.schema.conditions import Conditions
from paceline.schema.run import Machine
from paceline.schema.suite import Suite
from support.builders import fake_suite


def machine(cores: int = 2) -> Machine:
    return inspect_machine().model_copy(update={"cpu_devices": tuple(range(cores)), "gpu_names": ()})


def planned(suite: Suite, on: Machine | None = None) -> Plan:
    return make_plan(suite, described_workloads(suite), on or machine(), Conditions(), seed=3)


def plan_of(text: str, cores: int = 2) -> Plan:
    return planned(parse_suite(text, "test"), machine(cores))


def test_engines_of_a_block_share_a_seed_and_blocks_do_not() -> None:
    suite = parse_suite(fake_suite("{}", engines="[fake/fake@one, fake/fake@other]"), "test")
    plan = planned(suite.model_copy(update={"blocks": 3}))
    seeds = [trial.seed for trial in plan.trials]
    assert seeds == [3000, 3000, 3001, 3001, 3002, 3002]


@pytest.mark.parametrize("name", built_in_suites())
def test_built_in_suites_can_be_planned(name: str) -> None:
    suite = load_suite(name)
    plan = planned(suite)
    assert len(plan.trials) == suite.blocks * sum(len(c.engines) for c in suite.comparisons)
    assert {c.category for c in load_suite("quick").comparisons} == {
        "large-scale", "moderate-complexity", "high-load", "high-performance",
    }  # fmt: skip


def test_all_ranks_means_as_many_as_share_the_batch() -> None:
    text = fake_suite("{}").replace("ranks: 2", "ranks: all\n    global_batch: 30")
    plan = plan_of(text, cores=4)
    assert plan.trials[0].cell.ranks == 3
    assert "3 of 4 devices" in plan.notes[0]


@pytest.mark.parametrize("name", ["quick", "standard", "full"])
def test_a_gpu_machine_gets_the_gpu_tier_of_the_same_suite(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "is_cpu_build", lambda _: False)
    two_gpus = machine(cores=16).model_copy(update={"gpu_names": ("a GPU", "a GPU")})
    trials = planned(load_suite(name), two_gpus).trials
    assert {trial.cell.tier for trial in trials} == {"gpu"}
    assert {trial.devices for trial in trials} == {(0, 1)}
    assert {tuple(trial.slots) for trial in trials if trial.cell.ranks == 1} == {((0,), (1,))}
    assert {tuple(trial.slots) for trial in trials if trial.cell.ranks == 2} == {((0, 1),)}


def test_a_cpu_build_of_torch_leaves_gpus_out_and_says_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(registry, "is_cpu_build", lambda _: True)
    with_gpu = machine().model_copy(update={"gpu_names": ("a GPU",)})
    plan = planned(load_suite("quick"), with_gpu)
    assert {trial.cell.tier for trial in plan.trials} == {"cpu"}
    assert "CPU build" in " ".join(plan.notes)
    with pytest.raises(RequestError, match="CPU build"):
        planned(override(load_suite("quick"), ("tier=gpu",)), with_gpu)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (("ranks: 2", "ranks: 3"), "needs 3 devices, this machine has 2"),
        (("ranks: 2", "ranks: 2\n    global_batch: 33"), "cannot be shared by 2 ranks"),
        (("fake/fake@one", "torchrun/fake"), "launcher 'torchrun' carries ddp"),
        (("fake/fake@one", "torchrum/ddp"), "did you mean 'torchrun'"),
        (("fake/fake@one", "torchrun/dpp"), "did you mean 'ddp'"),
        (("fake/fake@one", "torchrun/single"), "trains on one rank, 2 were asked for"),
        (("fake/fake@one", "fake/fake@ohne"), "did you mean 'one'"),
        (("workload: fake", "workload: lenet"), "did you mean 'lenet5'"),
        (("tier: cpu", "tier: gpu"), "shows no GPU"),
        (("fake/fake@one]", "ray-train/ddp]\n    load: {jobs: 2}\n    global_batch: 64"), "one job at a time"),
    ],
)
def test_what_cannot_run_is_refused_with_the_reason(change: tuple[str, str], said: str) -> None:
    with pytest.raises(RequestError, match=said):
        plan_of(fake_suite("{}").replace(*change))
