"""Rules about labels: do they follow from the procedure, as the policy or the rows say?

What the policy says of a row against its label is a finding, and can be written into the data file
as a known disagreement.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from pathlib import Path
from typing import Any, Final

from pytest_sopbench._audit.model import Finding, Place, error, warning
from pytest_sopbench._audit.observing.sandbox import PolicyRun
from pytest_sopbench._audit.policy_source import flat_columns, frozen
from pytest_sopbench._audit.reading import Subject
from pytest_sopbench._core.documents.comparing import compare_documents
from pytest_sopbench._core.fields.comparison import compare
from pytest_sopbench._core.model.trace import Mismatch
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.files import cut, shown
from pytest_sopbench._loading.load import POLICY_FILE
from pytest_sopbench._sessions.atomic import replace_file
from pytest_sopbench.errors import LoadingError

_LONG: Final = 4
_TELLING: Final = ("id", "token", "ticket", "uuid", "reference", "timestamp")


def mismatches(subject: Subject, run: PolicyRun) -> tuple[Mismatch, ...]:
    """Where the policy's answer is not what the row expects; none if it is acceptable."""
    task = subject.tasks[run.position]
    answer = run.answer or {}
    if subject.domain.document is not None:
        return compare_documents(subject.domain.document, task.expected, answer).mismatches
    every = [task.expected_as_written]
    every += [{**task.expected_as_written, **other} for other in task.acceptable]
    found = [_against(subject, expected, answer) for expected in every]
    return () if any(not one for one in found) else found[0]


def _against(
    subject: Subject, expected: Mapping[str, JsonValue], answer: Mapping[str, JsonValue]
) -> tuple[Mismatch, ...]:
    pairs = (
        compare(field, expected[field.name], answer.get(field.name)) for field in subject.compared
    )
    return tuple(one for one in pairs if one is not None)


def disagreement(subject: Subject, run: PolicyRun) -> str:
    """What the policy says instead of the expected answer; empty if it says the same."""
    return "; ".join(
        f"the SOP gives {_told(subject, one.field, one.actual)} for {one.field}, expected is"
        f" {_told(subject, one.field, one.expected)}"
        for one in mismatches(subject, run)
    )


def _told(subject: Subject, name: str, value: JsonValue) -> str:
    private = any(one.private for one in subject.compared if one.name == name)
    return "a private value" if private else shown(value)


def agreement(subject: Subject) -> tuple[int, int]:
    """On how many rows the policy gives the label, and how many rows it answers."""
    answered = [run for run in subject.observed.policy.values() if not run.error]
    return sum(not mismatches(subject, run) for run in answered), len(answered)


@error("policy-disagrees", "The reference policy gives another answer than the row expects.")
def _policy_disagrees(subject: Subject) -> Iterator[Finding]:
    for run in subject.observed.policy.values():
        task = subject.tasks[run.position]
        why = "" if run.error or task.disagreement else disagreement(subject, run)
        if why:
            yield Finding(
                place=Place(file=subject.data_file, line=task.line),
                what=f"{task.id}: {cut(why)}",
                do="correct the label, the text or the policy, or --write-disagreements",
            )


@error("policy-fails", "The reference policy fails on a row.")
def _policy_fails(subject: Subject) -> Iterator[Finding]:
    """One fault for each error, with the rows that it has."""
    failed: dict[str, list[int]] = {}
    for run in subject.observed.policy.values():
        if run.error:
            failed.setdefault(run.error, []).append(run.position)
    for why, rows in failed.items():
        yield Finding(
            place=Place(file=POLICY_FILE),
            what=f"it fails on {subject.rows(rows)}: {cut(why)}",
            do="a policy answers every row; what a tool refuses is a ToolError that it may catch",
        )


