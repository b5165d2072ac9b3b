"""The names of the gates that need a baseline; knowing them loads no comparison."""

from __future__ import annotations

from typing import Final

LOST: Final = "lost"
DROP: Final = "drop"
P: Final = "p"
COMPARISON_GATES: Final = (LOST, DROP, P)
"""The gates that need a baseline; the bound of `lost` is a number of tasks."""
