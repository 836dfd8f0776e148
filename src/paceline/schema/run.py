"""run.json: what was asked for, on which machine, with which versions, and the plan in order."""

from paceline.schema.conditions import Conditions
from paceline.schema.model import Model
from paceline.schema.records import MEASURING_VERSION, SCHEMA_VERSION
from paceline.schema.suite import Suite
from paceline.schema.trial import Trial


class Machine(Model):
    """What the machine is. ``devices`` are what ranks may use: the smallest of affinity and cgroup limits."""

    host: str
    os: str
    cpu_model: str
    cpus_os: int
    cpus_affinity: int
    cpus_cgroup: float | None
    """CPU quota; null where none is set."""
    cpu_devices: tuple[int, ...]
    """Core numbers."""
    gpu_names: tuple[str, ...]
    memory_bytes: int
    memory_limit_bytes: int | None
    dev_shm_bytes: int


class Run(Model):
    """The run as a whole. ``plan`` holds every trial in the order of execution, so that a run can be resumed."""

    schema_version: int = SCHEMA_VERSION
    measuring_version: int = MEASURING_VERSION
    suite: Suite
    command: tuple[str, ...]
    started_at: str
    """ISO 8601, UTC."""
    machine: Machine
    versions: dict[str, str]
    conditions: Conditions
    seed: int
    estimate_s: float
    plan: tuple[Trial, ...]
    notes: tuple[str, ...] = ()
    """What was decided while planning and a reader should know."""
