"""Records of ranks and conductor: names of events, and the typed form in which they are read.

All times are ``time.perf_counter_ns`` (CLOCK_MONOTONIC), which all processes of a host share.
"""

from enum import StrEnum
from typing import Any

from paceline.schema.metrics import Better
from paceline.schema.model import Model
from paceline.schema.proof import Proof
from paceline.schema.trial import Status

SCHEMA_VERSION = 1
"""Version of the run directory and of ``show --json``, raised whenever a name or a meaning changes."""

MEASURING_VERSION = 1
"""Raised whenever the way of measuring changes, so that figures of two versions are never mixed unnoticed."""

SCREENED_STEPS = 12
"""Number of first steps whose losses and samples are compared between engines."""

TRIAL_MARKER = "PACELINE_TRIAL"
"""Environment variable of every process of a trial; its value is the trial's own."""

JOB_MARKER = "PACELINE_JOB"
"""Environment variable of every process of a job; its value is the job's own."""


class Phase(StrEnum):
    """Parts of a rank's life; the harness sets the same boundaries for every engine."""

    LAUNCH = "launch"
    IMPORT = "import"
    RENDEZVOUS = "rendezvous"
    BUILD = "build"
    FIRST_STEP = "first_step"
    WARM_UP = "warm_up"
    STEADY = "steady"
    TEARDOWN = "teardown"


class PhaseSpan(Model):
    """One phase of one rank; where start and end are null, ``reason`` says why the rank had no such phase."""

    name: Phase
    start_ns: int | None
    end_ns: int | None
    reason: str | None = None


class LiveSettings(Model):
    """Settings that are really in force in a rank, read back from live objects, never copied from the request."""

    world_size: int
    micro_batch: int
    accumulation: int
    gradient_clipping: float | None
    """Norm at which gradients are clipped; null without clipping."""
    parameter_dtype: str
    compute_dtype: str
    reduction_dtype: str
    master_dtype: str
    optimiser_state_dtype: str
    optimiser: str
    optimiser_settings: dict[str, Any]
    parameters_total: int
    optimiser_parameters_local: int
    """Parameters whose optimiser state this rank holds."""
    backend: str | None
    device_type: str
    """``cpu`` or ``cuda``, read from a parameter."""
    optimiser_steps: int | None = None
    """Steps that the optimiser itself has counted; null where it keeps no count."""
    dropout: float = 0.0
    """Largest probability of an active dropout layer; above zero, steps are random and cannot be compared."""


class DeviceMemory(Model):
    """Memory of an accelerator as one rank sees it; peaks are those of this process since it started."""

    peak_allocated_bytes: int
    peak_reserved_bytes: int
    """Most memory that the allocator has taken from the device; printed, because no other process can use it."""
    used_bytes: int
    """Memory of the whole device that is in use, by all processes."""


class MemorySample(Model):
    """Memory at a phase edge, read outside of timed windows."""

    edge: str
    tree_pss_bytes: int | None
    tree_processes: int | None
    rank_pss_bytes: int | None
    rank_peak_rss_bytes: int
    """The kernel's high-water mark of the rank's resident memory (VmHWM)."""
    dev_shm_bytes: int
    device: DeviceMemory | None = None
    """Null where the rank trains on the host."""


class Activity(Model):
    """A reading of counters of cores and processes; the difference of two readings is what happened in between."""

    at_ns: int
    cores: list[int]
    busy_s: float
    """Seconds in which these cores were busy, added up, whatever process used them."""
    steal_s: float
    """Seconds that the hypervisor took from these cores."""
    own_s: float
    """CPU time of this process."""
    trees_s: float | None
    """CPU time of all processes of the trial; null where this rank does not read it."""
    major_faults: int
    minor_faults: int
    involuntary_switches: int
    frequency_mhz: float | None


class SampleCount(Model):
    """Samples that one rank processed, by global index; padded and dropped samples are counted separately."""

    per_step: list[int]
    """Samples processed in each step, padding included."""
    padded_per_step: list[int]
    dropped_per_epoch: int
    """Samples that no rank sees in an epoch, because they do not fill a global batch."""
    index_digest: str
    first_steps: list[list[int]] = []
    """Global indices that the strategy took in each of the first ``SCREENED_STEPS`` steps."""


class PartRecord(Model):
    """One training of a proof, as one rank saw it. Sketches of weights are in its ``.npz``, under the part's name."""

    part: str
    losses: list[float]
    """Mean loss over this rank's samples, one a step, the loss scale divided out."""
    applied: list[bool]
    gradient_squares: list[float]
    """Sum of squares of the gradients (or of this rank's shards) that entered its optimiser, one a step."""
    weights_digests: list[str]
    """Digests of the sketches of all full parameters, at the start and after each step."""
    samples: list[list[int]]
    """Global indices that this rank consumed, one list a step."""
    bf16_weights: bool
    """Whether every weight was exactly a bf16 number after the last step."""
    live: LiveSettings


class Scale(Model):
    """Scale of ``Part.GRADIENTS``, which the reference process chooses at the initial weights for every engine."""

    loss_scale: float
    learning_rate: float


