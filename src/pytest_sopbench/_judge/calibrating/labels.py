"""The table that people label: one row for each answer, and whether it is right."""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final, NoReturn

from pytest_sopbench._core.values.normalise import fold
from pytest_sopbench._loading.files.suggestions import did_you_mean, listed, shown
from pytest_sopbench._loading.files.table import Table, read_table
from pytest_sopbench._sessions.file.atomic import add_file
from pytest_sopbench.errors import JudgeError, LoadingError, RowError

LABEL: Final = "label"
NEEDED: Final = ("domain", "field", "expected", "actual", LABEL)
COLUMNS: Final = ("domain", "task", "trial", "agent", "field", "expected", "actual", LABEL)
"""Of a table that is made here; one of a user's own may lack those that are not needed."""

YES: Final = frozenset({"yes", "y", "true", "1", "right", "held", "correct"})
NO: Final = frozenset({"no", "n", "false", "0", "wrong", "not held", "incorrect"})

_FORMULA: Final = re.compile(r"'*[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")
"""How a cell begins that a spreadsheet would compute, or that was defused already."""

_DEFUSED: Final = re.compile(r"'+[=+\-@\t\r\uff1d\uff0b\uff0d\uff20]")


@dataclass(frozen=True, slots=True, kw_only=True)
class LabelledCase:
    """One answer to one field, and what people say of it.

    Attributes:
        domain: the domain.
        field: the output field.
        expected: the expected value, as text.
        actual: the value that the agent gave, as text.
        label: whether people call it right; `None` where they have not said yet.
        run: the task with its trial and agent, for people; may be empty.
        line: the line of the table.
    """

    domain: str
    field: str
    expected: str
    actual: str
    label: bool | None = None
    run: tuple[str, str, str] = ("", "", "")
    line: int = 0

    @property
    def name(self) -> str:
        """What it is called in a list: the task with its trial and agent, else its line."""
        task, trial, agent = self.run
        told = f"{task}/t{trial}" if trial not in {"", "1"} else task
        return f"row {self.line}{f', {told}' if told else ''}{f' ({agent})' if agent else ''}"


def defused(cell: str) -> str:
    """Return a cell that no spreadsheet takes for a formula."""
    return f"'{cell}" if _FORMULA.match(cell) else cell


def as_it_was(cell: str) -> str:
    """Return what was defused."""
    return cell[1:] if _DEFUSED.match(cell) else cell


def read_labels(path: Path) -> tuple[LabelledCase, ...]:
    """Read a table of labels; a row without a label has none yet.

    Raises:
        LoadingError: the file cannot be read, or lacks a column.
        RowError: a label means nothing, or the same answer of a run stands twice.
    """
    table = read_table(path)
    places = _places(table)
    cases: list[LabelledCase] = []
    lines: dict[object, int] = {}
    for line, row in zip(table.lines, table.rows, strict=True):
        cells = {
            name: as_it_was(str("" if row[place] is None else row[place]))
            for name, place in places.items()
        }
        case = _case(path, line, cells)
        first = lines.setdefault((case.domain, case.field, case.expected, case.actual), line)
        if first != line:
            raise RowError(
                path,
                f"the same field, expected value and answer as in row {first}",
                row=line,
                hint="label each answer once, and remove one of the rows",
            )
        cases.append(case)
    if all(case.label is None for case in cases):
        hint = "write yes or no into the column: is this answer right by the rubric?"
        raise LoadingError(path, "no row has a label", column=LABEL, hint=hint)
    return tuple(cases)


def write_cases(path: Path, cases: Sequence[LabelledCase]) -> None:
    """Write a table for people to label, whose column `label` is empty.

    Raises:
        JudgeError: the file is there already, with what people may have written; or the disk does
            not take it.
    """
    import csv  # noqa: PLC0415 - few sessions write a table
    import io  # noqa: PLC0415

    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for case in cases:
        cells = (case.domain, *case.run, case.field, case.expected, case.actual)
        writer.writerow([*map(defused, cells), ""])
    try:
        with add_file(path) as file:
            # With its mark, by which spreadsheets know UTF-8.
            file.write(text.getvalue().encode("utf-8-sig", "backslashreplace"))
    except FileExistsError:
        msg = f"{path}: the file is there already, and may hold labels"
        raise JudgeError(msg, hint="name another one: --out PATH") from None
    except OSError as fault:
        msg = f"{path}: cannot be written: {fault.strerror or fault}"
        raise JudgeError(msg, hint="name another file: --out PATH") from None


def _places(table: Table) -> Mapping[str, int]:
    found = {fold(name): place for place, name in reversed([*enumerate(table.columns)])}
    for name in NEEDED:
        if name not in found:
            _refuse_columns(table.path, name, table.columns)
    return {name: found[name] for name in COLUMNS if name in found}


def _refuse_columns(path: Path, name: str, columns: Collection[str]) -> NoReturn:
    if len(columns) == 1 and any(sign in next(iter(columns)) for sign in ";\t"):
        hint = "its cells are parted by other signs; save it as CSV with commas"
    else:
        near = did_you_mean(name, columns)
        hint = near or f"it has {listed(columns)}; sopbench judge sample writes such a table"
    raise LoadingError(path, f"the column {name!r} is missing", row=1, hint=hint)


def _case(path: Path, line: int, cells: Mapping[str, str]) -> LabelledCase:
    for name in ("domain", "field"):
        if not cells[name].strip():
            raise RowError(path, "empty", row=line, column=name, hint=f"name the {name}")
    return LabelledCase(
        domain=cells["domain"].strip(),
        field=cells["field"].strip(),
        expected=cells["expected"],
        actual=cells["actual"],
        label=_label(path, line, cells[LABEL]),
        run=(cells.get("task", ""), cells.get("trial", ""), cells.get("agent", "")),
        line=line,
    )


def _label(path: Path, line: int, cell: str) -> bool | None:
    word = fold(cell)
    if word in YES or word in NO:
        return word in YES
    if not word:
        return None
    raise RowError(
        path,
        f"{shown(cell)} is no label",
        row=line,
        column=LABEL,
        hint="write yes or no, or leave it empty where you cannot say",
    )
