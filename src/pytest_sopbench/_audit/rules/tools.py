"""Rules about a domain's own tools, which were called on its rows in a process of their own."""

from __future__ import annotations

import ast
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Final

from pytest_sopbench._audit.model import Finding, Place, error, warning
from pytest_sopbench._audit.observing.sandbox import Incident, IncidentKind, ToolAnswer, ToolSight
from pytest_sopbench._audit.policy_source import changing_calls, frozen, parsed
from pytest_sopbench._audit.reading import Subject
from pytest_sopbench._core.installing import install_hint
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.text import equal_as_written
from pytest_sopbench._loading.files import cut, listed, shown
from pytest_sopbench._loading.load import POLICY_FILE, TOOLS_FILE

_FEW: Final = 5
_LACKING: Final = re.compile(r"No module named '([\w.]+)'")
_EMPTY: Final[tuple[JsonValue, ...]] = (None, "", {}, [])
_LONG: Final = 4
"""Characters of an id from which on it stands in a source by no accident."""

_MOSTLY: Final = 0.9
_SAID: Final[Mapping[IncidentKind, str]] = {
    IncidentKind.HANGS: "hangs: nothing came of it for many seconds",
    IncidentKind.SLOW: "is too slow: not all rows were looked at within the time limit",
    IncidentKind.EXITS: "ends the process",
    IncidentKind.CRASHES: "kills the process",
    IncidentKind.FORKS: "forks the process, and comes back twice",
    IncidentKind.PRINTS: "prints megabytes",
    IncidentKind.REFUSED: "cannot be used",
}


@error(
    "code-fails", "Own code hangs, exits, forks, crashes, prints megabytes or cannot be imported."
)
def _code_fails(subject: Subject) -> Iterator[Finding]:
    for one in subject.observed.incidents:
        detail = f" ({one.detail})" if one.detail else ""
        yield Finding(
            place=_place(subject, one),
            what=f"the code {_SAID[one.kind]}{detail}",
            do=f"{_remedy(one.detail, 'correct it')}; the findings about what came after it are"
            " missing",
        )


def _remedy(detail: str, otherwise: str) -> str:
    """Say how what the code imports is installed, if that is what it lacks."""
    lacking = _LACKING.search(detail)
    if lacking is None:
        return otherwise
    name = lacking[1].partition(".")[0]
    if name == "pandas":
        return f"{install_hint(name, extra=name)}, which the code imports"
    return f"install the package that has the module {name!r}, which the code imports"


def _place(subject: Subject, incident: Incident) -> Place:
    tool = incident.tool if incident.tool not in (TOOLS_FILE, POLICY_FILE) else ""
    file = incident.tool if not tool and incident.tool else TOOLS_FILE
    if incident.position is None:
        return Place(file=file, tool=tool)
    line = subject.line(incident.position)
    return Place(file=f"{file} (row {line} of {subject.data_file})", tool=tool)


@error("stub", "A tool of own code returns nothing on every row, or has an empty body.")
def _stubs(subject: Subject) -> Iterator[Finding]:
    called = {one.name for one in _called(subject)}
    tools = {one.name for one in subject.domain.tool_specs} - subject.domain.codeless
    for name, line, is_used in _hollow(subject.text(TOOLS_FILE)):
        if (name in tools or is_used) and name not in called:
            yield Finding(
                place=Place(file=TOOLS_FILE, line=line, tool=name if name in tools else ""),
                what=f"the body of {name!r} does nothing",
                do="serve what the row holds, or take the tool away",
            )
    for sight in _called(subject):
        if all(not one.error and one.result in _EMPTY for one in sight.answers):
            yield Finding(
                place=Place(file=TOOLS_FILE, tool=sight.name),
                what=f"it returns nothing on all {len(sight.answers)} rows",
                do="serve what the row holds, or take the tool away",
            )


