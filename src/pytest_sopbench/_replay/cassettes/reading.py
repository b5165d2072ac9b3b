"""The bytes of a file that may have been put there by anybody."""

from __future__ import annotations

from errno import EINVAL
from pathlib import Path


def read_file(path: Path) -> bytes:
    """Return the content of a file.

    Raises:
        OSError: it cannot be read. A pipe or a device is none: nobody knows whether it ends.
    """
    if path.exists() and not path.is_file():
        raise OSError(EINVAL, "no regular file")
    return path.read_bytes()
