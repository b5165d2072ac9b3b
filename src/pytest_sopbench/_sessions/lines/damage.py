"""Lines of a saved session that are not what was written, and what is said of them."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_sopbench._core.model.keys import RunKey

SHOWN: Final = 10
"""How many damaged lines are named; a file may have as many as it has lines."""

CHANGED: Final = "its checksum is of another content, or of another session"
UNSEALED: Final = "it has no checksum"


@dataclass(frozen=True, slots=True, kw_only=True)
class DamagedLine:
    """A line that says nothing any more; `run` is whose it seems to have been, where that shows."""

    number: int
    why: str
    run: RunKey | None = None


def damage_lines(path: Path, damaged: Sequence[DamagedLine]) -> Iterator[str]:
    """Yield a sentence for each of the first damaged lines, and count the others."""
    for one in damaged[:SHOWN]:
        of = f" (the run of {run_name(one.run)})" if one.run is not None else ""
        yield f"{path}, line {one.number}: damaged, and left out{of}: {one.why}"
    if len(damaged) > SHOWN:
        yield f"{path}: {len(damaged) - SHOWN} more lines are damaged, and left out"


def run_name(key: RunKey) -> str:
    """Name a run as users do: `refunds/T1`, with its trial where that is not the first."""
    trial = f" (trial {key.trial})" if key.trial > 1 else ""
    return f"{key.domain}/{key.task}{trial}"


def some_runs(keys: Sequence[RunKey], shown: int = 3) -> str:
    """Name the first of some runs, and count the others."""
    more = f" and {len(keys) - shown} more" if len(keys) > shown else ""
    return f"{', '.join(map(run_name, keys[:shown]))}{more}"
