"""Notes of a trace that reports count: how a run went, beside how it ended."""

from __future__ import annotations

from typing import Final

GOES_ON: Final = "abandoned: its thread cannot be stopped, and may go on calling models"
"""Of a run that was ended, and whose agent was not."""

ATTEMPT: Final = "attempt"
"""How the note of a run begins that was made again."""

NOBODY_KNOWS: Final = (
    "its worker died with others in flight, and it was not made again: "
    "whether it ended the worker is unknown"
)
"""Of a run that may have ended its worker, or may have gone down with it."""

STOOD_STILL: Final = "the process stood still for"
"""How the note of a run begins during which nothing in the process could go on."""

HELD: Final = "held its event loop for"
"""What stands in the note of a run that another agent kept from its work."""

LOOP_LOST: Final = "made again: its event loop was blocked for good by"
"""How the note of a run begins that had to be made again since another agent blocked its loop."""
