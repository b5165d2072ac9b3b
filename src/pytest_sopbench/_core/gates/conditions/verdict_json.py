"""The verdict on a gate as JSON, for machines."""

from __future__ import annotations

from .summary_gates import GateVerdict


def verdict_to_json(one: GateVerdict) -> dict[str, str | float | None]:
    """Return what was asked and what was got, as a number (`None` is unknown) and as a text."""
    return {
        "where": one.where,
        "asked": one.asked,
        "got": one.value,
        "got_text": one.got,
        "state": one.state.value,
        "why": one.why,
        "part": one.part,
    }
