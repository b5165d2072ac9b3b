"""Turn a published folder into files of our layout."""

from __future__ import annotations

import json
import subprocess
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any, Final, TypeAlias

from pytest_sopbench._audit.observing.probing import copied
from pytest_sopbench._audit.observing.sandbox import started
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import LookupTool, Task
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.files import read_text
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._loading.metadata import DATA_FILE, Described, read_metadata
from pytest_sopbench._loading.tables import Table, csv_text, read_table
from pytest_sopbench._loading.tools import TOOL_SPECS_FILE as SPECS
from pytest_sopbench._running.descendants import end_with_descendants, wait_unreaped
from pytest_sopbench._running.tools.codeless import look_up
from pytest_sopbench.errors import ToolError

# What the code of a tool answered on one row: to the row's own arguments, and to others.

Answer: TypeAlias = Mapping[str, JsonValue]
"""One of `result`, `error` (what it raised) and `foreign` (why its result is not JSON)."""

_Arguments: TypeAlias = Mapping[str, JsonValue]
_Answers: TypeAlias = Mapping[str, Answer]


@dataclass(frozen=True, slots=True, kw_only=True)
class RowCall:
    """The calls of one tool on one row.

    Attributes:
        row: the number of the row, from 0.
        lacks: a required parameter for which the row has no column; then there was no call.
        arguments: the row's own.
        answer: to these.
        again: to the same, a second time.
        changed: by parameter, with the argument of the next row.
        spaced: by parameter, with blanks around a text.
        absent: by parameter, with a value that no row has.
    """

    row: int
    lacks: str = ""
    arguments: _Arguments = field(default_factory=dict[str, JsonValue])
    answer: Answer = field(default_factory=dict[str, JsonValue])
    again: Answer = field(default_factory=dict[str, JsonValue])
    changed: _Answers = field(default_factory=dict[str, Answer])
    spaced: _Answers = field(default_factory=dict[str, Answer])
    absent: _Answers = field(default_factory=dict[str, Answer])


# Is the code of a tool a look-up of the row's columns? Only what was seen on every row decides.

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
    """Say where a look-up answers otherwise than the code did; empty if it never does."""
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


# Have the code of a published folder called in a process of its own, within a time limit.


def call_every_row(
    domain: Domain, cells: Sequence[Mapping[str, str]], *, time_limit: float
) -> tuple[Mapping[str, Seen], str]:
    """Call each tool with the arguments of every row; the code has no environment.

    What each tool answered is returned row by row, and why that is not all of it.

    Args:
        domain: the published folder, loaded.
        cells: its rows as they are written.
        time_limit: seconds for all of it.
    """
    with TemporaryDirectory(prefix="sopbench-import-", ignore_cleanup_errors=True) as name:
        room = Path(name)
        own = copied(domain.folder, room)
        lines = room / "lines"
        (room / "cells").write_text(json.dumps(cells), encoding="utf-8")
        problem = _run((str(own), str(lines), str(room / "cells")), own, time_limit)
        return _read(lines, problem)


def _run(arguments: tuple[str, ...], folder: Path, time_limit: float) -> str:
    """Run the child, and say how it ended if not as it should."""
    call = f"from pytest_sopbench._making.published_child import main; main(*{arguments!r})"
    process, environment = started(call, folder, subprocess.DEVNULL)
    try:
        is_done = wait_unreaped(process, time_limit)
    finally:
        end_with_descendants(process, environment)
    if not is_done:
        return f"was not done after {time_limit:g} seconds"
    status = process.returncode
    return "" if status == 0 else f"ended its process with status {status}"


def _read(path: Path, problem: str) -> tuple[Mapping[str, Seen], str]:
    rows: dict[str, list[RowCall]] = defaultdict(list)
    done, refused = False, ""
    text = path.read_text("utf-8", "replace") if path.exists() else ""
    for line in text.splitlines():
        try:
            said: Mapping[str, Any] = json.loads(line)
        except ValueError:
            # The last one may have been cut off.
            break
        done = done or "done" in said
        refused = refused or said.get("refused", "")
        if "tool" in said:
            known = {name: said[name] for name in RowCall.__dataclass_fields__ if name in said}
            rows[said["tool"]].append(RowCall(**known))
    if not done and not problem:
        problem = "ended its process"
    return rows, refused or problem


