"""The proof at the end: after a timed window, engine and single process take one step from the same state.

See docs/method.md, "Same work".
"""

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
"""For each parameter its ``training_state``: weight, and the optimiser's state."""


def prove_end(
    job: Job, membership: Membership, recorder: Recorder, strategy: Strategy, workload: Workload, feed: Feed
) -> None:
    """Take one more, untimed step; rank 0 then takes the same step as a single process. Called on every rank."""
    if (dropout := strategy.live().dropout) > 0:
        recorder.write("end_unproven", f"dropout of {dropout:g} is on in timed steps, which makes every step random")
        return
    try:
        gathered = {name: values for name, values in strategy.training_state() if membership.rank == 0}
    except NotImplementedError as error:
        recorder.write("end_unproven", str(error))
        return
    next_feed = Feed(feed.sampler, feed.fetch, perf_counter_ns, chosen=job.cell.total_steps)
    record, weights, names = proven_steps(Part.END, strategy, next_feed, STEPS[Part.END])
    recorder.write("proof", record)
    if membership.rank != 0:
        return
    recorder.write("proof_tensors", names)
    arrays = {f"{Part.END}/weights": weights}
    try:
        arrays |= _step_as_single_process(job, membership, recorder, workload, gathered)
    except Exception as error:
        recorder.write("end_unproven", f"the single process could not take the step: {error}")
    recorder.write_arrays(arrays)


def _step_as_single_process(
    job: Job, membership: Membership, recorder: Recorder, workload: Workload, state: State
) -> dict[str, Array]:
    """Take the step as a single process with all ranks' micro-batches, then again with samples permuted within them.

    Returns sketches of the weights, by name.
    """
    cell = job.cell.as_single_process()
    single_job = job.model_copy(update={"cell": cell})
    strategy = cast("SoloTorchStrategy", load_strategy(single_job, replace(membership, world_size=1, joined=True)))
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
