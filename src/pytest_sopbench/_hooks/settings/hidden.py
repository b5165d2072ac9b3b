"""What must leave no process of a session: `sop_redact`, and what agent and judge are given."""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence
from dataclasses import dataclass

import pytest

from pytest_sopbench._core.hiding import SHORTEST, is_long_enough, secrets_of
from pytest_sopbench._core.records.redaction import NOTHING_REDACTED, Redaction
from pytest_sopbench._core.values.patterns import Pattern, PatternError, linear_pattern
from pytest_sopbench._hooks.settings.ini import ini_values
from pytest_sopbench._settings.readers import ENV, held_by_variables, passwords_of


@dataclass(frozen=True, slots=True, kw_only=True)
class Hidden:
    """What is masked; `open_arguments` of the agent come from variables too short to be."""

    redaction: Redaction = NOTHING_REDACTED
    open_arguments: tuple[str, ...] = ()


REDACTION = pytest.StashKey[Redaction]()
"""What is masked in this session, from when it is known: before every other option is read."""


def read_hidden(config: pytest.Config) -> Hidden:
    """Read what is to be masked.

    Raises:
        pytest.UsageError: a value of `sop_redact` means nothing, or its variable is not set.
    """
    hidden = hidden_of(
        ini_values(config, "sop_redact"),
        config.getoption("sop_agent_arg") or (),
        os.environ,
        judge=ini_values(config, "sop_judge"),
        # A worker may run on another machine; its controller has checked the variables.
        strict=not hasattr(config, "workerinput"),
    )
    config.stash[REDACTION] = hidden.redaction
    return hidden


def hidden_of(
    redact: Sequence[str],
    agent_args: Sequence[str],
    environment: Mapping[str, str],
    *,
    judge: Sequence[str] = (),
    strict: bool = True,
) -> Hidden:
    """Return what `sop_redact` names, and what nobody has to name.

    That is what variables hold that the agent and the judge are given, and passwords in addresses.
    """
    named = [one.removeprefix(ENV) for one in redact if one.startswith(ENV)]
    secrets = [_variable(name, environment, strict=strict) for name in named]
    given = dict(held_by_variables(agent_args, environment))
    secrets += [held for _, held in held_by_variables(judge, environment)]
    secrets += passwords_of([*agent_args, *judge], environment)
    patterns = (one for one in redact if not one.startswith(ENV))
    return Hidden(
        redaction=Redaction(
            patterns=tuple(compiled("sop_redact", one) for one in patterns),
            secrets=secrets_of([*secrets, *given.values()]),
        ),
        open_arguments=tuple(name for name, held in given.items() if not is_long_enough(held)),
    )


def compiled(option: str, pattern: str) -> Pattern:
    """Compile one regular expression of an ini value, which is matched in linear time."""
    try:
        found = linear_pattern(pattern)
    except PatternError as fault:
        msg = f"{option}={pattern}: not a regular expression that can be used: {fault}"
        raise pytest.UsageError(msg) from None
    if len(pattern) > 1 and pattern[0] == pattern[-1] and pattern[0] in "'\"":
        # Quotes would be part of the pattern, which would match nothing.
        msg = f"{option}={pattern}: write the pattern without quotes, one on a line"
        raise pytest.UsageError(msg)
    if found.fullmatch(""):
        msg = f"{option}={pattern}: it matches nothing at all, and so everywhere"
        raise pytest.UsageError(msg)
    return found


def _variable(name: str, environment: Mapping[str, str], *, strict: bool) -> str:
    if not name.isidentifier():
        msg = f"sop_redact={ENV}{name}: write env:NAME, each on a line of its own"
        raise pytest.UsageError(msg)
    if name not in environment and strict:
        msg = (
            f"sop_redact={ENV}{name}: the environment has no variable {name!r}\n"
            "correct the name, or set it; an empty one holds nothing to be masked"
        )
        raise pytest.UsageError(msg)
    secret = environment.get(name, "")
    if secret.strip() and not is_long_enough(secret):
        msg = (
            f"sop_redact={ENV}{name}: it holds fewer than {SHORTEST} characters, which stand "
            "everywhere by chance\nwrite a pattern that says where the secret stands"
        )
        raise pytest.UsageError(msg)
    return secret
