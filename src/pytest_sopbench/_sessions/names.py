"""Where a session lies that is named on a command line."""

from __future__ import annotations

import os
import re
from pathlib import Path

from pytest_sopbench.errors import SessionFileError

SUFFIX = ".jsonl"
LAST = "last"
"""The name of the session that was written last."""

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def session_path(value: str, sessions_dir: Path) -> Path:
    """Return the file that a NAME or a path stands for.

    A value with a separator, or one that ends in `.jsonl`, is a path as it stands; any other is
    a name in `sessions_dir`.

    Raises:
        SessionFileError: the value is neither.
    """
    separators = {"/", os.sep, os.altsep or os.sep}
    if value.endswith(SUFFIX) or any(sign in value for sign in separators):
        return Path(value).expanduser()
    if not _NAME.fullmatch(value):
        msg = f"{value!r} is no name of a session"
        hint = "use letters, digits, '.', '_' and '-', or a path with a '/'"
        raise SessionFileError(msg, hint=hint)
    return sessions_dir / f"{value}{SUFFIX}"
