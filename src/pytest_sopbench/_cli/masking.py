"""What the project around a command masks, for what was never a part of a session."""

from __future__ import annotations

import os
from typing import TYPE_CHECKING

from .app import project, refuse

if TYPE_CHECKING:
    from pytest_sopbench._core.records.redaction import Redaction

_ENV = "env:"
"""Begins what names a variable of the environment in `sop_redact`."""


def project_redaction() -> Redaction:
    """Return what the project masks, for what was never a part of the session."""
    from pytest_sopbench._core.hiding.secrets import secrets_of
    from pytest_sopbench._core.records.redaction import Redaction
    from pytest_sopbench._core.values.patterns import PatternError, linear_pattern

    words = project().words("sop_redact")
    named = (os.environ.get(one.removeprefix(_ENV), "") for one in words if one.startswith(_ENV))
    try:
        patterns = tuple(linear_pattern(one) for one in words if not one.startswith(_ENV))
    except PatternError as fault:
        refuse(f"sop_redact: not a regular expression that can be used: {fault}")
    return Redaction(patterns=patterns, secrets=secrets_of(named))
