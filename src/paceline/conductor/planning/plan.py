"""From a suite to its trials, in order. Nothing starts; the only look at the machine is which packages it has."""

from collections.abc import Mapping
from dataclasses import dataclass, field

from paceline import registry
from paceline.conductor.planning import estimate
from paceline.conductor.planning.block_order import block_order
from paceline.errors import RequestError, nearest
from paceline.launchers.contract import Launcher, launcher_named
from paceline.schema.conditions import Conditions
from paceline.schema.engine import EngineName
from paceline.schema.run import Machine, Run
from paceline.schema.suite import GENERAL_VARIANTS, MAX_TRIALS, Comparison, Suite, Variant
from paceline.schema.trial import Cell, Trial
from paceline.strategies.descriptor import StrategyDescriptor, strategy_named
from paceline.workloads import datasets
from paceline.workloads.descriptor import Tier, WorkloadDescriptor


@dataclass
class Plan:
    """A suite's trials in order of execution, what is missing for some of them, and notes on what was decided."""

    suite: Suite
    machine: Machine
    conditions: Conditions
    seed: int
    trials: list[Trial] = field(default_factory=list)
    unavailable: dict[str, str] = field(default_factory=dict)
    """Engine or workload to the reason why it cannot run, with the command that installs what is missing."""
    notes: list[str] = field(default_factory=list)

    @classmethod
    def of(cls, run: Run) -> "Plan":
        """Return the plan that a stored run carries out."""
        return cls(run.suite, run.machine, run.conditions, run.seed, list(run.plan), notes=list(run.notes))

    @property
    def estimate_s(self) -> float:
        """Expected seconds of all timed trials together."""
        return sum(estimate.expected_s(trial) for trial in self.trials)

    def note(self, text: str) -> None:
        """Add a note for the user, unless the plan has it already."""
        if text not in self.notes:
            self.notes.append(text)


def make_plan(
    suite: Suite,
    workloads: Mapping[str, WorkloadDescriptor],
    machine: Machine,
    conditions: Conditions,
    seed: int,
) -> Plan:
    """Return the plan of every trial of every block, in a balanced order.

    ``workloads``: the descriptor of each of the suite's workloads, by name. Raises RequestError for a trial that cannot
    run on this machine. A trial that only lacks packages is planned, and the plan's ``unavailable`` says what it lacks.
    """
    _refuse_too_many(suite)
    plan = Plan(suite, machine, conditions, seed)
    cells = [
        [_cell(plan, index, engine, workloads[comparison.workload]) for engine in comparison.engines]
        for index, comparison in enumerate(suite.comparisons)
    ]
    _refuse_duplicates([cell for group in cells for cell in group])
    for block in range(suite.blocks):
        for group in cells:
            for position, index in enumerate(block_order(len(group), block)):
                cell = group[index]
                flops = workloads[cell.workload].tiers[cell.tier].flops_per_sample_training
                plan.trials.append(_trial(plan, cell, block, position, flops))
    return plan


def _trial(plan: Plan, cell: Cell, block: int, position: int, flops_per_sample: float) -> Trial:
    trial = Trial(
        id=f"{len(plan.trials) + 1:04d}-{cell.id}-b{block + 1:02d}",
        cell=cell,
        block=block,
        position=position,
        seed=plan.seed * 1000 + block,
        conditions=plan.conditions.model_copy(update={"threads_per_rank": cell.cores_per_rank}),
        devices=_devices(plan.machine, cell.tier),
        # In the first block only: trials of later blocks count only if settings and losses agree with the first.
        prove_end=plan.suite.proofs and block == 0 and not cell.load.many and cell.trains,
    )
    return trial.model_copy(update={"estimate_s": estimate.trial_s(trial, flops_per_sample)})


def _refuse_too_many(suite: Suite) -> None:
    cells = sum(len(comparison.engines) for comparison in suite.comparisons)
    if suite.blocks * cells > MAX_TRIALS:
        raise RequestError(
            f"suite {suite.name!r} asks for {suite.blocks * cells:,} trials ({suite.blocks:,} blocks of {cells:,} "
            f"engines), more than {MAX_TRIALS:,}: lower --blocks, or name fewer --engines or --workloads"
        )


def _refuse_duplicates(cells: list[Cell]) -> None:
    seen: set[str] = set()
    for cell in cells:
        if cell.id in seen:
            raise RequestError(
                f"two comparisons hold the same cell {cell.id}: change its engine (a @variant), load, ranks or category"
            )
        seen.add(cell.id)


def _cell(plan: Plan, index: int, engine: EngineName, workload: WorkloadDescriptor) -> Cell:
    suite, machine, comparison = plan.suite, plan.machine, plan.suite.comparisons[index]
    where = f"suite {suite.name!r}, {comparison.category}"
    launcher, strategy = launcher_named(engine.launcher), strategy_named(engine.strategy)
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
    one_rank = strategy.one_rank_only or comparison.load.many
    ranks = (
        comparison.ranks
        if comparison.ranks != "all"
        else 1
        if one_rank
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
        trains=not workload.selftest_only,
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
    """Return the devices of one rank: as many cores as the variant asks for, or one accelerator."""
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
    """Return what the engine's @name stands for: in the suite, else the launcher, the strategy, the general ones."""
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
    """Return the largest number of ranks that can share ``samples``, those of one micro-batch each, evenly."""
    ranks = max(n for n in range(1, devices + 1) if samples % n == 0 or n == 1)
    if ranks < devices:
        plan.note(f"{where}: {ranks} of {devices} devices are used, because they must share the global batch evenly")
    return ranks


def _devices(machine: Machine, tier: Tier) -> tuple[int, ...]:
    return machine.cpu_devices if tier == "cpu" else tuple(range(len(machine.gpu_names)))
