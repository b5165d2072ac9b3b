"""Runs that were replayed: they asked no model, so what they cost was spent before."""

from __future__ import annotations

from pytest_sopbench._core.model.run_notes import REPLAYED

from .record import RunRecord


def is_replayed(record: RunRecord) -> bool:
    """Tell whether every reply of a model came from a recording."""
    return any(note.startswith(REPLAYED) for note in record.notes)


def cost_now(record: RunRecord) -> float | None:
    """Return what a run has cost today; that of a replayed run was paid for by its recording."""
    return 0.0 if is_replayed(record) else record.usage.cost_usd
