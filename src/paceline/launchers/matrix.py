"""Which launcher carries which strategies under which loads: the one table (DESIGN §2)."""

from dataclasses import dataclass

from paceline.spec.trial import Cell


@dataclass(frozen=True)
class Row:
    """What one launcher can run."""

    strategies: frozenset[str]
    many_jobs: bool
    why_one_job: str = ""

    def refusal(self, cell: Cell) -> str | None:
        """Return why a cell does not exist under this launcher, or None when it does."""
        launcher, strategy = cell.engine.launcher, cell.engine.strategy
        if strategy not in self.strategies:
            carried = ", ".join(sorted(self.strategies))
            return f"engine {cell.engine} does not exist: launcher {launcher!r} carries {carried}"
        if strategy == "single" and cell.ranks > 1:
            return f"engine {cell.engine} trains on one rank, {cell.ranks} were asked for: set ranks: 1"
        if cell.load.many and not self.many_jobs:
            return f"launcher {launcher!r} runs one job at a time: {self.why_one_job}"
        return None


def _row(strategies: str, *, many_jobs: bool = True, why_one_job: str = "") -> Row:
    return Row(frozenset(strategies.split()), many_jobs, why_one_job)


_ZERO = "zero0 zero1 zero2 zero3 zero2-offload zero3-offload"
_ALL = f"single ddp fsdp2 {_ZERO}"

MATRIX = {
    "python": _row("single"),
    "torchrun": _row(_ALL),
    "deepspeed": _row(_ZERO),
    "ray-train": _row(
        _ALL,
        many_jobs=False,
        why_one_job="several trainers in one cluster need room for their controllers; use ray-core for many jobs",
    ),
    "ray-core": _row(_ALL),
    "ray-tune": _row("single"),
    "fake": _row("fake"),
}