def _hollow(source: str) -> Iterator[tuple[str, int, bool]]:
    """The functions whose body does nothing, their lines, and whether a result of them is used."""
    every = list(ast.walk(parsed(source)))
    functions = [one for one in every if isinstance(one, ast.FunctionDef | ast.AsyncFunctionDef)]
    hollow = {one.name: one.lineno for one in functions if all(map(_does_nothing, one.body))}
    # A method of a base class may be empty, if another of the same name is not.
    full = {one.name for one in functions if not all(map(_does_nothing, one.body))}
    # What is called for its own sake, such as a hook of a log, may do nothing.
    calls = [one.value for one in every if isinstance(one, ast.Expr)]
    idle = {id(one.func) for one in calls if isinstance(one, ast.Call)}
    used = {one.attr for one in every if isinstance(one, ast.Attribute) and id(one) not in idle}
    yield from ((name, at, name in used) for name, at in hollow.items() if name not in full)


def _does_nothing(statement: ast.stmt) -> bool:
    if isinstance(statement, ast.Raise):
        return statement.exc is not None and "NotImplementedError" in ast.unparse(statement.exc)
    if isinstance(statement, ast.Return):
        return statement.value is None or getattr(statement.value, "value", "") is None
    is_constant = isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant)
    return is_constant or isinstance(statement, ast.Pass)


@warning(
    "constant-tool", "A tool of own code returns the same on every row, and does not only record."
)
def _constants(subject: Subject) -> Iterator[Finding]:
    for sight in _called(subject):
        result = sight.answers[0].result
        texts = {frozen(one.result) for one in sight.answers}
        if len(texts) > 1 or result in _EMPTY or any(one.error for one in sight.answers):
            continue
        if not _only_records(subject, sight.name, result):
            yield Finding(
                place=Place(file=TOOLS_FILE, tool=sight.name),
                what=f"it returns {shown(result)} on every row",
                do="serve what the row holds; of a tool that only records, accept this",
            )


def _only_records(subject: Subject, tool: str, result: JsonValue) -> bool:
    """Whether the policy needs the tool, and no column says what it should return."""
    called = any(
        call.name == tool for run in subject.observed.policy.values() for call in run.calls
    )
    names = set(result) if isinstance(result, dict) else set[str]()
    return called and names.isdisjoint(subject.tasks[0].results)


@error("tool-fails", "A tool fails on every row.")
def _always_fails(subject: Subject) -> Iterator[Finding]:
    for sight in _called(subject):
        if all(one.error for one in sight.answers) and not sight.unknown:
            yield Finding(
                place=Place(file=TOOLS_FILE, tool=sight.name),
                what=f"it fails on all {len(sight.answers)} rows: {cut(sight.answers[0].error)}",
                do=_remedy(sight.answers[0].error, "call it by hand with what a row holds"),
            )


@warning(
    "tool-not-called",
    "No call can reach a tool: it requires what no column has and no tool returns.",
)
def _not_called(subject: Subject) -> Iterator[Finding]:
    made = {one.name for run in subject.observed.policy.values() for one in run.calls}
    made |= {one.name for calls in subject.domain.expected_calls.values() for one in calls}
    for sight in subject.observed.tools.values():
        if sight.uncallable and not sight.answers and sight.name not in made:
            yield Finding(
                place=Place(file=TOOLS_FILE, tool=sight.name),
                what=f"no call can reach it: it requires {sight.uncallable!r}, which no column has"
                " and no other tool returns",
                do="add the column, or take the parameter away; accept it if agents write it",
            )


@error("random-tool", "Three equal calls of a tool, by fresh instances, have different answers.")
def _random(subject: Subject) -> Iterator[Finding]:
    for sight in _called(subject):
        odd = [one.position for one in sight.answers if len(set(one.again)) > 1]
        if odd:
            yield Finding(
                place=Place(file=TOOLS_FILE, tool=sight.name),
                what=f"the same call has different answers on {subject.rows(odd)}",
                do="compute the answer from the row alone",
            )


