"""From suite to trials: balanced order, refusals before anything starts."""

from collections import Counter
from itertools import pairwise

import pytest

from paceline import registry
from paceline.conductor.machine.inventory import inspect_machine
from paceline.conductor.planning.block_order import block_order
from paceline.conductor.planning.filters import Filters, select
from paceline.conductor.planning.plan import Plan, make_plan
from paceline.conductor.planning.request import seconds
from paceline.conductor.planning.suites import built_in_suites, load_suite, override, parse_suite
from paceline.conductor.planning.workload_facts import described_workloads
from paceline.errors import RequestError
from paceline.schema.conditions import Conditions
from paceline.schema.engine import EngineName
from paceline.schema.run import Machine
from paceline.schema.suite import Suite
from support.builders import fake_suite


def machine(cores: int = 2) -> Machine:
    return inspect_machine().model_copy(update={"cpu_devices": tuple(range(cores)), "gpu_names": ()})


def planned(suite: Suite, on: Machine | None = None) -> Plan:
    return make_plan(suite, described_workloads(suite), on or machine(), Conditions(), seed=3)


def plan_of(text: str, cores: int = 2) -> Plan:
    return planned(parse_suite(text, "test"), machine(cores))


@pytest.mark.parametrize("engines", [2, 3, 4, 5])
def test_block_order_balances_position_and_carry_over(engines: int) -> None:
    cycle = engines if engines % 2 == 0 else 2 * engines
    orders = [block_order(engines, block) for block in range(cycle)]
    assert all(sorted(order) == list(range(engines)) for order in orders)
    positions = Counter((place, engine) for order in orders for place, engine in enumerate(order))
    follows = Counter(pair for order in orders for pair in pairwise(order))
    assert len(set(positions.values())) == 1
    assert set(follows.values()) == {cycle // engines}
    assert len(follows) == engines * (engines - 1)


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


@pytest.mark.parametrize(
    ("text", "said"),
    [
        ("just words", "not a mapping"),
        ("a: [1, 2", "is not YAML"),
        ("name: x", "description is missing"),
        (fake_suite("{}").replace("warm_up_steps", "warmup_steps"), "did you mean 'warm_up_steps'"),
        (fake_suite("{}").replace("variants", "variant"), "did you mean 'variants'"),
        (fake_suite("{}").replace("steps: 3", "steps: 0"), "steps is 0"),
        (fake_suite("{}").replace("moderate-complexity", "moderate"), "is 'moderate'"),
        (fake_suite("{}").replace("fake/fake@one", "fake"), "is not of the form launcher/strategy"),
    ],
)
def test_a_wrong_suite_is_refused_by_key_and_value(text: str, said: str) -> None:
    with pytest.raises(RequestError, match=said):
        parse_suite(text, "test")


def test_set_overrides_one_key_of_all_comparisons_or_one_by_path() -> None:
    suite = override(load_suite("quick"), ("steps=7", "blocks=2", "comparisons.1.warm_up_steps=0", "load={jobs: 3}"))
    assert {c.steps for c in suite.comparisons} == {7}
    assert {c.load.jobs for c in suite.comparisons} == {3}
    assert suite.blocks == 2
    assert [c.warm_up_steps for c in suite.comparisons][:2] == [3, 0]


@pytest.mark.parametrize(
    ("assignment", "said"),
    [
        ("steps", "key=value"),
        ("stepz=3", "did you mean 'steps'"),
        ("steps=zero", "is 'zero'"),
        ("comparisons.9.steps=3", "there is no '9'"),
        ("comparisons.0.stepz=3", "did you mean 'steps'"),
    ],
)
def test_a_wrong_override_is_refused(assignment: str, said: str) -> None:
    with pytest.raises(RequestError, match=said):
        override(load_suite("quick"), (assignment,))


def test_filters_keep_what_they_name_and_refuse_what_is_not_there() -> None:
    suite = load_suite("quick")
    kept = select(suite, Filters(engines=("torchrun/ddp",), category="large-scale"))
    assert [str(e) for c in kept.comparisons for e in c.engines] == ["torchrun/ddp"]
    with pytest.raises(RequestError, match="did you mean 'torchrun/ddp'"):
        select(suite, Filters(engines=("torchrun/dpp",)))
    with pytest.raises(RequestError, match="did you mean 'high-load'"):
        select(suite, Filters(category="highload"))


def test_engine_names_read_and_print_alike() -> None:
    for text in ("torchrun/ddp", "ray-core/single@fresh"):
        assert str(EngineName.parse(text)) == text


def test_budgets_are_read_with_their_unit() -> None:
    assert (seconds("90s"), seconds("10m"), seconds("2h")) == (90, 600, 7200)
    with pytest.raises(RequestError, match="for example 90s"):
        seconds("10")
