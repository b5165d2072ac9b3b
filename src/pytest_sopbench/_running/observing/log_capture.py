"""File the log records of a run with the run's own output, and keep them from others' items.

As for the streams, the ContextVar of the run decides, so that threads which carry a run's context
are the run's own. Records of loggers that do not propagate never come here.
"""

from __future__ import annotations

import logging
from typing import Any, Final

from .capture import current_output, is_kept_apart

LOG_FORMAT: Final = "%(levelname)-8s %(name)s:%(filename)s:%(lineno)d %(message)s"
"""How a record is written: pytest's own default."""


class RunLogHandler(logging.Handler):
    """For the root logger: writes each record into the output of the run that it comes from."""

    def __init__(self) -> None:
        super().__init__()
        self.setFormatter(logging.Formatter(LOG_FORMAT))

    def createLock(self) -> None:  # noqa: N802 - the name is logging's
        # Outputs have locks of their own, and a record whose text hangs must not stop all runs.
        self.lock = None

    def handle(self, record: logging.LogRecord) -> Any:
        # From Python 3.13 on, logging's own enters the lock without asking whether there is one.
        kept: Any = self.filter(record)
        if isinstance(kept, logging.LogRecord):
            record = kept
        if kept:
            self.emit(record)
        return kept

    def emit(self, record: logging.LogRecord) -> None:
        output = current_output()
        if output is None:
            return
        try:
            output.write(f"{self.format(record)}\n")
        except Exception:  # noqa: BLE001 - an agent's own values are put into the text
            self.handleError(record)


def is_shown(record: logging.LogRecord) -> bool:
    """Filter for handlers that belong to an item: no record of a run that is kept apart."""
    del record
    return not is_kept_apart()
