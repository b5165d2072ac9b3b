"""The calls that are expected of each task, from `expected_calls.jsonl` beside the data."""

from __future__ import annotations

from collections.abc import Collection, Iterator, Mapping, Sequence
from pathlib import Path
from typing import NoReturn

from pytest_sopbench._core.model.trajectory import ExpectedCall
from pytest_sopbench._core.trajectory.call_groups import read_groups
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.files.document import parse_json, read_text
from pytest_sopbench._loading.files.suggestions import nearest
from pytest_sopbench.errors import LoadingError

FILE_NAME = "expected_calls.jsonl"

LINE = '{"task": "T_1", "calls": [{"name": "tool", "arguments": {"parameter": 1}}]}'
"""What a line looks like, for hints."""


def read_expected_calls(
    path: Path, *, tasks: Collection[str], tools: Collection[str]
) -> Mapping[str, tuple[ExpectedCall, ...]]:
    """Read one line per task; a task without a line has no expected calls.

    Args:
        path: the file.
        tasks: the ids of the domain's tasks.
        tools: the names of its tools.

    Raises:
        LoadingError: a line is no such object, names a task or a tool that the domain does not
            have, or a task that a line before it named; carries the line.
    """
    ids, names = frozenset(tasks), frozenset(tools)
    expected: dict[str, tuple[ExpectedCall, ...]] = {}
    for number, line in enumerate(read_text(path).split("\n"), start=1):
        if not line.strip():
            continue
        place = _Line(path, number)
        task, calls = place.read(line)
        if task not in ids:
            place.refuse(f"the domain has no task {task!r}", _meant(task, ids))
        if task in expected:
            place.refuse(f"task {task!r} stands on a line before", "give each task one line")
        expected[task] = tuple(place.calls(calls, names))
    return expected


class _Line:
    """One line of the file, and the errors that name it."""

    def __init__(self, path: Path, number: int) -> None:
        self._path = path
        self._number = number

    def refuse(self, problem: str, hint: str = "") -> NoReturn:
        raise LoadingError(self._path, problem, row=self._number, hint=hint)

    def read(self, line: str) -> tuple[str, Sequence[JsonValue]]:
        data = parse_json(line, self._path, line=self._number)
        if isinstance(data, Mapping) and set(data) == {"task", "calls"}:
            task, calls = data["task"], data["calls"]
            if isinstance(task, str) and isinstance(calls, list):
                return task, calls
        return self.refuse("not an object with a text 'task' and a list 'calls'", f"write {LINE}")

    def calls(self, calls: Sequence[JsonValue], tools: Collection[str]) -> Iterator[ExpectedCall]:
        try:
            read = read_groups(calls, ExpectedCall)
        except ValueError as fault:
            self.refuse(str(fault), f"write {LINE}")
        for step, call in enumerate(read, start=1):
            if call.name not in tools:
                self.refuse(
                    f"call {step}: no tool is called {call.name!r}", _meant(call.name, tools)
                )
            yield call


def _meant(name: str, names: Collection[str]) -> str:
    near = nearest(name, names)
    return f"is {near!r} meant?" if near else ""
