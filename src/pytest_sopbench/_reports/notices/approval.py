"""What `sopbench approve` says of what it did and did not."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence

from pytest_sopbench._reports.text.layout import one_line, packed
from pytest_sopbench._reports.text.numbers import counted


def approval_lines(
    written: Sequence[str],
    unchanged: Sequence[str],
    refused: Mapping[str, str],
    *,
    folder: str,
) -> Iterator[str]:
    """Name each task that was approved, and each that was not with its reason."""
    first = f"{len(written)} approved in {folder}{':' if written else ''}"
    yield from packed(first, map(one_line, written), gap=" ", indent=2)
    if unchanged:
        yield f"{len(unchanged)} approved already"
    if refused:
        yield f"{len(refused)} not approved"
        yield from (one_line(f"  {task}: {why}") for task, why in refused.items())


def unplaced_lines(said: Sequence[str]) -> Iterator[str]:
    """Say what stands among the snapshots without a task; nobody removes it unasked."""
    if said:
        yield f"{counted(len(said), 'entry', 'entries')} without a task, left as before"
        yield from (one_line(f"  {one}") for one in said)