_OURS: Final = "data.csv"
_BESIDE: Final = ("license", "licence", "notice", "disclaimer", "readme", "copying")
_TEXTS: Final = ("title", "description", "industry", "licence", "version")


@dataclass(frozen=True, slots=True, kw_only=True)
class Converted:
    """The files of the new folder, those that are copied, and what came of each tool.

    `problem` says why the code could not be called on every row.
    """

    domain: Domain
    files: Mapping[str, str]
    copied: Sequence[str]
    tools: Mapping[str, Proved]
    problem: str


def convert(folder: Path, name: str, *, time_limit: float) -> Converted:
    """Read a published folder, call its code in a process of its own, and lay it out anew.

    Raises:
        LoadingError: loading refuses it.
    """
    domain = load_domain(folder)
    described = read_metadata(folder)
    table = read_table(domain.data_file)
    problem, tools = _tools(domain, table, time_limit)
    keeps_code = domain.tools_file is not None and any(not one.entry for one in tools.values())
    data_file = DATA_FILE if keeps_code and _reads(domain, DATA_FILE) else _OURS
    metadata = _metadata(described, domain, name, tools)
    return Converted(
        domain=domain,
        files={
            "metadata.json": f"{json.dumps(metadata, indent=2, ensure_ascii=False)}\n",
            data_file: csv_text([table.columns, *table.rows]),
            _sop_file(folder): domain.sop,
        },
        copied=_copied(folder, keeps_code=keeps_code),
        tools=tools,
        problem=problem,
    )


def _tools(domain: Domain, table: Table, time_limit: float) -> tuple[str, Mapping[str, Proved]]:
    """Prove each tool; without code nothing can be."""
    if domain.tools_file is None:
        reason = "there is no tools.py, so nothing answers for it"
        return "", {spec.name: Proved(reason=reason) for spec in domain.tool_specs}
    cells = [dict(zip(table.columns, map(str, row), strict=True)) for row in table.rows]
    rows, problem = call_every_row(domain, cells, time_limit=time_limit)
    return problem, {
        spec.name: prove(spec.name, rows.get(spec.name, ()), domain) for spec in domain.tool_specs
    }


def _reads(domain: Domain, name: str) -> bool:
    return domain.tools_file is not None and name in read_text(domain.tools_file)


_KEPT: Final = frozenset(
    {"outputs", "private_columns", "types", "tags_column", "acceptable_column"}
    | {"known_disagreement_column", "contract", "reject_bad_arguments"}
)


def _metadata(
    described: Described, domain: Domain, name: str, tools: Mapping[str, Proved]
) -> dict[str, Any]:
    known = described.metadata
    made: dict[str, Any] = {"name": name}
    made |= {key: getattr(known, key) for key in _TEXTS if getattr(known, key)}
    made |= {"id_column": _id_column(domain)} if _id_column(domain) else {}
    made |= {
        "input_columns": list(domain.input_columns),
        "output_columns": [one.name for one in domain.fields],
    }
    made |= {key: value for key, value in known.told().items() if key in _KEPT}
    entries: dict[str, JsonValue] = {
        tool: dict(one.entry) for tool, one in tools.items() if one.entry
    }
    return made | ({"tools": entries} if entries else {})


def _id_column(domain: Domain) -> str | None:
    """Return the column whose cells are the ids; none if ids are hashes of inputs."""
    table = read_table(domain.data_file)
    ids = list(domain.task_ids)
    found = (name for name in table.columns if list(map(str, table.cells(name))) == ids)
    return next(found, None)


def _sop_file(folder: Path) -> str:
    return "sop.md" if (folder / "sop.md").is_file() else "sop.txt"


def _copied(folder: Path, *, keeps_code: bool) -> list[str]:
    """Name the files that stay as they are: specs, licences, and with code what it may read."""
    taken = {"metadata.json", "domain.toml", DATA_FILE, _OURS, "sop.md", "sop.txt"}
    files = sorted(one.name for one in folder.iterdir() if one.is_file())
    return [
        name
        for name in files
        if name not in taken
        and not name.startswith(".")
        and (keeps_code or name == SPECS or name.lower().startswith(_BESIDE))
    ]
