"""Is the code of a tool a look-up of the row's columns? Only what was seen on every row decides."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, TypeAlias

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import LookupTool, Task
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._running.tools.lookup import look_up
from pytest_sopbench.errors import ToolError

from .calls import Answer, RowCall

Seen: TypeAlias = Sequence[RowCall]


@dataclass(frozen=True, slots=True, kw_only=True)
class Proved:
    """What came of one tool: the entry of `tools` that does the same, or why there is none."""

    entry: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    reason: str = ""


def prove(name: str, seen: Seen, domain: Domain) -> Proved:
    """Find the look-up that answers as the code did on every row, or say what prevents it."""
    reason = _odd(seen, domain)
    keys, checks, computed = ([], [], "") if reason else _parameters(seen)
    if reason or computed:
        return Proved(reason=reason or computed)
    for served in _candidates(seen, domain):
        entry: dict[str, JsonValue] = {}
        entry |= {"key": keys} if keys else {}
        entry |= {"check": checks} if checks else {}
        entry |= served
        difference = _difference(name, entry, seen, domain)
        if not difference:
            return Proved(entry=entry)
        reason = reason or difference
    return Proved(reason=reason or "what it returns is no column of the row")


def _odd(seen: Seen, domain: Domain) -> str:
    """Say what makes a look-up impossible, whatever it would serve."""
    if len(seen) < len(domain.tasks):
        return "it was not called on every row"
    for one in seen:
        if one.lacks:
            return f"its parameter {one.lacks!r} is no column"
        if "foreign" in one.answer:
            return f"its answer is not JSON: {one.answer['foreign']}"
        if one.answer != one.again:
            return "two equal calls have different answers"
    return _useless([one.answer for one in seen])


def _useless(answers: Sequence[Answer]) -> str:
    if all("error" in one for one in answers):
        return f"it fails on every row: {answers[0]['error']}"
    if all(one.get("result", "") is None for one in answers):
        return "it returns nothing on every row"
    return ""


def _parameters(seen: Seen) -> tuple[list[JsonValue], list[JsonValue], str]:
    """Tell which parameters have to equal a column: exactly, or but for blanks."""
    keys, checks = list[JsonValue](), list[JsonValue]()
    right = [one for one in seen if "error" not in one.answer]
    for name in dict.fromkeys(name for one in right for name in one.absent):
        probed = [one for one in right if name in one.absent]
        absent = [one.absent[name] for one in probed]
        moved = [one for one in probed if one.changed.get(name, one.answer) != one.answer]
        if not moved and all(one.absent[name] == one.answer for one in probed):
            # It is never looked at, so a look-up must not ask for it either.
            continue
        if not all("error" in one for one in absent) or not _fetched(seen, moved, name):
            return [], [], f"with another {name!r} it computes another answer"
        spaced = [one.spaced.get(name) == one.answer for one in probed]
        (checks if all(spaced) else keys).append(name)
    return keys, checks, ""


def _fetched(seen: Seen, moved: Seen, name: str) -> bool:
    """Whether the argument of another row fetches the record of that row, or none.

    A look-up tool serves the task's own row, and has no record there.
    """
    others = [(one.changed[name], seen[(one.row + 1) % len(seen)]) for one in moved]
    return all("error" in answer or answer == other.answer for answer, other in others)


def _candidates(seen: Seen, domain: Domain) -> Iterator[Mapping[str, JsonValue]]:
    """Yield what an entry could serve: columns, one bare column, or a constant."""
    results = [one.answer["result"] for one in seen if "result" in one.answer]
    columns = [name for name in domain.tasks[0].results if name not in domain.private_columns]
    columns += [name for name in domain.input_columns if name not in columns]
    first = results[0]
    if isinstance(first, Mapping) and first and set(first) <= set(columns):
        yield {"returns": list(first), "missing": "error"}
        yield {"returns": list(first), "missing": "null"}
    for name in columns:
        if all(
            _same(_cell(domain.tasks[one.row], name), one.answer["result"])
            for one in seen
            if "result" in one.answer
        ):
            yield {"value": name, "missing": "error"}
            yield {"value": name, "missing": "null"}
    if all(_same(result, first) for result in results):
        yield {"result": first}


def _cell(task: Task, name: str) -> JsonValue:
    return task.results[name] if name in task.results else task.inputs.get(name)


def _difference(name: str, entry: Mapping[str, Any], seen: Seen, domain: Domain) -> str:
    """Say where a look-up answers otherwise than the code did; empty where it never does."""
    returns = (entry["value"],) if "value" in entry else tuple(entry.get("returns", ()))
    tool = LookupTool(
        name=name,
        key=tuple(entry.get("key", ())),
        check=tuple(entry.get("check", ())),
        returns=returns,
        missing=entry.get("missing", "error"),
        result=entry.get("result"),
        bare="value" in entry,
    )
    for one in seen:
        task = domain.tasks[one.row]
        row = {**task.results, **task.inputs}
        if not _equal(_answer(tool, row, one.arguments), one.answer):
            return f"a look-up answers otherwise on row {task.line} ({task.id})"
        for parameter, answer in one.changed.items():
            changed = {**one.arguments, parameter: _given(seen, one, parameter)}
            if "error" in answer and "error" not in _answer(tool, row, changed):
                return f"it refuses another {parameter!r} on row {task.line} ({task.id})"
    return ""


def _given(seen: Seen, one: RowCall, parameter: str) -> JsonValue:
    """Return the argument that was given in place of a row's own."""
    return seen[(one.row + 1) % len(seen)].arguments[parameter]


def _answer(
    tool: LookupTool, row: Mapping[str, JsonValue], arguments: Mapping[str, JsonValue]
) -> Answer:
    try:
        return {"result": look_up(tool, row, arguments)}
    except ToolError as fault:
        return {"error": str(fault)}


def _equal(one: Answer, other: Answer) -> bool:
    """Whether both failed, or answered the same; the text of an error is free."""
    if "error" in one or "error" in other:
        return "error" in one and "error" in other
    return _same(one["result"], other["result"])


def _same(one: JsonValue, other: JsonValue) -> bool:
    """Equal as JSON has it: a boolean is no number, and 1.0 is 1."""
    if isinstance(one, Mapping) and isinstance(other, Mapping):
        same_keys = set(one) == set(other)
        return same_keys and all(_same(value, other[key]) for key, value in one.items())
    if isinstance(one, list) and isinstance(other, list):
        return len(one) == len(other) and all(map(_same, one, other))
    return isinstance(one, bool) is isinstance(other, bool) and bool(one == other)
