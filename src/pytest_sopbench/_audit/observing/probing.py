"""Call the tools of a domain's own code, on many rows and in several ways."""

from __future__ import annotations

import csv
import inspect
import io
import json
import os
import shutil
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from contextlib import chdir
from dataclasses import dataclass
from hashlib import sha256
from pathlib import Path
from time import monotonic
from typing import Any, Final, TypeAlias, cast

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import Task, ToolSpec
from pytest_sopbench._core.values.json import JsonValue, to_json_value
from pytest_sopbench._loading.metadata import DocumentMetadata, read_metadata
from pytest_sopbench._loading.tables import csv_text
from pytest_sopbench._running.tools.domain_code import ManagerFactory, process

# Copies of a domain's folder, in which its code may write what it likes.

_LEFT_OUT: Final = shutil.ignore_patterns(
    ".*", "__pycache__", "node_modules", "venv", "*.pyc", "*.egg-info"
)


def copied(folder: Path, into: Path) -> Path:
    """Copy a folder, under its own name, without what a domain does not need."""
    target = into / (folder.resolve().name or "domain")
    shutil.copytree(folder, target, ignore=_LEFT_OUT, ignore_dangling_symlinks=True)
    return target


def with_other_contents(folder: Path, data_file: str, id_column: str) -> bool:
    """Give each id of a copy the contents of another row; whether that could be done."""
    path = folder / data_file
    text = path.read_text(encoding="utf-8-sig")
    change = _other_lines if path.suffix == ".jsonl" else _other_rows
    written = change(text, id_column)
    if written is None:
        return False
    path.write_text(written, encoding="utf-8", newline="")
    return True