@warning(
    "settled-disagreement",
    "A row is said to disagree with the SOP, and the policy gives its label.",
)
def _settled(subject: Subject) -> Iterator[Finding]:
    for run in subject.observed.policy.values():
        task = subject.tasks[run.position]
        if task.disagreement and not run.error and not mismatches(subject, run):
            yield Finding(
                place=Place(file=subject.data_file, line=task.line),
                what=f"{task.id} is said to disagree with the SOP, and the policy gives its label",
                do="empty the cell: the row counts again",
            )


@error(
    "contradicting-rows", "Rows are equal in inputs and tool results, and expect different answers."
)
def _contradicting(subject: Subject) -> Iterator[Finding]:
    for rows in equal_cases(subject):
        labels = [subject.answers[one] for one in rows]
        if len(set(labels)) > 1:
            said = ", ".join(f"{label!r} {count}" for label, count in Counter(labels).most_common())
            yield Finding(
                place=Place(file=subject.data_file, line=subject.line(rows[0])),
                what=f"{subject.rows(rows)} are equal for every agent, and expect {cut(said)}",
                do="correct a label, or add the column that makes the difference",
            )


def equal_cases(subject: Subject) -> list[list[int]]:
    """Groups of rows that no agent can tell apart: equal inputs and equal tool results."""
    served = _served(subject)
    rows = [
        {**task.inputs, **{one: task.results[one] for one in task.results if one in served}}
        for task in subject.tasks
    ]
    answers = flat_columns(_answered(subject))
    names = dict.fromkeys(name for row in rows for name in row)
    columns = {name: [row.get(name) for row in rows] for name in names}
    named, skipped = _telling(columns), _telling(answers)
    groups: dict[str, list[int]] = {}
    for position, (row, task) in enumerate(zip(rows, subject.tasks, strict=True)):
        kept = {name: _form(one) if name in named else one for name, one in row.items()}
        kept |= {name: cells[position] for name, cells in answers.items() if name not in skipped}
        records = {name: [dict(one) for one in table] for name, table in task.tables.items()}
        groups.setdefault(frozen([kept, _plain(records)]), []).append(position)
    return [rows for rows in groups.values() if len(rows) > 1]


def _form(value: JsonValue) -> str:
    """What an id shows beside its name: whether it is written as others are."""
    return re.sub("[a-z]", "a", re.sub("[0-9]", "9", frozen(value).lower()))


def _served(subject: Subject) -> AbstractSet[str]:
    """The columns beside the inputs that may make a difference to an agent.

    Of tools that were not called it is not known what they tell: then it is each column.
    """
    domain, tools = subject.domain, subject.observed.tools
    own = [one.name for one in domain.tool_specs if one.name not in domain.codeless]
    if domain.world is not None or any(one not in tools or not tools[one].answers for one in own):
        return {name for task in subject.tasks for name in task.results}
    lookups = domain.lookups.values()
    asked = {one.column_of(name) for one in lookups for name in (*one.key, *one.check)}
    return asked | {name for one in lookups for name in (*one.returns, one.table)}


def highest_rate(subject: Subject) -> float:
    """The TSR that no agent can exceed, because of rows that are equal and expect different."""
    lost = sum(
        len(rows) - max(Counter(subject.answers[one] for one in rows).values())
        for rows in equal_cases(subject)
    )
    return 1 - lost / len(subject.tasks) if subject.tasks else 1.0


def _plain(value: object) -> JsonValue:
    return json.loads(json.dumps(value, default=str))  # type: ignore[no-any-return]


def _answered(subject: Subject) -> Sequence[Mapping[str, JsonValue]]:
    """What the tools of the domain's own code answered, by the row, without the row's own id."""
    found: list[dict[str, JsonValue]] = [{} for _ in subject.tasks]
    for sight in subject.observed.tools.values():
        for one in sight.answers:
            told = "fails" if one.error else _without_id(one.result, subject.tasks[one.position].id)
            found[one.position][f"tool {sight.name}"] = told
    return found


def _without_id(value: JsonValue, own: str) -> JsonValue:
    if isinstance(value, Mapping):
        return {key: _without_id(one, own) for key, one in value.items()}
    if isinstance(value, list):
        return [_without_id(one, own) for one in value]
    # A short id may stand in any text.
    if isinstance(value, str) and len(own) >= _LONG:
        return value.replace(own, "ID")
    return "ID" if str(value) == own else value


