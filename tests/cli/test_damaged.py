"""No command ends with 0 by what it read of a damaged session, or counted of one without an end."""

from __future__ import annotations

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

Sopbench = Callable[..., Result]
Save = Callable[..., Path]
Make = Callable[..., Any]


def flipped(lines: list[bytes], at: int) -> list[bytes]:
    line = bytearray(lines[at])
    line[len(line) // 2] ^= 1
    return [*lines[:at], bytes(line), *lines[at + 1 :]]


DAMAGES: dict[str, Callable[[list[bytes]], list[bytes]]] = {
    "a bit of a run": lambda lines: flipped(lines, 1),
    "a bit of the end": lambda lines: flipped(lines, len(lines) - 1),
    "a lost run": lambda lines: [lines[0], *lines[2:]],
    "a run twice": lambda lines: [*lines[:2], lines[1].replace(b"correct", b"wrong"), *lines[2:]],
}
SHOWING = {
    "show": ("show", "now"),
    "show a task": ("show", "now", "T2"),
    "explain": ("show", "now", "refunds/T2", "--explain"),
    "report": ("report", "now", "--to=md=page.md"),
    "report beside": ("report", "base", "--baseline", "now", "--to=md=page.md"),
}
COUNTING = {
    "compare": ("compare", "base", "now"),
    "compare with it": ("compare", "now", "base"),
    "compare several": ("compare", "base", "now", "base"),
    "compare as json": ("compare", "base", "now", "--json"),
    "flaky": ("compare", "--flaky", "base", "now"),
    "gate": ("gate", "now", "--fail-under=0.1"),
    "gate beside": ("gate", "base", "--gate", "lost=9", "--compare", "now"),
}
MAKING = {
    "rescore": ("rescore", "now", "--scoring=exact", "--out", "new"),
    "merge": ("merge", "now", "--out", "new"),
}


@pytest.fixture
def damage(save: Save, runs: Make) -> Callable[[Callable[[list[bytes]], list[bytes]]], None]:
    """Save a session `base`, and the same as `now` with a damage."""

    def make(how: Callable[[list[bytes]], list[bytes]]) -> None:
        save("base", runs())
        path = save("now", runs())
        path.write_bytes(b"".join(how(path.read_bytes().splitlines(keepends=True))))

    return make


@pytest.mark.parametrize("command", [*SHOWING, *COUNTING])
def test_a_whole_session_is_no_reason_to_fail(
    sopbench: Sopbench, damage: Make, command: str
) -> None:
    damage(list)

    assert 0 == sopbench(*{**SHOWING, **COUNTING}[command]).exit_code


@pytest.mark.parametrize("how", DAMAGES)
@pytest.mark.parametrize("command", [*SHOWING, *COUNTING, *MAKING])
def test_no_command_ends_well_with_a_damaged_session(
    sopbench: Sopbench, damage: Make, command: str, how: str
) -> None:
    damage(DAMAGES[how])

    result = sopbench(*{**SHOWING, **COUNTING, **MAKING}[command])

    assert 0 != result.exit_code
    assert "now.jsonl" in result.stderr


@pytest.mark.parametrize("kept", [1, 2, -1], ids=["the head", "one line", "all but the end"])
@pytest.mark.parametrize("command", [*COUNTING, *MAKING])
def test_no_number_of_a_session_without_an_end_is_relied_on(
    sopbench: Sopbench, damage: Make, command: str, kept: int
) -> None:
    damage(lambda lines: lines[:kept])

    result = sopbench(*{**COUNTING, **MAKING}[command])

    assert 0 != result.exit_code
    assert "now.jsonl: " in result.stderr


def test_what_a_session_without_an_end_has_is_shown(sopbench: Sopbench, damage: Make) -> None:
    damage(lambda lines: lines[:-1])

    result = sopbench("show", "now", "T2")

    assert 0 == result.exit_code
    assert "now.jsonl: it has no end; what follows is of the runs that it has" in result.stderr
