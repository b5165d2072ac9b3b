"""Gates on single output fields: `field:refund`, and `field:*` for each of them."""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence
from typing import Final

from pytest_sopbench._core.metrics.summary import Summary

FIELD: Final = "field:"
"""How the name of such a gate begins; the name of the field follows."""

EVERY: Final = "*"
"""The field that stands for each of them."""


def split_field(asked: str) -> tuple[str, str] | None:
    """Split `[DOMAIN:]field:NAME` into domain and gate; `None` where it is something else."""
    if asked.startswith(FIELD):
        domain, name = "", asked.removeprefix(FIELD)
    else:
        domain, colon, name = asked.partition(f":{FIELD}")
        if not colon:
            return None
    return (domain, f"{FIELD}{name}") if name else None


def is_field_gate(name: str) -> bool:
    """Tell whether a gate asks of a field."""
    return name.startswith(FIELD)


def gates_in(
    name: str, groups: Collection[str], summaries: Mapping[str, Summary], *, by_domain: bool
) -> Sequence[str]:
    """Return the gates that one stands for in some groups of runs; none where it is not meant.

    Of all domains together nothing is asked: fields of the same name are others there. A gate
    without a domain is asked of those domains that have the field; one that nobody has is asked
    everywhere, and never left out.
    """
    if len(groups) > 1:
        return ()
    here = {field for group in groups for field in summaries[group].by_field}
    if name == f"{FIELD}{EVERY}":
        order = [field for group in groups for field in summaries[group].by_field]
        return [f"{FIELD}{field}" for field in order] or [name]
    field = name.removeprefix(FIELD)
    elsewhere = any(field in one.by_field for one in summaries.values())
    return () if field not in here and elsewhere and not by_domain else [name]


def field_counts(name: str, summary: Summary) -> tuple[int, int]:
    """Return in how many runs a field is right, and of how many."""
    counts = summary.by_field.get(name.removeprefix(FIELD))
    return (counts.right, counts.runs) if counts else (0, 0)


def no_such_field(name: str, summary: Summary) -> str:
    """Say that the runs have no such field, or nothing."""
    if not is_field_gate(name) or name.removeprefix(FIELD) in summary.by_field:
        return ""
    fields = ", ".join(summary.by_field)
    if not fields:
        return "the answers have no output fields"
    return f"no output field has this name (fields: {fields})"
