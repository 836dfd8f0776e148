"""Lists for ``paceline list``: suites, workloads, engines, metrics; each row says whether it is available here."""

from typing import Any

from paceline import registry
from paceline.conductor.planning.suites import built_in_suites, load_suite
from paceline.errors import RequestError
from paceline.launchers.contract import Launcher, launcher_named
from paceline.schema.metrics import METRICS
from paceline.strategies.descriptor import registered_strategies
from paceline.workloads.descriptor import workload_named


def _row(name: str, about: str, reason: str | None = None, **more: Any) -> dict[str, Any]:
    return {"name": name, "available": reason is None, "reason": reason, "about": about, **more}


def suites() -> list[dict[str, Any]]:
    """Return the built-in suites."""
    return [_row(name, load_suite(name).description) for name in built_in_suites()]


def workloads() -> list[dict[str, Any]]:
    """Return the registered workloads."""
    rows = []
    for name in registry.names("workloads"):
        workload = workload_named(name)
        tiers = {
            tier: {"summary": size.summary, "global_batch": size.global_batch, "datasets": list(size.datasets)}
            for tier, size in workload.tiers.items()
        }
        about = "; ".join(
            f"{tier}: {size.summary}, batch {size.global_batch} (data: {' or '.join(size.datasets)})"
            for tier, size in workload.tiers.items()
        )
        rows.append(
            _row(name, about, registry.unavailable(workload.modules), tiers=tiers, selftest_only=workload.selftest_only)
        )
    return rows


def engines() -> list[dict[str, Any]]:
    """Return every engine: each launcher with each strategy that it carries. A broken launcher gets one row."""
    rows = []
    for name in registry.names("launchers"):
        try:
            launcher = launcher_named(name)
        except RequestError as error:
            rows.append(_row(f"{name}/?", "a launcher that cannot be loaded", str(error)))
            continue
        for strategy in filter(launcher.carries, registered_strategies()):
            modules = tuple(dict.fromkeys((*launcher.modules, *strategy.modules)))
            rows.append(
                _row(
                    f"{name}/{strategy.name}",
                    f"{strategy.summary}; many jobs: {_many_jobs(launcher)}",
                    registry.unavailable(modules),
                    scheduler=launcher.scheduler,
                    selftest_only=launcher.selftest_only,
                )
            )
    return rows


def metrics() -> list[dict[str, Any]]:
    """Return every metric."""
    return [
        _row(
            metric.name,
            f"{metric.meaning} [{metric.unit}, {metric.better} is better; {metric.reduction}]",
            **metric.model_dump(exclude={"name"}, mode="json"),
        )
        for metric in METRICS.values()
    ]


def _many_jobs(launcher: Launcher) -> str:
    return launcher.scheduler if launcher.row.many_jobs else "no"