def shifted(position: int, rows: int) -> int:
    """The row whose contents a row has in such a copy."""
    return (position + max(1, rows // 2)) % rows


def _other_rows(text: str, id_column: str) -> str | None:
    records = [record for record in csv.reader(io.StringIO(text)) if record]
    header, rows = records[0], records[1:]
    if id_column not in header:
        return None
    place = header.index(id_column)
    others = [[*rows[shifted(position, len(rows))]] for position in range(len(rows))]
    for row, other in zip(rows, others, strict=True):
        other[place] = row[place]
    return csv_text([header, *others])


def _other_lines(text: str, id_column: str) -> str | None:
    rows = [json.loads(line) for line in text.splitlines() if line.strip()]
    if id_column not in rows[0]:
        return None
    others = (
        {**rows[shifted(position, len(rows))], id_column: row[id_column]}
        for position, row in enumerate(rows)
    )
    return "".join(f"{json.dumps(one)}\n" for one in others)


def without_answers(folder: Path, data_file: str) -> None:
    """Empty in a copy what its rows expect, so that a policy has to decide."""
    path, metadata = folder / data_file, read_metadata(folder).metadata
    names = [*metadata.output_columns, metadata.acceptable_column, metadata.expected_state_column]
    expected = {metadata.columns.get(name, name) for name in names if name is not None}
    if isinstance(metadata, DocumentMetadata):
        expected = {"expected"}
    text = path.read_text(encoding="utf-8-sig")
    if path.suffix == ".jsonl":
        lines = [json.loads(line) for line in text.splitlines() if line.strip()]
        emptied = [{**row, **dict.fromkeys(expected & row.keys())} for row in lines]
        written = "".join(f"{json.dumps(row)}\n" for row in emptied)
    else:
        header, *rows = (record for record in csv.reader(io.StringIO(text)) if record)
        hidden = [name in expected for name in header]
        emptied_rows = (
            ["" if is_hidden else cell for is_hidden, cell in zip(hidden, row, strict=True)]
            for row in rows
        )
        written = csv_text([header, *emptied_rows])
    path.write_text(written, encoding="utf-8", newline="")


ROWS: Final = 400
"""Rows on which a tool is called once."""

FEW: Final = 30
"""Rows on which other arguments and other contents are tried."""

AGAIN: Final = 10
"""Rows on which it is called twice more."""

LARGEST: Final = 100_000
"""Characters of an answer that is kept."""

NOBODY: Final = "__no_tool_has_this_name__"
_ENOUGH: Final = 5


class Book:
    """The file of lines; a process that was forked writes one last line, and ends."""

    def __init__(self, path: str) -> None:
        self._file = os.open(path, os.O_WRONLY | os.O_APPEND | os.O_CREAT, 0o600)
        self._owner = os.getpid()
        self._doing: Mapping[str, Any] = {}
        self._last = monotonic()

    def doing(self, **what: Any) -> None:
        """Announce what is done next."""
        self._doing = what
        self.say(doing=what)

    def say(self, **line: Any) -> None:
        """Write a line."""
        if os.getpid() != self._owner:
            self._write({"forked": self._doing})
            os._exit(0)
        self._write(line)

    def beat(self) -> None:
        """Say once a second that the process goes on, however little a busy machine gives it."""
        if monotonic() - self._last >= 1:
            self.say(alive=True)

    def _write(self, line: Mapping[str, Any]) -> None:
        self._last = monotonic()
        data = json.dumps(line, default=repr).encode("utf-8", "replace") + b"\n"
        while data:
            data = data[os.write(self._file, data) :]


@dataclass(frozen=True, slots=True)
class Answer:
    """One answer: what it was as a text, so that two can be compared."""

    text: str
    result: Any = None
    error: str = ""
    not_json: str = ""


@dataclass(frozen=True, slots=True)
class Loaded:
    """A copy of the domain, with what makes the managers of its own code."""

    domain: Domain
    factory: ManagerFactory


def probe_tools(own: Loaded, others: Loaded | None, book: Book, *, skip: frozenset[str]) -> None:
    """Look at every tool that is no look-up; in `others` each id has the row of another."""
    domain, factory = own.domain, own.factory
    specs = [one for one in domain.tool_specs if one.name not in domain.codeless]
    book.doing(step="look", tool="")
    kind = type(factory(domain.tasks[0]))
    book.say(methods=_public_methods(kind, {one.name for one in domain.tool_specs}))
    told: Told = defaultdict(dict)
    waiting = [one for one in specs if one.name not in skip]
    while waiting:
        # What one tool returns, such as a ticket, may be what another asks for.
        ready = [one for one in waiting if _can_be_called(one, domain, told)] or waiting
        for spec in ready:
            book.doing(step="tool", tool=spec.name)
            book.say(tool=spec.name, signature=_signature(kind, spec.name))
            _Probe(domain, factory, spec, book, told).run(others)
        waiting = [one for one in waiting if one not in ready]


Told: TypeAlias = "dict[int, dict[str, Any]]"
"""What tools have returned under a name, by the position of the row."""


def _can_be_called(spec: ToolSpec, domain: Domain, told: Told) -> bool:
    rows = _spread(len(domain.tasks), ROWS)
    return any(not isinstance(arguments_of(spec, domain.tasks[at], told[at]), str) for at in rows)


class _Probe:
    """One tool, and everything that is tried with it."""

    def __init__(
        self, domain: Domain, factory: ManagerFactory, spec: ToolSpec, book: Book, told: Told
    ) -> None:
        self._told = told
        self._domain = domain
        self._factory = factory
        self._spec = spec
        self._book = book
        self._first: dict[int, Answer] = {}

    def run(self, others: Loaded | None) -> None:
        """Write down the answers, and what they depend on."""
        rows = list(_spread(len(self._domain.tasks), ROWS))
        lacking = ""
        for number, position in enumerate(rows):
            task = self._domain.tasks[position]
            arguments = self._arguments(position)
            if isinstance(arguments, str):
                lacking = lacking or arguments
                continue
            self._answer(position, task, arguments, again=number < AGAIN)
        if not self._first:
            self._book.say(tool=self._spec.name, seen={"uncallable": lacking})
            return
        few = [position for position in rows if position in self._first][:FEW]
        seen = {"unknown": self._is_unknown(few[0]), "ignored": list(self._ignored(few))}
        self._book.say(tool=self._spec.name, seen=seen)
        if others is not None:
            self._exchange(few, others)

    def _arguments(self, position: int) -> dict[str, Any] | str:
        return arguments_of(self._spec, self._domain.tasks[position], self._told[position])

    def _answer(self, position: int, task: Task, arguments: dict[str, Any], *, again: bool) -> None:
        self._book.doing(step="tool", tool=self._spec.name, row=position)
        found = self._called(task, arguments)
        self._first[position] = found
        told = found.result
        if isinstance(told, dict):
            self._told[position] |= cast("dict[str, Any]", told)
        more = [self._called(task, arguments).text for _ in range(2)] if again else []
        answer = {
            "position": position,
            "result": found.result,
            "error": found.error,
            "not_json": found.not_json,
            "again": [found.text, *more] if again else [],
        }
        self._book.say(tool=self._spec.name, answer=answer)

    def _called(self, task: Task, arguments: Mapping[str, Any], name: str = "") -> Answer:
        return _called(self._factory, task, arguments, name or self._spec.name)

    def _is_unknown(self, position: int) -> bool:
        task = self._domain.tasks[position]
        arguments = self._arguments(position)
        nobody = self._called(task, arguments if isinstance(arguments, dict) else {}, NOBODY)
        said = self._first[position].text.replace(self._spec.name, NOBODY)
        return bool(self._first[position].error or nobody.result is not None) and (
            nobody.text == said
        )

    def _ignored(self, few: Sequence[int]) -> Iterator[str]:
        if len({self._first[position].text for position in few}) == 1:
            return
        required = self._spec.parameters.get("required")
        for name in required if isinstance(required, list) else ():
            same = [self._same_with_another(str(name), position, few) for position in few]
            told = [one for one in same if one is not None]
            if len(told) >= _ENOUGH and all(told):
                yield str(name)

    def _same_with_another(self, name: str, position: int, few: Sequence[int]) -> bool | None:
        """Whether the answer stays if one argument is that of another row."""
        task = self._domain.tasks[position]
        arguments = self._arguments(position)
        if isinstance(arguments, str) or name not in arguments:
            return None
        for other in (*few[few.index(position) + 1 :], *few):
            given = self._arguments(other)
            if isinstance(given, dict) and given.get(name) != arguments[name]:
                changed = {**arguments, name: given.get(name)}
                return self._called(task, changed).text == self._first[position].text
        return None

    def _exchange(self, few: Sequence[int], others: Loaded) -> None:
        blind = followed = 0
        rows = len(self._domain.tasks)
        for position in few:
            origin = self._first.get(shifted(position, rows))
            here = self._first[position]
            task = others.domain.tasks[position]
            # What another tool returned is that of the own row.
            arguments = arguments_of(self._spec, task, {})
            if origin is None or origin.text == here.text or isinstance(arguments, str):
                continue
            self._book.doing(step="tool", tool=self._spec.name, row=position)
            with chdir(others.domain.folder):
                text = _called(others.factory, task, arguments, self._spec.name).text
            blind += text == here.text
            followed += text == origin.text
        self._book.say(tool=self._spec.name, seen={"blind": blind, "followed": followed})


def arguments_of(spec: ToolSpec, task: Task, told: Mapping[str, Any]) -> dict[str, Any] | str:
    """Arguments for a call: from the row's columns and what tools told; or a name it lacks."""
    row = {**told, **task.results, **task.inputs}
    properties = spec.parameters.get("properties")
    required = spec.parameters.get("required")
    needed = set(required) if isinstance(required, list) else set[Any]()
    arguments: dict[str, Any] = {}
    for name, shape in properties.items() if isinstance(properties, Mapping) else ():
        value = row.get(name)
        if value is None and name in needed:
            value = _any_value(shape)
        if value is not None:
            arguments[name] = value
        elif name in needed:
            return name
    return arguments


def answer_of(value: object) -> Answer:
    """A returned value as a text that JSON would write, and what it has no word for."""
    try:
        text = json.dumps(value, allow_nan=False, sort_keys=True)
    except (TypeError, ValueError, RecursionError) as fault:
        kept = to_json_value(value)
        return Answer(
            text=f"no JSON {kept!r}", result=kept, not_json=str(fault) or type(fault).__name__
        )
    if len(text) <= LARGEST:
        return Answer(text=text, result=json.loads(text))
    # To be compared is enough: nobody reads megabytes.
    digest = sha256(text.encode()).hexdigest()
    return Answer(text=digest, result=f"{len(text):,} characters, {digest[:16]}")


def _called(factory: ManagerFactory, task: Task, arguments: Mapping[str, Any], name: str) -> Answer:
    given = json.loads(json.dumps(arguments))
    try:
        value = process(factory(task), name, given)
    except Exception as fault:  # noqa: BLE001 - a tool may raise anything
        return Answer(text=f"raised {fault}", error=str(fault) or type(fault).__name__)
    return answer_of(value)


def _any_value(shape: JsonValue) -> JsonValue:
    """A value that the spec itself names for a parameter."""
    if not isinstance(shape, Mapping):
        return None
    for key in ("default", "const"):
        if shape.get(key) is not None:
            return shape[key]
    values = shape.get("enum")
    return values[0] if isinstance(values, list) and values else None


def _spread(rows: int, most: int) -> Iterator[int]:
    """Positions, evenly over all rows; of few rows each."""
    step = max(1, rows / most)
    last = -1
    for number in range(min(rows, most)):
        position = int(number * step)
        if position != last:
            yield position
        last = position


def _public_methods(kind: type, names: set[str]) -> list[str]:
    methods = [
        name
        for name, _ in inspect.getmembers(kind, inspect.isfunction)
        if not name.startswith("_") and name != "process_tool_call"
    ]
    # Only if tools are methods of their names is another method a tool.
    return methods if names and names <= set(methods) else []


def _signature(kind: type, name: str) -> Mapping[str, Any] | None:
    function = inspect.getattr_static(kind, name, None)
    if not inspect.isfunction(function):
        return None
    every = list(inspect.signature(function).parameters.values())[1:]
    plain_ones = [one for one in every if one.kind in _NAMED]
    return {
        "accepts": [one.name for one in plain_ones],
        "required": [one.name for one in plain_ones if one.default is inspect.Parameter.empty],
        "anything": any(one.kind is inspect.Parameter.VAR_KEYWORD for one in every),
    }


_NAMED: Final = (inspect.Parameter.POSITIONAL_OR_KEYWORD, inspect.Parameter.KEYWORD_ONLY)
