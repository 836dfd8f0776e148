"""The proof at the end: from the state after a timed window the engine takes the step that a single process takes from
it (docs/method.md, "Same work")."""

from dataclasses import replace
from time import perf_counter_ns
from typing import Any, cast

from paceline.rank.loop import Feed
from paceline.rank.proof_steps import Array, ProofWorkload, proven_steps
from paceline.rank.recorder import Recorder
from paceline.rank.sampler import Sampler
from paceline.schema.proof import END_RERUNS, STEPS, Part
from paceline.schema.trial import Job
from paceline.strategies.contract import Membership, Strategy, load_strategy
from paceline.strategies.torch_strategy import SoloTorchStrategy
from paceline.workloads.contract import Workload

State = dict[str, dict[str, Any]]


def prove_end(
    job: Job, membership: Membership, recorder: Recorder, strategy: Strategy, workload: Workload, feed: Feed
) -> None:
    """Take one more step, untimed, and let rank 0 take the same one as a single process. Called on every rank."""
    if (dropout := strategy.live().dropout) > 0:
        recorder.write("end_unproven", f"dropout of {dropout:g} is on in timed steps, which makes each of them random")
        return
    try:
        gathered = {name: values for name, values in strategy.training_state() if membership.rank == 0}
    except NotImplementedError as error:
        recorder.write("end_unproven", str(error))
        return
    following = Feed(feed.sampler, feed.fetch, perf_counter_ns, chosen=job.cell.total_steps)
    record, weights, names = proven_steps(Part.END, strategy, following, STEPS[Part.END])
    recorder.write("proof", record)
    if membership.rank != 0:
        return
    recorder.write("proof_tensors", names)
    arrays = {f"{Part.END}/weights": weights}
    try:
        arrays |= _alone(job, membership, recorder, workload, gathered)
    except Exception as error:
        recorder.write("end_unproven", f"the single process could not take the step: {error}")
    recorder.write_arrays(arrays)


def _alone(job: Job, membership: Membership, recorder: Recorder, workload: Workload, state: State) -> dict[str, Array]:
    """Take the step as a single process with every rank's micro-batches, and again with samples permuted in them."""
    cell = job.cell.as_single_process()
    alone = job.model_copy(update={"cell": cell})
    strategy = cast("SoloTorchStrategy", load_strategy(alone, replace(membership, world_size=1, joined=True)))
    strategy.wrap(ProofWorkload(workload, None))
    arrays: dict[str, Array] = {}
    for number in range(END_RERUNS + 1):
        strategy.take_training_state(state)
        sampler = Sampler.of(cell, workload.samples, 0, job.seed, number)
        feed = Feed.of(strategy, workload, sampler, perf_counter_ns, first_step=job.cell.total_steps)
        name = f"{Part.END}-{number}" if number else str(Part.END)
        record, arrays[f"alone/{name}/weights"], _ = proven_steps(name, strategy, feed, STEPS[Part.END])
        recorder.write("end_alone", record)
    strategy.close()
    return arrays
