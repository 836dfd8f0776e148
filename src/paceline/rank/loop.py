"""The measured loop: the first step, the warm-up, then the timed window (docs/method.md, "Time and samples")."""

from collections import deque
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field
from typing import Any

import numpy as np
from numpy.typing import NDArray

from paceline.rank.sampler import Sampler, StepSamples
from paceline.schema.records import SCREENED_STEPS, Phase, PhaseSpan
from paceline.strategies.contract import Group, StepOutcome, Strategy
from paceline.workloads.contract import SampleIndices, Workload

PREPARED_STEPS = 10_000
"""Most steps whose samples are chosen before the window begins; more would only cost memory."""

Clock = Callable[[], int]
"""Returns nanoseconds on a scale that all processes of a host share."""


@dataclass
class Feed:
    """Hands the strategy its micro-batches and times how long it waits for them."""

    sampler: Sampler
    fetch: Callable[[Any], Any]
    """Turns sample indices into a batch on the device."""
    clock: Clock
    chosen: int = 0
    """Number of the next step whose samples are to be chosen."""
    wait_ns: int = 0
    samples_per_step: list[int] = field(default_factory=list)
    padded_per_step: list[int] = field(default_factory=list)
    first_steps: list[list[SampleIndices]] = field(default_factory=list)
    """Indices that the strategy took in the first ``SCREENED_STEPS`` steps: a list a step, an array a micro-batch."""
    _ahead: deque[StepSamples] = field(default_factory=deque)

    @classmethod
    def of(cls, strategy: Strategy, workload: Workload, sampler: Sampler, clock: Clock, first_step: int = 0) -> "Feed":
        """Return the feed of a workload's samples to a strategy's device, beginning with step ``first_step``."""
        return cls(sampler, lambda indices: strategy.move(workload.batch(indices)), clock, chosen=first_step)

    @property
    def consumed(self) -> list[list[int]]:
        """Global indices that the strategy took in each of the first ``SCREENED_STEPS`` steps."""
        return [[int(index) for taken in step for index in taken] for step in self.first_steps]

    def prepare(self, steps: int) -> None:
        """Choose the samples of the next steps now, because inside a window the choice would be timed."""
        for _ in range(min(steps, PREPARED_STEPS) - len(self._ahead)):
            self._choose()

    def next_step(self) -> Iterator[Any]:
        """Return the micro-batches of the next optimiser step; each is fetched when the strategy asks for it."""
        if not self._ahead:
            self._choose()
        samples = self._ahead.popleft()
        self.samples_per_step.append(0)
        self.padded_per_step.append(samples.padded)
        if len(self.first_steps) == SCREENED_STEPS:
            return self._batches(samples, None)
        self.first_steps.append([])
        return self._batches(samples, self.first_steps[-1])

    def _choose(self) -> None:
        self._ahead.append(self.sampler.step(self.chosen))
        self.chosen += 1

    def _batches(self, samples: StepSamples, record: list[SampleIndices] | None) -> Iterator[Any]:
        for indices in samples.micro_batches:
            start = self.clock()
            batch = self.fetch(indices)
            self.wait_ns += self.clock() - start
            self.samples_per_step[-1] += len(indices)  # a sample counts when the strategy takes it, not when planned
            if record is not None:
                record.append(indices)
            yield batch


@dataclass
class LoopRecord:
    """The loop's measurements."""

    bounds: NDArray[np.int64]
    """(steps, 2): start and end of each step in ns, the first step and the warm-up included."""
    losses: list[Any]
    """One a step, as the strategy returned them: not yet numbers, because reading one waits for its device."""
    applied: list[bool]
    window_ns: tuple[int, int]
    data_wait_ns: int
    phases: list[PhaseSpan]


def run_loop(
    strategy: Strategy,
    feed: Feed,
    group: Group,
    clock: Clock,
    *,
    warm_up_steps: int,
    steps: int,
    at_edge: Callable[[str], None],
) -> LoopRecord:
    """Train ``1 + warm_up_steps + steps`` steps and time the last ``steps`` of them as one window.

    Every rank calls ``at_edge`` between phases, outside of all timing.
    """
    steps_clock = strategy.step_clock(clock)
    marks: list[Any] = []
    outcomes: list[StepOutcome] = []

    def train(count: int) -> tuple[int, int]:
        """Run steps between two barriers; return the host's times in ns at both."""
        feed.prepare(count)
        mark, step, next_step = steps_clock.mark, strategy.step, feed.next_step
        group.barrier()
        start = clock()
        for _ in range(count):
            begun = mark()
            outcomes.append(step(next_step()))
            marks.extend((begun, mark()))
        strategy.synchronise()
        group.barrier()
        return start, clock()

    phases = []
    for name, count in ((Phase.FIRST_STEP, 1), (Phase.WARM_UP, warm_up_steps), (Phase.STEADY, steps)):
        feed.wait_ns = 0
        start, end = train(count)
        phases.append(PhaseSpan(name=name, start_ns=start, end_ns=end))
        at_edge(f"after {name}")
    losses, applied = [o.loss for o in outcomes], [o.applied for o in outcomes]
    bounds = steps_clock.read_ns(marks).reshape(-1, 2)
    return LoopRecord(bounds, losses, applied, (start, end), feed.wait_ns, phases)
