"""Whether somebody relies on a gate: who types one, and CI, must never take silence for a pass."""

from __future__ import annotations

import os
import shlex
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

import pytest

from .ini import ini_values

FAIL_UNDER: Final = "sop_fail_under"
GATE: Final = "sop_gate"
NOT_ASKED: Final = (
    "sop: no test asked for a run of an agent, so the gate of the configuration was not checked"
)
"""What a session says that has a gate of the configuration and no SOP test."""
UNDECIDED: Final = "the session was ended with status 0 before it was over"
"""What is said where a status of 0 tells nothing."""
_NO: Final = frozenset({"", "0", "false"})


def is_ci(environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether this runs in CI, where nobody reads what a green session says."""
    return environment.get("CI", "").strip().lower() not in _NO


def types_gate(config: pytest.Config, environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether a gate in use was typed for this session.

    `PYTEST_ADDOPTS` and `-o sop_gate=...` are typed as well; ini values and `addopts` of the
    configuration are not.
    """
    fail_under: str | None = config.getoption(FAIL_UNDER)
    gates: Sequence[str] | None = config.getoption(GATE)
    given = {FAIL_UNDER: [fail_under] if fail_under else [], GATE: gates or []}
    typed = [*typed_words(config, environment)]
    configured = [*ini_values(config, "addopts")]
    overridden = [*_overridden(config)]
    for name, values in given.items():
        option = f"--{name.replace('_', '-')}"
        # What stands in no `addopts` of a file came with this session: by a file `@args`, say.
        is_typed = _has(typed, option) or "addopts" in overridden or not _has(configured, option)
        if values and is_typed and {*values} - {"none"}:
            return True
        if not values and name in overridden and {*ini_values(config, name)} - {"none"}:
            return True
    return False


def relies_on_gate(config: pytest.Config, environment: Mapping[str, str] = os.environ) -> bool:
    """Tell whether a session that nobody could gate is no pass, by what was typed and set."""
    given: Sequence[str] = config.getoption(GATE) or ()
    asked = (config.getoption(FAIL_UNDER), *given, *ini_values(config, FAIL_UNDER))
    is_set = bool({*asked, *ini_values(config, GATE)} - {None, "none"})
    return is_set and (is_ci(environment) or types_gate(config, environment))


def typed_words(config: pytest.Config, environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the words of the command line, and those of the environment before them."""
    yield from shlex.split(environment.get("PYTEST_ADDOPTS", ""))
    yield from map(str, config.invocation_params.args)


def _overridden(config: pytest.Config) -> Iterator[str]:
    """Yield the ini values that `-o` replaces."""
    overrides: Sequence[str] | None = config.getoption("override_ini", None)
    for one in overrides or ():
        yield one.partition("=")[0].strip()


def _has(words: Sequence[str], option: str) -> bool:
    return any(word == option or word.startswith(f"{option}=") for word in words)
