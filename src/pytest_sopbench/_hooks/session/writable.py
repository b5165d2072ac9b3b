"""Whether what is asked for could be written, tried before a model is paid for."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path

import pytest

from pytest_sopbench._sessions.file.atomic import try_writing

from .session import SopSession


def check_writable(
    sop: SopSession, option: str, path: Path, attempt: Callable[[Path], None] = try_writing
) -> None:
    """Refuse a file that the disk does not take.

    Args:
        sop: the session.
        option: what asks for the file.
        path: the file.
        attempt: tries to write it as it will be written, and raises `OSError` where it cannot.

    Raises:
        pytest.UsageError: names the option, the file, and why.
    """
    try:
        attempt(path)
    except OSError as fault:
        why = fault.strerror or str(fault)
        msg = f"{option}: {sop.shown(path)} cannot be written: {why}\nname a place that can be"
        raise pytest.UsageError(msg) from None
