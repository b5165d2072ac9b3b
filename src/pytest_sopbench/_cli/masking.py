"""What the project around a command masks, for what was never a part of a session."""

from __future__ import annotations

import os
from collections.abc import Sequence
from typing import TYPE_CHECKING

from .app import known_redaction, project, refuse, tell

if TYPE_CHECKING:
    from pytest_sopbench._core.records.redaction import Redaction


def project_redaction(agent_args: Sequence[str] = ()) -> Redaction:
    """Return what the project masks, for what was never a part of the session.

    A variable may be missing where nothing is run. What it would mask is then told, and no error:
    sessions are masked already, and often they are read where the key is not. `agent_args` are
    those of a session, as `KEY=VALUE`.
    """
    from pytest_sopbench._core.values.patterns import PatternError
    from pytest_sopbench._settings.secret_values import ENV

    words = project().words("sop_redact")
    named = [one.removeprefix(ENV) for one in words if one.startswith(ENV)]
    if missing := [name for name in named if name not in os.environ]:
        tell(f"sop_redact: not set here: {', '.join(missing)}; what it names is not looked for")
    try:
        return known_redaction(agent_args)
    except PatternError as fault:
        refuse(f"sop_redact: not a regular expression that can be used: {fault}")
