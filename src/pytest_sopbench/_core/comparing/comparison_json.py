"""A comparison as JSON, for machines: what the terminal shows, and all tasks by name."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import asdict
from typing import Any

from pytest_sopbench._core.metrics.counts.document_counts import documents_to_json
from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.model.keys import TaskKey

from .changes import Change
from .comparison import GroupComparison, SessionComparison


def comparison_to_json(comparison: SessionComparison) -> dict[str, Any]:
    """Return all groups and the pooled tasks; what is unknown is `None`, JSON's `null`.

    Where agents are told apart nothing is pooled over them: `agents` pools the domains of each.
    """
    found: dict[str, Any] = {
        "baseline": comparison.pooled.name,
        "groups": {name: _group(one) for name, one in comparison.groups.items()},
        "setups": [asdict(one) for one in comparison.setups],
    }
    if not comparison.has_agents:
        return {**found, "pooled": _group(comparison.pooled)}
    agents = {agent: _group(one) for agent, one in comparison.agents.items()}
    return {**found, "pooled": None, "agents": agents}


def _group(one: GroupComparison) -> dict[str, Any]:
    return {
        "tier": one.tier.value,
        "why": one.why,
        "doubt": one.doubt,
        "lost": [_task(key) for key in one.lost],
        "gained": [_task(key) for key in one.gained],
        "paired": one.paired,
        "discordant": one.discordant,
        "worse": one.worse,
        "needed": one.needed,
        "aside": [{**_task(key), "why": why.value} for key, why in one.aside.items()],
        "not_correct": [_task(key) for key in one.not_correct],
        "left_out": one.left_out,
        "may_fail": [_task(key) for key in one.may_fail],
        "test": asdict(one.test),
        "changes": {name: _change(change) for name, change in one.changes.items()},
        "kinds": [
            {"before": was.value, "now": now.value, "tasks": number}
            for (was, now), number in one.kinds.items()
        ],
        "fields": [asdict(field) for field in one.fields],
        "scores": [asdict(score) for score in one.scores],
        "collapses": [asdict(collapse) for collapse in one.collapses],
        "ended_collapses": [asdict(collapse) for collapse in one.ended_collapses],
        "before": _side(one.baseline),
        "now": _side(one.current),
    }


def _task(key: TaskKey) -> dict[str, str]:
    named = {"domain": key.domain, "task": key.task}
    return {**named, "agent": key.agent} if key.agent else named


def _change(change: Change) -> dict[str, Any]:
    return {
        "before": change.before,
        "now": change.after,
        "difference": change.difference,
        "bounds": list(change.bounds) if change.bounds else None,
        "method": change.method,
    }


def _side(summary: Summary) -> Mapping[str, Any]:
    usage = {name: amount.mean for name, amount in summary.usage.items()}
    return {
        "runs": summary.runs,
        "correct": summary.correct,
        "completed": summary.completed,
        "latency_median_s": summary.latency_median,
        "calls_per_run": summary.calls_per_run,
        "usage_per_run": usage,
        "cost_per_correct": summary.cost_per_correct,
        **({"documents": documents_to_json(summary.documents)} if summary.documents.runs else {}),
    }
