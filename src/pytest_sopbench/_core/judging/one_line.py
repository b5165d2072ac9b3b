"""Say a reason in one line."""

from __future__ import annotations

from typing import Final

from pytest_sopbench._core.hiding.masking import ready_to_cut

REASON_LIMIT: Final = 160


def one_line(words: str) -> str:
    """Return words without line ends, and cut."""
    line = " ".join(ready_to_cut(words)[: 4 * REASON_LIMIT].split())
    return line if len(line) <= REASON_LIMIT else f"{line[: REASON_LIMIT - 3]}..."
