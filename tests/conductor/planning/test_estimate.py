"""Estimates: never exact, but in the right order, and never another figure than the plan's."""

import pytest

from paceline.analysis.same_work.proof_trials import proof_trial, reference_trial
from paceline.conductor.planning.estimate import expected_s, trial_s
from paceline.schema.suite import Load, Recipe, Variant
from paceline.schema.trial import Trial
from support.runs import make_comparison, make_run, make_trial

FLOPS = 1e9


def trial(engine: str = "torchrun/ddp", **cell: object) -> Trial:
    return make_trial(engine, **({"workload": "lenet5", "flops_per_sample_training": FLOPS} | cell))


def test_more_steps_samples_or_flops_cost_more() -> None:
    base = trial_s(trial())
    assert trial_s(trial(steps=20)) > base
    assert trial_s(trial(warm_up_steps=5)) > base
    assert trial_s(trial(micro_batch=32)) > base
    assert trial_s(trial(accumulation=2)) > base
    assert trial_s(trial(flops_per_sample_training=2 * FLOPS)) > base
    assert trial_s(trial(variant=Variant(compile=True))) > base


def test_cores_of_a_rank_share_its_work() -> None:
    assert trial_s(trial(ranks=1, cores_per_rank=2)) < trial_s(trial(ranks=1))


def test_the_fake_engine_takes_the_time_that_it_was_told() -> None:
    steps = {"workload": "fake", "trains": False, "warm_up_steps": 4, "steps": 15}
    slow, fast = (make_trial("fake/fake", variant=Variant(settings={"step_s": s}), **steps) for s in (2.0, 0.5))
    assert trial_s(slow) - trial_s(fast) == pytest.approx(20 * 1.5)


@pytest.mark.parametrize("engine", ["torchrun/single", "ray-core/single"])
def test_a_second_round_of_jobs_costs_more_than_a_full_first_one(engine: str) -> None:
    one, two, three, four = (trial_s(trial(engine, ranks=1, load=Load(jobs=jobs))) for jobs in (1, 2, 3, 4))
    assert one == two, "two devices take two jobs at once"
    assert three == four > two


def test_rounds_cost_a_cluster_training_only_and_a_queue_every_launch_again() -> None:
    by_engine = {}
    for engine in ("torchrun/single", "ray-core/single"):
        first, second = (trial_s(trial(engine, ranks=1, load=Load(jobs=jobs))) for jobs in (2, 4))
        by_engine[engine] = second - first
    assert by_engine["ray-core/single"] < by_engine["torchrun/single"]


def test_deepspeed_takes_longer_to_begin() -> None:
    assert trial_s(trial("torchrun/zero2")) > trial_s(trial("torchrun/ddp"))


def test_rough_flops_stand_in_where_none_are_counted_and_only_there() -> None:
    uncounted = trial(flops_per_sample_training=None)
    assert trial_s(uncounted, FLOPS) == trial_s(trial())
    assert trial_s(uncounted) < trial_s(trial())
    assert trial_s(trial(), 100 * FLOPS) == trial_s(trial())


def test_proofs_are_estimated_from_their_own_steps_and_reruns() -> None:
    planned = trial(steps=1000)
    run = make_run([make_comparison("torchrun/ddp", workload="lenet5")], [planned])
    proof = proof_trial(run, planned.cell)
    assert proof is not None
    alone = reference_trial(run, proof)
    assert trial_s(proof) < trial_s(planned), "it makes some fifteen steps, whatever the window"
    assert trial_s(alone) > trial_s(proof), "the single process repeats its training"
    halved = proof.model_copy(update={"cell": proof.cell.model_copy(update={"recipe": Recipe.BF16_MASTER})})
    assert trial_s(halved) > trial_s(proof), "it is proven in fp32 and in its own precision"


def test_the_figure_of_the_plan_is_preferred() -> None:
    planned = trial().model_copy(update={"estimate_s": 123.0})
    assert expected_s(planned) == 123.0
    assert expected_s(trial()) == trial_s(trial())


def test_a_plan_that_says_nothing_of_a_launcher_that_is_gone_is_believed() -> None:
    gone = make_trial("gone/away").model_copy(update={"estimate_s": 5.0})
    assert expected_s(gone) == 5.0
