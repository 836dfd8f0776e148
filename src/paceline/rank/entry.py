"""One rank from its first line to its last: its phases in order, each recorded, and its error if one is raised."""

import traceback
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from time import perf_counter_ns

from paceline.rank import background_load, memory, read_back
from paceline.rank.lease import leased_cores, process_cores
from paceline.rank.loop import Feed, LoopRecord, run_loop
from paceline.rank.recorder import Recorder
from paceline.rank.sampler import Sampler
from paceline.schema.records import Phase, PhaseSpan, SampleCount
from paceline.schema.trial import Job
from paceline.strategies.contract import Group, Membership, Strategy, load_strategy
from paceline.strategies.operators import built_operators
from paceline.workloads.contract import Workload, load_workload

WINDOW_EDGES = (f"after {Phase.WARM_UP}", f"after {Phase.STEADY}")


def run_rank(job_path: str, membership: Membership, started_ns: int) -> None:
    """Train one job's rank and write its records. An exception is recorded, then raised again."""
    job = Job.model_validate_json(Path(job_path).read_text())
    recorder = Recorder(job.out_dir, membership.rank)
    recorder.write("process_started_ns", started_ns)
    recorder.write("reused_process", membership.reused_process)
    try:
        with leased_cores(job) as cores:
            recorder.write("cores", cores)
            if job.proof is not None:
                from paceline.rank.proof_trial import Prover

                Prover(job, membership, recorder).run()
            else:
                Rank(job, membership, recorder).run(started_ns)
    except BaseException as error:
        recorder.write("error_ns", perf_counter_ns())
        recorder.write("error", "".join(traceback.format_exception(error)).strip())
        recorder.write("error_kind", _error_kind(error))
        raise
    finally:
        recorder.close()


def _error_kind(error: BaseException) -> str:
    """Return ``oom``, ``port`` (another process took the port) or the name of the exception's class."""
    text = str(error)
    if isinstance(error, MemoryError) or "out of memory" in text.lower() or "can't allocate memory" in text:
        return "oom"
    if "EADDRINUSE" in text or "address already in use" in text.lower():
        return "port"
    return type(error).__name__


class Rank:
    """The phases of one rank."""

    def __init__(self, job: Job, membership: Membership, recorder: Recorder) -> None:
        self.job = job
        self.membership = membership
        self.recorder = recorder
        self.leader = membership.rank == 0

    def run(self, started_ns: int) -> None:
        """Import, join the group, build, train, then write the records."""
        job, recorder = self.job, self.recorder
        operators_before = built_operators()
        with self._phase(Phase.IMPORT, started_ns, absent=self._absent_import()):
            strategy = load_strategy(job, self.membership)
            workload = load_workload(job.cell.workload, job.cell.tier, job.cell.dataset)
            read_back.apply(job.conditions)
        with self._phase(Phase.RENDEZVOUS, absent=self._absent_rendezvous()):
            group = strategy.join()
        with self._phase(Phase.BUILD):
            feed = self._build(strategy, workload)
        # After the phase, because gathering sharded weights for this record is no part of an engine's start.
        recorder.write("initial_weights_digest", strategy.initial_weights_digest())
        self._at_edge("after build", strategy, group)
        loop = run_loop(
            strategy,
            feed,
            group,
            perf_counter_ns,
            warm_up_steps=job.cell.warm_up_steps,
            steps=job.cell.steps,
            at_edge=lambda edge: self._at_edge(edge, strategy, group),
        )
        self._write(strategy, feed, loop)
        recorder.write("jit_built_in_run", built_operators() != operators_before)
        self._after_training(strategy, workload, feed)
        strategy.close()
        recorder.write("done_ns", perf_counter_ns())

    def _build(self, strategy: Strategy, workload: Workload) -> Feed:
        job = self.job
        strategy.wrap(workload)
        sampler = Sampler.of(job.cell, workload.samples, self.membership.rank, job.seed)
        # Data that a workload loads or generates once belongs to this phase, not to the first step.
        workload.batch(sampler.probe())
        return Feed.of(strategy, workload, sampler, perf_counter_ns)

    def _at_edge(self, edge: str, strategy: Strategy, group: Group) -> None:
        """Read memory while the other ranks wait; around the window also conditions and background load."""
        whole_trial = self.leader and self.job.alone
        marker = self.job.tree_marker if whole_trial else None
        self.recorder.write("memory", memory.sample(edge, marker, strategy.device_memory()))
        if edge in WINDOW_EDGES:
            cores = list(self.job.devices) if whole_trial and self.job.cell.tier == "cpu" else sorted(process_cores())
            live = strategy.live()
            backend = live.backend if live.world_size > 1 else None  # a single rank does not communicate
            conditions = read_back.read_back(self.job.conditions, backend, live.device_type)
            self.recorder.write("conditions_at_start" if edge == WINDOW_EDGES[0] else "conditions", conditions)
            self.recorder.write("activity", background_load.read(cores, marker))
        group.barrier()

    def _write(self, strategy: Strategy, feed: Feed, loop: LoopRecord) -> None:
        recorder = self.recorder
        for span in loop.phases:
            recorder.write("phase", span)
        recorder.write("window_start_ns", loop.window_ns[0])
        recorder.write("window_end_ns", loop.window_ns[1])
        recorder.write("data_wait_ns", loop.data_wait_ns)
        recorder.write("losses", [float(loss) for loss in loop.losses])
        recorder.write("applied", loop.applied)
        recorder.write(
            "samples",
            SampleCount(
                per_step=feed.samples_per_step,
                padded_per_step=feed.padded_per_step,
                dropped_per_epoch=feed.sampler.dropped_per_epoch,
                index_digest=feed.sampler.digest,
                first_steps=feed.consumed,
            ),
        )
        recorder.write("live", strategy.live())
        recorder.write_steps(loop.bounds)

    def _after_training(self, strategy: Strategy, workload: Workload, feed: Feed) -> None:
        """Do the untimed work after the window: accuracy on held-out samples, the proof at the end."""
        if self.job.cell.evaluate and (test := workload.test_batch()) is not None:
            correct = strategy.evaluate(workload.correct, test)
            self.recorder.write("test_accuracy", correct / len(test[0]))
        if self.job.prove_end:
            from paceline.rank.proof_at_end import prove_end

            prove_end(self.job, self.membership, self.recorder, strategy, workload, feed)

    @contextmanager
    def _phase(self, name: Phase, start_ns: int | None = None, absent: str | None = None) -> Iterator[None]:
        start = perf_counter_ns() if start_ns is None else start_ns
        yield
        if absent:
            self.recorder.write("phase", PhaseSpan(name=name, start_ns=None, end_ns=None, reason=absent))
        else:
            self.recorder.write("phase", PhaseSpan(name=name, start_ns=start, end_ns=perf_counter_ns()))

    def _absent_import(self) -> str | None:
        """Return why this rank has no import phase, or None where it has one."""
        return "a reused process has imported already" if self.membership.reused_process else None

    def _absent_rendezvous(self) -> str | None:
        """Return why this rank has no rendezvous phase, or None where it has one."""
        return "the launcher joins ranks before the harness starts; part of launch" if self.membership.joined else None
