"""Files that appear whole or not at all."""

from __future__ import annotations

import itertools
import os
from contextlib import suppress
from pathlib import Path

_NUMBERS = itertools.count()
# Taken at import: an agent may put another function into its place.
_getpid = os.getpid


def write_whole(path: Path, content: bytes) -> None:
    """Write a file beside its place, and rename it into that in one step.

    Raises:
        OSError: the disk did not take it; what was there is there as before.
    """
    path.parent.mkdir(parents=True, exist_ok=True)
    # Short, whatever the file is called: the name of a task may be as long as a name can be.
    aside = path.with_name(f".{_getpid()}.{next(_NUMBERS)}.tmp")
    try:
        with aside.open("wb") as file:
            file.write(content)
            file.flush()
            os.fsync(file.fileno())
        aside.replace(path)
    except BaseException:
        with suppress(OSError):
            aside.unlink(missing_ok=True)
        raise
