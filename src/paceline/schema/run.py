"""run.json: the request, the machine, the versions, and the plan in order of execution."""

from paceline.schema.conditions import Conditions
from paceline.schema.model import Model
from paceline.schema.records import MEASURING_VERSION, SCHEMA_VERSION
from paceline.schema.suite import Suite
from paceline.schema.trial import Trial


class Machine(Model):
    """The machine of a run: its processors, memory and accelerators, and the limits on this process."""

    host: str
    os: str
    cpu_model: str
    cpus_os: int
    cpus_affinity: int
    cpus_cgroup: float | None
    """CPU quota; null where none is set."""
    cpu_devices: tuple[int, ...]
    """Numbers of the cores that ranks may use: the smallest set that affinity and cgroup limits leave."""
    gpu_names: tuple[str, ...]
    memory_bytes: int
    memory_limit_bytes: int | None
    dev_shm_bytes: int


class Run(Model):
    """A run as a whole. ``plan`` holds every trial in order of execution, so that a run can be resumed."""

    schema_version: int = SCHEMA_VERSION
    measuring_version: int = MEASURING_VERSION
    suite: Suite
    command: tuple[str, ...]
    started_at: str
    """Time in ISO 8601, UTC."""
    machine: Machine
    versions: dict[str, str]
    conditions: Conditions
    seed: int
    estimate_s: float
    plan: tuple[Trial, ...]
    notes: tuple[str, ...] = ()
    """Decisions of the planning that a reader should know."""
