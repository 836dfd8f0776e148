"""From a suite to trials in order: pure, except for asking which packages are installed."""

from collections.abc import Sequence
from dataclasses import dataclass, field

from paceline.launchers import contract as launchers
from paceline.launchers.contract import Launcher
from paceline.spec import registry
from paceline.spec.conditions import Conditions
from paceline.spec.engine import EngineName
from paceline.spec.errors import RequestError, nearest, quoted
from paceline.spec.run import Machine
from paceline.spec.suite import GENERAL_VARIANTS, MAX_TRIALS, Category, Comparison, Suite, Variant
from paceline.spec.trial import Cell, Trial
from paceline.strategies import descriptor as strategies
from paceline.strategies.descriptor import StrategyDescriptor
from paceline.workloads import datasets
from paceline.workloads import descriptor as workloads
from paceline.workloads.descriptor import Tier, WorkloadDescriptor


@dataclass(frozen=True)
class Filters:
    """What part of a suite to run; empty means all."""

    engines: tuple[str, ...] = ()
    workloads: tuple[str, ...] = ()
    category: str | None = None


@dataclass
class Plan:
    """Trials in order of execution, what is missing for some of them, and what was decided on the way."""

    trials: list[Trial] = field(default_factory=list)
    unavailable: dict[str, str] = field(default_factory=dict)
    """Engine or workload to the reason and install line."""
    notes: list[str] = field(default_factory=list)

    def note(self, text: str) -> None:
        """Keep what a reader must know, once."""
        if text not in self.notes:
            self.notes.append(text)


def select(suite: Suite, filters: Filters) -> Suite:
    """Return the suite with only what the filters name. Raises RequestError when a name is not in it."""
    known_engines = {str(e) for c in suite.comparisons for e in c.engines}
    known_workloads = {c.workload for c in suite.comparisons}
    for name in filters.engines:
        EngineName.parse(name)
        if name not in known_engines:
            raise RequestError(f"engine {quoted(name)} is not in suite {suite.name!r}: {nearest(name, known_engines)}")
    for name in filters.workloads:
        if name not in known_workloads:
            raise RequestError(
                f"workload {quoted(name)} is not in suite {suite.name!r}: {nearest(name, known_workloads)}"
            )
    if filters.category is not None and filters.category not in set(Category):
        raise RequestError(f"unknown category {quoted(filters.category)}: {nearest(filters.category, list(Category))}")
    kept = [
        _with_engines(comparison, filters.engines)
        for comparison in suite.comparisons
        if (not filters.workloads or comparison.workload in filters.workloads)
        and (filters.category is None or comparison.category == filters.category)
        and (not filters.engines or any(str(e) in filters.engines for e in comparison.engines))
    ]
    if not kept:
        raise RequestError(f"nothing of suite {suite.name!r} is left by --engines, --workloads and --category together")
    return suite.model_copy(update={"comparisons": tuple(kept)})


def _with_engines(comparison: Comparison, engines: tuple[str, ...]) -> Comparison:
    if not engines:
        return comparison
    kept = tuple(e for e in comparison.engines if str(e) in engines)
    reference = comparison.reference if comparison.reference in kept else None
    expect = {name: what for name, what in comparison.expect.items() if name in engines}
    return comparison.model_copy(update={"engines": kept, "reference": reference, "expect": expect})


