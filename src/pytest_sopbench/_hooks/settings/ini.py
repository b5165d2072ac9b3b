"""Ini values as text, whichever way a project writes them.

pytest gives back `sop_max_calls = 50` as text from `pytest.ini` and from the `ini_options` table
of `pyproject.toml`; in its native TOML tables the same line is a number, which it refuses for a
text or list option. Then the file is read here.
"""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path
from typing import cast

import pytest


def ini_values(config: pytest.Config, name: str) -> tuple[str, ...]:
    """Return the words of one ini value; no words where it is not set.

    Raises:
        pytest.UsageError: a quote or a backslash in it stands alone.
    """
    try:
        words = cast("list[str]", config.getini(name))
    except (TypeError, ValueError, pytest.UsageError) as fault:
        # pytest 9 wraps both; an error of the value is one of its text, not of its type.
        cause = fault.__cause__ or fault
        if isinstance(cause, ValueError):
            from pytest_sopbench._settings.project_file import unsplit

            raise pytest.UsageError(unsplit(name, cause, config.inipath)) from None
        words = _native(config.inipath, name)
    return tuple(words)


def ini_value(config: pytest.Config, name: str) -> str | None:
    """Return the one word of an ini value, or `None` where it is not set.

    Raises:
        pytest.UsageError: it has more than one word.
    """
    words = ini_values(config, name)
    return one_word(config, name, words) if words else None


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
