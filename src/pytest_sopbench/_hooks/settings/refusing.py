"""The complaint of a reader of texts, as an error of usage that names what set the text."""

from __future__ import annotations

from collections.abc import Generator
from contextlib import contextmanager

import pytest

from pytest_sopbench.errors import ExtensionError


@contextmanager
def refusing(source: str, sign: str = "=") -> Generator[None, None, None]:
    """Turn the complaint of a reader into one that names what set the value."""
    try:
        yield
    except (ValueError, ExtensionError) as fault:
        msg = f"{source}{sign}{fault}"
        raise pytest.UsageError(msg) from None