@warning(
    "random-source", "`tools.py` calls what differs each time, such as `random`, `uuid4` or `now`."
)
def _random_source(subject: Subject) -> Iterator[Finding]:
    for line, name in changing_calls(subject.text(TOOLS_FILE)):
        yield Finding(
            place=Place(file=TOOLS_FILE, line=line),
            what=f"{name}() gives another value each time",
            do="take it from the row, or use random.Random with a seed",
        )


@error("blind-tool", "A tool answers by the id, and not by the columns of the row.")
def _blind(subject: Subject) -> Iterator[Finding]:
    for sight in _called(subject):
        if all(one.error for one in sight.answers):
            continue
        tried = sight.blind + sight.followed
        if tried >= _FEW and sight.blind >= _MOSTLY * tried and not _has_own_data(subject):
            yield Finding(
                place=Place(file=TOOLS_FILE, tool=sight.name),
                what=f"its answer stays on {sight.blind} of {tried} rows when all columns but the"
                " id are exchanged",
                do="it is made of the id: read the data instead",
            )


def _has_own_data(subject: Subject) -> bool:
    """Whether tools look the id up elsewhere: in a file that they open, or in their source."""
    if subject.observed.opened:
        return True
    source = subject.text(TOOLS_FILE)
    # A short number stands in any source.
    return any(
        re.search(rf"['\"]{re.escape(task.id)}['\"]", source) for task in subject.tasks
    ) or any(len(task.id) >= _LONG and task.id in source for task in subject.tasks)


@warning("ignored-argument", "A tool requires an argument, and answers the same whatever it is.")
def _ignored(subject: Subject) -> Iterator[Finding]:
    for sight in _called(subject):
        if sight.ignored:
            yield Finding(
                place=Place(file=TOOLS_FILE, tool=sight.name),
                what=f"it requires {listed(map(repr, sight.ignored))}, and answers the same"
                " whatever is given",
                do="refuse what does not fit the row, or take it out of the spec",
            )


@warning("answer-differs", "The answer of a tool differs from the column of the same name.")
def _differs(subject: Subject) -> Iterator[Finding]:
    for sight in _called(subject):
        for name, odd in _differing(subject, sight.answers).items():
            first = subject.tasks[odd[0]]
            stored = {**first.results, **first.inputs}[name]
            yield Finding(
                place=Place(file=subject.data_file, line=first.line, column=name, tool=sight.name),
                what=f"on {subject.rows(odd)} the tool answers something else than the column,"
                f" which says {shown(stored)}",
                do="one of the two is wrong; labels may rest on either",
            )


def _differing(subject: Subject, answers: Sequence[ToolAnswer]) -> Mapping[str, list[int]]:
    found: dict[str, list[int]] = {}
    for one in answers:
        task = subject.tasks[one.position]
        result = one.result if isinstance(one.result, dict) and not one.error else {}
        for name, value in result.items():
            is_text = value == subject.cell(name, one.position)
            if name in task.results and not is_text and not _same(task.results[name], value):
                found.setdefault(name, []).append(one.position)
    return found


def _same(stored: JsonValue, answered: JsonValue) -> bool:
    return equal_as_written(stored, answered) or (stored in _EMPTY and answered in _EMPTY)


@error("not-json", "The answer of a tool is not JSON: NaN, a set, an object.")
def _not_json(subject: Subject) -> Iterator[Finding]:
    for sight in _called(subject):
        odd = [one for one in sight.answers if one.not_json]
        if odd:
            rows = subject.rows([one.position for one in odd])
            yield Finding(
                place=Place(file=TOOLS_FILE, tool=sight.name),
                what=f"its answer is not JSON on {rows}: {cut(odd[0].not_json)}",
                do="return text, numbers, true, false, null, lists and objects only",
            )


def _called(subject: Subject) -> Iterator[ToolSight]:
    return (one for one in subject.observed.tools.values() if len(one.answers) > 1)
