"""What the terminal says of snapshots: what was not approved, and what is left over."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_sopbench._reports.text.layout import WIDTH, cut, one_line
from pytest_sopbench._reports.text.numbers import counted

LIMIT = 20
"""Tasks that are named one by one."""


def not_approved_lines(reasons: Mapping[str, str]) -> Iterator[str]:
    """Name the tasks whose snapshots stay as they were, by `DOMAIN/TASK`, each with its reason."""
    if not reasons:
        return
    yield f"{len(reasons)} not approved; what was approved before stays as it was"
    for task, why in list(reasons.items())[:LIMIT]:
        yield cut(one_line(f"  {task}: {why}"), WIDTH)
    yield from _more(len(reasons))


def leftover_lines(tasks: Sequence[str], *, deleted: bool) -> Iterator[str]:
    """Name the snapshots whose tasks their domains do not have, by `DOMAIN/TASK`."""
    if not tasks:
        return
    count = counted(len(tasks), "unused snapshot")
    yield f"{count} deleted" if deleted else f"{count}: the domain has no such task"
    for task in tasks[:LIMIT]:
        yield cut(one_line(f"  {task}"), WIDTH)
    yield from _more(len(tasks))
    if not deleted:
        yield "pytest --snapshot-update deletes what is unused"


def unasked_lines(domains: Sequence[str], folder: str) -> Iterator[str]:
    """Name the domains that have snapshots here, and that no test of the session asked for."""
    for domain in domains:
        yield f"no test asks for the snapshots of {one_line(domain)}; if the domain is gone,"
        yield f"  delete them in {folder}"


def _more(count: int) -> Iterator[str]:
    if count > LIMIT:
        yield f"  and {count - LIMIT} more"
