"""What the configuration and the command line say, as text, before any option means anything.

Four parts: the words of an ini value; a reader's complaint about such a word; whether somebody
relies on a gate; and the option `--agent`. `plugin` reads them also if there is no SOP test.
"""

from __future__ import annotations

import os
import shlex
from collections.abc import Generator, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from typing import Final, cast

import pytest

from pytest_sopbench._settings.table import AGENT_OPTION, SPECS, unsplit
from pytest_sopbench.errors import ExtensionError

# Ini values as text, whichever way a project writes them.
#
# pytest gives back `sop_max_calls = 50` as text from `pytest.ini` and from the `ini_options` table
# of `pyproject.toml`; in its native TOML tables the same line is a number, which it refuses for a
# text or list option. Then the file is read here.


def ini_values(config: pytest.Config, name: str) -> tuple[str, ...]:
    """Return the words of one ini value; no words if it is not set.

    Raises:
        pytest.UsageError: a quote or a backslash in it stands alone.
    """
    try:
        words = cast("list[str]", config.getini(name))
    except (TypeError, ValueError, pytest.UsageError) as fault:
        # pytest 9 wraps both; an error of the value is one of its text, not of its type.
        cause = fault.__cause__ or fault
        if isinstance(cause, ValueError):
            raise pytest.UsageError(unsplit(name, cause, config.inipath)) from None
        words = _native(config.inipath, name)
    return tuple(words)


def one_word(config: pytest.Config, name: str, words: Sequence[str]) -> str:
    """Return the only one of some words.

    Raises:
        pytest.UsageError: there are more.
    """
    if len(words) > 1:
        msg = f"{config.inipath}: {name}: one value expected, got {' '.join(words)!r}"
        raise pytest.UsageError(msg)
    return words[0]


def _native(path: Path | None, name: str) -> list[str]:
    import tomllib

    if path is None:
        return []
    document = tomllib.loads(path.read_text("utf-8"))
    table = document.get("tool", {}).get("pytest", {}) if "tool" in document else document
    value = table.get("pytest", table).get(name, [])
    return [str(one) for one in value] if isinstance(value, list) else [str(value)]  # pyright: ignore[reportUnknownVariableType, reportUnknownArgumentType] - TOML has no types


# The complaint of a reader of texts, as an error of usage that names what set the text.


@contextmanager
def refusing(source: str, sign: str = "=") -> Generator[None, None, None]:
    """Turn the complaint of a reader into one that names what set the value."""
    try:
        yield
    except (ValueError, ExtensionError) as fault:
        msg = f"{source}{sign}{fault}"
        raise pytest.UsageError(msg) from None


# Whether somebody relies on a gate: who types one, and CI, must never take silence for a pass.

FAIL_UNDER: Final = "sop_fail_under"
GATE: Final = "sop_gate"
NOTHING_ASKED: Final = "no test asked for a run of an agent"
SET_UP_FAILED: Final = "the set-up of a test failed before it asked for a run of an agent"
NOT_CHECKED: Final = "sop: {}, so the gate of the configuration was not checked"
"""What a session says that has a gate of the configuration and no SOP test that was run."""
UNDECIDED: Final = "the session was ended with status 0 before it was over"
"""What is said if a status of 0 tells nothing."""
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
    replaced: Sequence[str] = config.getoption("override_ini", None) or ()
    overridden = [one.partition("=")[0].strip() for one in replaced]
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


def _has(words: Sequence[str], option: str) -> bool:
    return any(word == option or word.startswith(f"{option}=") for word in words)


# `--agent`, the short spelling of `--sop-agent`, which any other plugin may have instead.


def is_free(parser: pytest.Parser) -> bool:
    """Tell whether no plugin and no conftest has taken the option so far."""
    probe = f"{AGENT_OPTION}=probe"
    try:
        return probe in parser.parse_known_and_unknown_args([probe])[1]
    except pytest.UsageError:
        # Another plugin has it, as a flag or with a few values of its own.
        return False


def glue_agent(args: list[str]) -> None:
    """Write the option and its value as one word, which cannot pass for a test path."""
    place = 0
    while place + 1 < len(args):
        if args[place] == "--":
            return
        if args[place] == AGENT_OPTION and not args[place + 1].startswith("-"):
            args[place : place + 2] = [f"{AGENT_OPTION}={args[place + 1]}"]
        place += 1


def add_agent(parser: pytest.Parser) -> None:
    """Take the option."""
    group, agent = parser.getgroup("sop"), SPECS["sop_agent"]
    group.addoption(
        AGENT_OPTION,
        dest=agent.name,
        action="append",
        metavar=agent.metavar,
        help=f"same as {agent.option}",
    )
