"""Which built-in launcher carries which built-in strategies under which loads: the one table."""

from dataclasses import dataclass


@dataclass(frozen=True)
class Row:
    """What one launcher can run, besides strategies that name it themselves."""

    strategies: frozenset[str]
    many_jobs: bool = True
    why_one_job: str = ""


_ZERO = frozenset(["zero0", "zero1", "zero2", "zero3", "zero2-offload", "zero3-offload"])
_SINGLE = frozenset({"single"})
_ALL = _SINGLE | _ZERO | {"ddp", "fsdp2"}

MATRIX = {
    "python": Row(_SINGLE),
    "torchrun": Row(_ALL),
    "deepspeed": Row(_ZERO),
    "ray-train": Row(
        _ALL,
        many_jobs=False,
        why_one_job="several trainers in one cluster need room for their controllers; use ray-core for many jobs",
    ),
    "ray-core": Row(_ALL),
    "ray-tune": Row(_SINGLE),
    "fake": Row(frozenset({"fake"})),
}
