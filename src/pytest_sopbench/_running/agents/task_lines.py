"""What the files of `replayed:` and `scripted:` have in common: JSON, each value of one task."""

from __future__ import annotations

from collections.abc import Mapping
from difflib import get_close_matches
from pathlib import Path
from typing import Any, NoReturn, TypeVar, cast

from pytest_sopbench.errors import AgentSpecError

_T = TypeVar("_T")


def read_task_file(path: Path, prefix: str) -> str:
    """Return the text of a file of JSON lines.

    Raises:
        AgentSpecError: it cannot be read.
    """
    try:
        return path.read_text(encoding="utf-8-sig")
    except (OSError, ValueError) as fault:
        reason = fault.strerror if isinstance(fault, OSError) else "it is not UTF-8"
        msg = f"{path}: {reason}"
        raise AgentSpecError(msg, hint=f"{prefix}FILE names a file of JSON lines") from None


def refuse_line(path: Path, line: int, problem: str, hint: str) -> NoReturn:
    """Refuse the file for what is wrong in one of its lines."""
    msg = f"{path}, line {line}: {problem}"
    raise AgentSpecError(msg, hint=hint)


def refuse_task(path: Path, line: int, task: str, known: list[str], hint: str) -> NoReturn:
    """Refuse a task that no domain has, with one of a similar name where there is one."""
    near = get_close_matches(task, known, n=1)
    hint = f"did you mean {near[0]!r}?" if near else hint
    refuse_line(path, line, f"there is no task {task!r}", hint)


def as_object(path: Path, line: int, value: object, hint: str) -> Mapping[str, Any]:
    """Return what must be an object of JSON."""
    if not isinstance(value, dict):
        refuse_line(path, line, "no object", hint)
    return cast("dict[str, Any]", value)


def of_task(held: Mapping[tuple[str, str], _T], domain: str, task: str) -> _T | None:
    """Return what is held of a task; what names its domain goes before what names none."""
    return held.get((domain, task)) or held.get(("", task))
