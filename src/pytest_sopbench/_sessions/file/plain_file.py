"""What a path must stand for to be read: a pipe hangs its reader, and a device never ends."""

from __future__ import annotations

import errno
import stat
from pathlib import Path


def require_plain_file(path: Path) -> None:
    """Refuse what is no file on a disk; a folder is left to whoever opens it.

    Raises:
        OSError: it is a pipe, a socket or a device, or there is nothing.
    """
    mode = path.stat().st_mode
    if not (stat.S_ISREG(mode) or stat.S_ISDIR(mode)):
        raise OSError(errno.EINVAL, "it is a pipe or a device, and no file")