def make_plan(suite: Suite, machine: Machine, conditions: Conditions, seed: int) -> Plan:
    """Return every trial of every block, in a balanced order. Raises RequestError for what cannot run here."""
    _refuse_too_many(suite)
    plan = Plan()
    cells = [
        [_cell(suite, index, engine, machine, plan) for engine in comparison.engines]
        for index, comparison in enumerate(suite.comparisons)
    ]
    _refuse_twins([cell for group in cells for cell in group])
    for block in range(suite.blocks):
        for group in cells:
            for position, index in enumerate(block_order(len(group), block)):
                cell = group[index]
                number = len(plan.trials) + 1
                plan.trials.append(
                    Trial(
                        id=f"{number:04d}-{cell.id}-b{block + 1:02d}",
                        cell=cell,
                        block=block,
                        position=position,
                        seed=seed * 1000 + block,
                        conditions=conditions.model_copy(update={"threads_per_rank": cell.cores_per_rank}),
                        devices=_devices(machine, cell.tier),
                        # Once a cell: later blocks must run on the same settings and losses to count.
                        prove_end=suite.proofs and block == 0 and not cell.load.many and _trains(cell),
                    )
                )
    return plan


def block_order(engines: int, block: int) -> list[int]:
    """Return the order of engines in a block: the row of a Williams design (1949), cycled over blocks.

    Each engine comes equally often at each position, and equally often right after each other one; an odd number of
    engines needs the mirrored rows as well, so a full cycle has ``engines`` rows (even) or twice as many (odd).
    """
    if engines == 1:
        return [0]
    first = [0]
    low, high = 1, engines - 1
    while low <= high:
        first.append(low)
        low += 1
        if low <= high:
            first.append(high)
            high -= 1
    cycle = engines if engines % 2 == 0 else 2 * engines
    turn = block % cycle
    row = [(place + turn) % engines for place in first]
    return row if turn < engines else row[::-1]


def _trains(cell: Cell) -> bool:
    return not workloads.get(cell.workload).selftest_only


def _refuse_too_many(suite: Suite) -> None:
    cells = sum(len(comparison.engines) for comparison in suite.comparisons)
    if suite.blocks * cells > MAX_TRIALS:
        raise RequestError(
            f"suite {suite.name!r} asks for {suite.blocks * cells:,} trials ({suite.blocks:,} blocks of {cells:,} "
            f"engines), more than {MAX_TRIALS:,}: lower --blocks, or name fewer --engines or --workloads"
        )


def _refuse_twins(cells: list[Cell]) -> None:
    seen: set[str] = set()
    for cell in cells:
        if cell.id in seen:
            raise RequestError(
                f"two comparisons hold the same cell {cell.id}: change its engine (a @variant), load, ranks or category"
            )
        seen.add(cell.id)