def _telling(columns: Mapping[str, Sequence[JsonValue]]) -> set[str]:
    """Columns that only name the row: another value in each, and called as such."""
    found: set[str] = set()
    for name, cells in columns.items():
        parts = re.split(r"[-_. ]", name.lower())
        if any(part in _TELLING for part in parts):
            found.update({name} if len({*map(frozen, cells)}) == len(cells) else ())
    return found


# Known disagreements, written down if the policy contradicts the expected answers.

COLUMN: Final = "known_disagreement"
"""What the column is called if the metadata name none."""

KEY: Final = "known_disagreement_column"


def write_disagreements(subject: Subject) -> int:
    """Write the reasons into the data file, and name their column in the metadata.

    Returns:
        How many rows were given a reason.

    Raises:
        LoadingError: the metadata are TOML, the column is one that means something else, or the
            disk did not take a file.
    """
    by_line = {
        subject.line(position): f"policy: {why}"
        for position, run in subject.observed.policy.items()
        # A reason that stands is kept.
        if not (run.error or subject.tasks[position].disagreement)
        and (why := disagreement(subject, run))
    }
    if not by_line:
        return 0
    folder = subject.folder
    named = folder.metadata.get(KEY)
    column = named if isinstance(named, str) else COLUMN
    headers = folder.metadata.get("columns")
    header = headers.get(column, column) if isinstance(headers, Mapping) else column
    metadata = folder.path / folder.metadata_file
    if named is None and metadata.suffix == ".toml":
        raise LoadingError(metadata, f"key {KEY!r} is missing", hint=f'add: {KEY} = "{COLUMN}"')
    if named is None and folder.table is not None and column in folder.table.columns:
        problem = f"has a column {column!r} already"
        raise LoadingError(folder.path / folder.data_file, problem, hint=f"name one with {KEY!r}")
    change = _lines_with if folder.data_file.endswith(".jsonl") else _rows_with
    data = folder.path / folder.data_file
    text = data.read_bytes().decode("utf-8-sig")
    _replace(data, change(text, str(header), by_line))
    if named is None:
        content: dict[str, Any] = {**folder.metadata, KEY: column}
        indent = 4 if '\n    "' in subject.text(folder.metadata_file) else 2
        _replace(metadata, json.dumps(content, indent=indent, ensure_ascii=False) + "\n")
    return len(by_line)


def _rows_with(text: str, header: str, by_line: Mapping[int, str]) -> str:
    ending = "\r\n" if "\r\n" in text else "\n"
    reader = csv.reader(io.StringIO(text, newline=""), strict=True)
    stream = io.StringIO()
    writer = csv.writer(stream, lineterminator=ending)
    place: int | None = None
    names: list[str] | None = None
    while True:
        line = reader.line_num + 1
        row = next(reader, None)
        if row is None:
            return stream.getvalue()
        if not row:
            continue
        if names is None:
            names = row
            place = row.index(header) if header in row else None
            writer.writerow(row if place is not None else [*row, header])
            continue
        why = by_line.get(line, "")
        if place is None:
            writer.writerow([*row, why])
        else:
            row[place] = why or row[place]
            writer.writerow(row)


def _lines_with(text: str, header: str, by_line: Mapping[int, str]) -> str:
    lines: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        if not line.strip():
            lines.append(line)
            continue
        row: dict[str, JsonValue] = json.loads(line)
        row[header] = by_line.get(number) or row.get(header, "")
        lines.append(json.dumps(row, ensure_ascii=False))
    return "\n".join(lines)


def _replace(path: Path, text: str) -> None:
    try:
        with replace_file(path) as file:
            file.write(text.encode("utf-8"))
    except OSError as fault:
        raise LoadingError(path, f"cannot be written: {fault.strerror or fault}") from fault
