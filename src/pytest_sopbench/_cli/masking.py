"""What the project around a command masks, for what was never a part of a session."""

from __future__ import annotations

import os
from collections.abc import Iterator, Sequence
from typing import TYPE_CHECKING

from .app import project, refuse, tell

if TYPE_CHECKING:
    from pytest_sopbench._core.records.redaction import Redaction


def project_redaction(agent_args: Sequence[str] = ()) -> Redaction:
    """Return what the project masks, for what was never a part of the session.

    A variable may be missing where nothing is run. What it would mask is then told, and no error:
    sessions are masked already, and often they are read where the key is not. `agent_args` are
    those of a session, as `KEY=VALUE`.
    """
    from pytest_sopbench._core.hiding.secrets import secrets_of
    from pytest_sopbench._core.records.redaction import Redaction
    from pytest_sopbench._core.values.patterns import PatternError, linear_pattern
    from pytest_sopbench._settings.secret_values import ENV

    words = project().words("sop_redact")
    try:
        patterns = tuple(linear_pattern(one) for one in words if not one.startswith(ENV))
    except PatternError as fault:
        refuse(f"sop_redact: not a regular expression that can be used: {fault}")
    named = [one.removeprefix(ENV) for one in words if one.startswith(ENV)]
    if missing := [name for name in named if name not in os.environ]:
        tell(f"sop_redact: not set here: {', '.join(missing)}; what it names is not looked for")
    held = [os.environ.get(name, "") for name in named]
    return Redaction(patterns=patterns, secrets=secrets_of([*held, *_unnamed(agent_args)]))


def _unnamed(agent_args: Sequence[str]) -> Iterator[str]:
    from pytest_sopbench._settings.secret_values import held_by_variables, passwords_of

    settings = (*agent_args, *project().words("sop_judge"))
    yield from (held for _, held in held_by_variables(settings, os.environ))
    yield from passwords_of(settings, os.environ)