def _cell(suite: Suite, index: int, engine: EngineName, machine: Machine, plan: Plan) -> Cell:
    comparison = suite.comparisons[index]
    where = f"suite {suite.name!r}, {comparison.category}"
    workload = workloads.get(comparison.workload)
    launcher = launchers.get(engine.launcher)
    strategy = strategies.get(engine.strategy)
    variant = _variant(suite, engine, launcher, strategy, where)
    for name, modules in ((str(engine), (*launcher.modules, *strategy.modules)), (workload.name, workload.modules)):
        reason = registry.unavailable(tuple(dict.fromkeys(modules)))
        if reason:
            plan.unavailable[name] = reason
    tier = _tier(comparison, machine, workload, plan, where)
    sizes = workload.tiers[tier]
    dataset = datasets.choose(comparison.data, sizes.datasets)
    devices = _devices(machine, tier)
    batch = comparison.global_batch or sizes.global_batch
    alone = strategy.one_rank_only or comparison.load.many
    ranks = (
        comparison.ranks
        if comparison.ranks != "all"
        else 1
        if alone
        else _all_ranks(len(devices), batch // comparison.accumulation, plan, where)
    )
    if ranks > len(devices) and not comparison.oversubscribe:
        raise RequestError(
            f"{where}: {engine} on {ranks} ranks needs {ranks} devices, this machine has {len(devices)}: "
            "lower ranks, or say oversubscribe: true (never ranked)"
        )
    cores = _cores_per_rank(variant, len(devices), tier)
    cell = Cell(
        comparison=index,
        category=comparison.category,
        workload=workload.name,
        tier=tier,
        data=datasets.kind(dataset),
        dataset=dataset,
        engine=engine,
        variant=variant,
        recipe=comparison.recipe,
        load=comparison.load,
        ranks=ranks,
        cores_per_rank=cores,
        micro_batch=_micro_batch(batch, ranks, comparison.accumulation, where),
        accumulation=comparison.accumulation,
        samples=comparison.samples,
        incomplete_batch=comparison.incomplete_batch,
        warm_up_steps=comparison.warm_up_steps,
        steps=comparison.steps,
        evaluate=comparison.evaluate,
        oversubscribe=comparison.oversubscribe,
        timeout_s=comparison.timeout_s,
        peak=comparison.peak,
    )
    refusal = launcher.refusal(cell)
    if refusal:
        raise RequestError(f"{where}: {refusal}")
    return cell


def _cores_per_rank(variant: Variant, devices: int, tier: Tier) -> int:
    """Return how many devices a rank takes: cores as the variant says, and never more than one accelerator."""
    if tier == "gpu":
        return 1
    return devices if variant.cores_per_rank == "all" else variant.cores_per_rank


def _micro_batch(batch: int, ranks: int, accumulation: int, where: str) -> int:
    size, rest = divmod(batch, ranks * accumulation)
    if rest or not size:
        raise RequestError(
            f"{where}: a global batch of {batch} cannot be shared by {ranks} ranks x {accumulation} "
            "micro-batches: change ranks, accumulation or global_batch so that it divides"
        )
    return size


def _variant(suite: Suite, engine: EngineName, launcher: Launcher, strategy: StrategyDescriptor, where: str) -> Variant:
    """Return what the engine's @name stands for: the suite's own come first, then the launcher's, the strategy's."""
    if engine.variant is None:
        return Variant()
    known = {**GENERAL_VARIANTS, **strategy.variants, **launcher.variants, **suite.variants}
    if engine.variant not in known:
        raise RequestError(f"{where}: unknown variant {engine.variant!r} of {engine}: {nearest(engine.variant, known)}")
    return known[engine.variant]


def _tier(comparison: Comparison, machine: Machine, workload: WorkloadDescriptor, plan: Plan, where: str) -> Tier:
    tiers = workload.tiers
    cpu_build = "torch" in workload.modules and registry.is_cpu_build("torch")
    wanted: Tier
    if comparison.tier != "auto":
        wanted = comparison.tier
    elif not machine.gpu_names or "gpu" not in tiers:
        wanted = "cpu"
    elif cpu_build:
        wanted = "cpu"
        plan.note("GPUs are left out: the torch that is installed is a CPU build; install a CUDA build to use them")
    else:
        wanted = "gpu"
    if wanted == "gpu" and not machine.gpu_names:
        raise RequestError(f"{where}: tier gpu was asked for, and this machine shows no GPU: say tier: cpu")
    if wanted == "gpu" and cpu_build:
        raise RequestError(f"{where}: tier gpu was asked for, and torch is a CPU build: install a CUDA build of it")
    if wanted not in tiers:
        raise RequestError(f"{where}: workload {comparison.workload!r} has no tier {wanted!r}: {', '.join(tiers)}")
    return wanted


def _all_ranks(devices: int, samples: int, plan: Plan, where: str) -> int:
    """Return the largest number of ranks that shares the samples of a micro-batch round evenly."""
    fitting = max(n for n in range(1, devices + 1) if samples % n == 0 or n == 1)
    if fitting < devices:
        plan.note(f"{where}: {fitting} of {devices} devices are used, because they must share the global batch evenly")
    return fitting


def _devices(machine: Machine, tier: Tier) -> tuple[int, ...]:
    return machine.cpu_devices if tier == "cpu" else tuple(range(len(machine.gpu_names)))


def blocks_of(trials: Sequence[Trial]) -> dict[int, list[Trial]]:
    """Return trials by block, in order."""
    found: dict[int, list[Trial]] = {}
    for trial in trials:
        found.setdefault(trial.block, []).append(trial)
    return found
