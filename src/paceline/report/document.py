"""``show --json``: one document whose key names are a contract (README, docs/run-directory.md)."""

from typing import Any

from paceline.analysis.whole_run.comparison_verdicts import EngineVerdict
from paceline.analysis.whole_run.summary import CellSummary
from paceline.analysis.whole_run.view import RunView
from paceline.schema.metrics import METRICS, Better
from paceline.schema.records import SCHEMA_VERSION


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
        "cells": [_cell(view, row) for row in view.rows],
        "verdicts": [_verdict(view, index, each) for index, found in view.verdicts.items() for each in found],
        "expectations": [checked.model_dump(mode="json") for checked in view.expectations],
        "excluded_blocks": [
            {"comparison": comparison, "block": block, "reasons": reasons}
            for (comparison, block), reasons in view.excluded.items()
        ],
        "notes": list(run.notes),
    }


def _verdict(view: RunView, index: int, each: EngineVerdict) -> dict[str, Any]:
    """Return one verdict; ratios are of the metric, a / b, as everywhere in the document."""
    comparison, said = view.run.suite.comparisons[index], each.verdict
    ratio, low, high = said.ratio, said.low, said.high
    if METRICS[each.metric].better is Better.HIGHER:
        ratio, low, high = _inverse(ratio), _inverse(high), _inverse(low)
    return {
        "category": comparison.category.value,
        "workload": comparison.workload,
        "comparison": index,
        "metric": each.metric,
        "a": each.engine,
        "b": each.against,
        "verdict": said.word.value,
        "ratio": ratio,
        "low": low,
        "high": high,
        "confidence": said.confidence,
        "blocks": said.blocks,
        "blocks_won": said.won,
        "blocks_needed": each.blocks_needed,
        "dispersion": each.dispersion.model_dump(mode="json") if each.dispersion else None,
        "rank": each.rank.model_dump(mode="json") if each.rank else None,
        "reference_rank": each.reference_rank.model_dump(mode="json") if each.reference_rank else None,
        "margin": said.margin,
        "note": said.note,
    }


def _inverse(ratio: float | None) -> float | None:
    return None if ratio is None else 1 / ratio


def _cell(view: RunView, row: CellSummary) -> dict[str, Any]:
    cell = row.cell
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
        "scheduler": row.scheduler,
        "status": row.status.value if row.status else None,
        "cause": row.cause,
        "trials": {
            "ok": row.ok,
            "failed": row.failed,
            "planned": row.planned,
            "excluded": row.excluded,
        },
        "same_work": view.work[cell.id].model_dump(mode="json"),
        "same_conditions": view.conditions[cell.id].model_dump(mode="json"),
        "metrics": {name: spread.model_dump(mode="json") for name, spread in row.metrics.items()},
        "phases_s": row.phases_s,
        "flags": row.flags,
    }
