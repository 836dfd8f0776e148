"""``show --json``: one document whose key names are a contract (README, docs/run-directory.md)."""

from typing import Any

from paceline.analysis.whole_run.comparison_verdicts import EngineVerdict
from paceline.analysis.whole_run.summary import CellSummary
from paceline.analysis.whole_run.view import RunView
from paceline.schema.metrics import METRICS, Better
from paceline.schema.records import SCHEMA_VERSION


def document(view: RunView) -> dict[str, Any]:
    """Return the whole run as plain values, ready for JSON."""
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
        "verdicts": [_verdict(view, index, pair) for index, pairs in view.verdicts.items() for pair in pairs],
        "expectations": [checked.model_dump(mode="json") for checked in view.expectations],
        "excluded_blocks": [
            {"comparison": comparison, "block": block, "reasons": reasons}
            for (comparison, block), reasons in view.excluded.items()
        ],
        "notes": list(run.notes),
    }


def _verdict(view: RunView, index: int, pair: EngineVerdict) -> dict[str, Any]:
    """Return one verdict. Its ratios are of the metric, a / b, as everywhere in the document, not of times."""
    definition, verdict = view.run.suite.comparisons[index], pair.verdict
    ratio, low, high = verdict.ratio, verdict.low, verdict.high
    if METRICS[pair.metric].better is Better.HIGHER:
        ratio, low, high = _inverse(ratio), _inverse(high), _inverse(low)
    return {
        "category": definition.category.value,
        "workload": definition.workload,
        "comparison": index,
        "metric": pair.metric,
        "a": pair.engine,
        "b": pair.against,
        "verdict": verdict.word.value,
        "ratio": ratio,
        "low": low,
        "high": high,
        "confidence": verdict.confidence,
        "blocks": verdict.blocks,
        "blocks_won": verdict.won,
        "blocks_needed": pair.blocks_needed,
        "dispersion": pair.dispersion.model_dump(mode="json") if pair.dispersion else None,
        "rank": pair.rank.model_dump(mode="json") if pair.rank else None,
        "reference_rank": pair.reference_rank.model_dump(mode="json") if pair.reference_rank else None,
        "margin": verdict.margin,
        "note": verdict.note,
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