class RankRecord(Model):
    """All records of one rank, assembled from its event lines."""

    rank: int
    process_started_ns: int
    reused_process: bool
    cores: list[int]
    phases: list[PhaseSpan]
    memory: list[MemorySample] = []
    activity: list[Activity] = []
    """Two readings: at the start and at the end of the window."""
    conditions_at_start: dict[str, Any] | None = None
    """Conditions read back before the window."""
    conditions: dict[str, Any] | None = None
    """Conditions read back after the window."""
    live: LiveSettings | None = None
    initial_weights_digest: str | None = None
    losses: list[float] = []
    """Mean loss over this rank's samples, one a step."""
    applied: list[bool] = []
    """Whether each optimiser step was applied."""
    samples: SampleCount | None = None
    window_start_ns: int | None = None
    window_end_ns: int | None = None
    data_wait_ns: int | None = None
    test_accuracy: float | None = None
    jit_built_in_run: bool = False
    error: str | None = None
    error_kind: str | None = None
    error_ns: int | None = None
    done_ns: int | None = None
    proof: list[PartRecord] = []
    proof_tensors: list[str] = []
    """Names of the tensors in the proof's arrays, in order."""
    proof_scale: Scale | None = None
    end_alone: list[PartRecord] = []
    """``Part.END`` as the single process trained it from the same state, and its reruns; in rank 0 only."""
    end_unproven: str | None = None
    """Reason why a planned proof at the end could not be made."""

    def phase(self, name: Phase) -> PhaseSpan | None:
        """Return the span of a phase, or None when the rank did not reach it."""
        return next((p for p in self.phases if p.name is name), None)


class JobRecord(Model):
    """One line of jobs.jsonl: when a job was planned, submitted, started, ..., released; null for what never was."""

    job_id: int
    planned_ns: int
    submitted_ns: int | None
    started_ns: int | None
    ready_ns: int | None
    first_step_ns: int | None
    last_step_ns: int | None
    released_ns: int | None
    status: Status
    cause: str | None
    cores: list[int]


class DriverEvent(Model):
    """One line of driver-events.jsonl, by which a driver reports to the conductor, in order of time."""

    class Kind(StrEnum):
        """Kinds of event."""

        ACCEPTING = "accepting"
        """The cluster is ready to accept jobs."""
        SUBMITTED = "submitted"
        RELEASED = "released"
        """The job has ended, with success or failure, and its resources are free."""

    event: Kind
    t_ns: int
    job: int | None = None
    error: str | None = None
    """Reason why a released job failed; null after a success."""


class BackgroundLoad(Model):
    """Activity of the machine besides a trial, from before its first job until after its last."""

    seconds: float
    cores: list[int]
    steal_s: float
    """Seconds that the hypervisor took from these cores."""
    outside_s: float
    """CPU seconds of processes outside the trial on these cores, assuming that each spreads its time evenly over the
    cores that it may use."""
    pressure_s: float | None
    """Seconds in which at least one runnable process, the trial's own included, waited for a core."""
    throttled: int | None
    """Number of times that these cores were slowed down because of heat."""
    memory_available_bytes: int
    """Free memory of the machine: the smaller of two readings."""


class LoadRecord(Model):
    """Times of the load as a whole, and the scheduler that placed its jobs."""

    started_ns: int
    accepting_ns: int | None
    """Time from which jobs could be submitted: for a cluster, after its start."""
    scheduler: str
    surroundings: BackgroundLoad | None = None


class Measure(Model):
    """One metric of one trial; an unknown value is null, with a reason."""

    value: float | None
    unit: str
    better: Better
    reduction: str
    reason: str | None = None


class PhaseDuration(Model):
    """Duration of one phase; null, with a reason, where an engine has no such phase."""

    name: Phase
    seconds: float | None
    reason: str | None = None


class FlagName(StrEnum):
    """Names of the things about a trial that its reader must know."""

    DISTURBED = "disturbed"
    """Other processes, the hypervisor or heat took too much of the trial's cores; its block does not count."""
    JIT_BUILT_IN_RUN = "jit_built_in_run"
    STEPS_NOT_APPLIED = "steps_not_applied"
    PADDED = "padded"
    DROPPED = "dropped"
    INPUT_BOUND = "input_bound"
    UTILISATION_ABOVE_ONE = "utilisation_above_one"
    LEFT_BEHIND = "left_behind"
    SERIES_WARM_UP = "series_warm_up"
    SERIES_SLOW_DOWN = "series_slow_down"
    SERIES_UNSTEADY = "series_unsteady"
    SERIES_TOO_SHORT = "series_too_short"


class Flag(Model):
    """Something about a trial that a reader must know."""

    name: FlagName
    message: str


class Result(Model):
    """result.json: the result of a trial, derived from the raw records alone, so that it can be derived again."""

    schema_version: int = SCHEMA_VERSION
    measuring_version: int = MEASURING_VERSION
    trial_id: str
    status: Status
    cause: str | None
    measures: dict[str, Measure]
    phases: list[PhaseDuration] = []
    flags: list[Flag] = []
    end: Proof | None = None
    """Outcome of ``Part.END``; null where no such proof was planned."""
    scheduler: str | None = None


class Ending(Model):
    """ending.json: the end of a trial as the conductor saw it."""

    status: Status
    cause: str | None
    wall_s: float
    leftovers: list[str] = []
    """Processes, files and shared memory that outlived the trial and were removed."""
