"""``show --json``: one document whose key names are a contract (DESIGN §4)."""

from typing import Any

from paceline.analysis.summary import CellSummary
from paceline.analysis.verdicts import Judged
from paceline.report.view import RunView
from paceline.spec.metrics import METRICS, Better
from paceline.spec.records import SCHEMA_VERSION


def document(view: RunView) -> dict[str, Any]:
    """Return the whole run as plain values."""
    run = view.run
    return {
        "schema_version": SCHEMA_VERSION,
        "measuring_version": run.measuring_version,
        "suite": run.suite.name,
        "machine": run.machine.model_dump(mode="json"),
        "versions": run.versions,
        "conditions": run.conditions.policy.value,
        "seed": run.seed,
        "blocks": run.suite.blocks,
        "cells": [_cell(view, cell) for cell in view.cells],
        "verdicts": [_verdict(view, index, judged) for index, found in view.judged.items() for judged in found],
        "expectations": [finding.model_dump(mode="json") for finding in view.findings],
        "excluded_blocks": [
            {"comparison": comparison, "block": block, "reasons": reasons}
            for (comparison, block), reasons in view.excluded.items()
        ],
        "notes": list(run.notes),
    }


def _verdict(view: RunView, index: int, judged: Judged) -> dict[str, Any]:
    """Return one verdict; ratios are of the metric, a / b, as everywhere in the document."""
    comparison, said = view.run.suite.comparisons[index], judged.verdict
    ratio, low, high = said.ratio, said.low, said.high
    if METRICS[judged.metric].better is Better.HIGHER:
        ratio, low, high = _inverse(ratio), _inverse(high), _inverse(low)
    return {
        "category": comparison.category.value,
        "workload": comparison.workload,
        "comparison": index,
        "metric": judged.metric,
        "a": judged.engine,
        "b": judged.against,
        "verdict": said.word.value,
        "ratio": ratio,
        "low": low,
        "high": high,
        "confidence": said.confidence,
        "blocks": said.blocks,
        "blocks_won": said.won,
        "blocks_needed": judged.blocks_needed,
        "dispersion": judged.dispersion.model_dump(mode="json") if judged.dispersion else None,
        "rank": judged.rank.model_dump(mode="json") if judged.rank else None,
        "reference_rank": judged.reference_rank.model_dump(mode="json") if judged.reference_rank else None,
        "margin": said.margin,
        "note": said.note,
    }


def _inverse(ratio: float | None) -> float | None:
    return None if ratio is None else 1 / ratio


def _cell(view: RunView, summary: CellSummary) -> dict[str, Any]:
    cell = summary.cell
    return {
        "id": cell.id,
        "category": cell.category.value,
        "workload": cell.workload,
        "tier": cell.tier,
        "data": cell.data,
        "dataset": cell.dataset,
        "recipe": cell.recipe.value,
        "engine": str(cell.engine),
        "ranks": cell.ranks,
        "micro_batch": cell.micro_batch,
        "accumulation": cell.accumulation,
        "global_batch": cell.global_batch,
        "steps": cell.steps,
        "warm_up_steps": cell.warm_up_steps,
        "load": {"jobs": cell.load.jobs, "arrival": cell.load.arrival},
        "scheduler": summary.scheduler,
        "status": summary.status.value if summary.status else None,
        "cause": summary.cause,
        "trials": {
            "ok": summary.ok,
            "failed": summary.failed,
            "planned": summary.planned,
            "excluded": summary.excluded,
        },
        "same_work": view.work[cell.id].model_dump(mode="json"),
        "same_conditions": view.conditions[cell.id].model_dump(mode="json"),
        "metrics": {name: spread.model_dump(mode="json") for name, spread in summary.metrics.items()},
        "phases_s": summary.phases_s,
        "flags": summary.flags,
    }
