"""What names one run, and what stands for a value that must not be shown."""

from __future__ import annotations

from typing import NamedTuple

MASK = "***"
"""What stands in every output for the value of a private column."""


class RunKey(NamedTuple):
    """What makes a run this run and no other: one agent on one task, once."""

    domain: str
    task: str
    trial: int = 1
    agent: str = ""
