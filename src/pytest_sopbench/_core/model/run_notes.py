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

REPLAYED: Final = "replayed: every reply of a model is of"
"""How the note of a run begins that sent nothing; the day of its recording follows."""

NO_RECORDING: Final = "no recording:"
"""How the note of a run begins that sent what is not recorded; where it differs follows."""

MISSING: Final = "no recording"
"""The type of the problem of such a run; its message explains, line by line."""

UNUSED: Final = "its recording was not used:"
"""How the note of a run begins that has a recording, and of which no request was seen."""

EMPTY: Final = "no request is in it"
"""How that note ends where the recording has nothing to serve."""

CHANGES: Final = "changes with every run:"
"""How the note of a run begins that sent what no replay can find again; what to do follows."""

IGNORE: Final = "ignore"
MASK_IT: Final = "mask"

RECORDED: Final = "recorded:"
"""How the note of a run begins that was recorded; the number of its requests follows."""

NOT_KEPT: Final = "its recording was not replaced:"
"""How the note of a run begins that was to be recorded, and did not end well."""

NOT_RECORDED: Final = "not recorded:"
"""How the note of a run begins whose recording cannot be written."""

NOT_WHOLE: Final = "not whole:"
"""How the note of a recorded run begins that lost requests on the way."""

LOOP_LOST: Final = "made again: its event loop was blocked for good by"
"""How the note of a run begins that had to be made again since another agent blocked its loop."""
