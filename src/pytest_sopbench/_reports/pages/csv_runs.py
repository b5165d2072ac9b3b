"""The runs of a session as CSV: one line each, for a spreadsheet or pandas."""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from operator import attrgetter
from typing import Final, TypeAlias

from pytest_sopbench._core.comparison import SessionComparison
from pytest_sopbench._core.gates.decide import SessionPage
from pytest_sopbench._core.hiding import ready_to_cut, without_commands, without_controls
from pytest_sopbench._core.metrics.metric import About, cell_of, run_columns
from pytest_sopbench._core.model.task import TaskKey
from pytest_sopbench._core.model.usage import COUNTS
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.values.json import JsonValue

# Values as cells of CSV that no spreadsheet, terminal or CI server takes for more than data.

_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_PLAIN: Final = re.compile(r"[A-Za-z0-9](?:[\w .,()/'-]|:(?!:))*|", re.ASCII)
"""What is nothing but data to anybody, as nearly all cells are."""

_SIGNS: Final = "=+@\uff1d\uff0b\uff0d\uff20-"
"""What begins a formula, also where a keyboard writes it wider."""

_FORMULA: Final = re.compile(rf"\A(?=[\s'\"]*[{_SIGNS}])|(?<=;)(?=[\s'\"]*[{_SIGNS}])")
"""At the start of a cell, and behind a semicolon: where a comma stands in numbers, as in German,
a spreadsheet begins the next cell there."""


def cell(value: JsonValue) -> str:
    """Return what stands in a cell: text as it is, anything else as JSON, nothing for `None`."""
    if value is None:
        return ""
    if isinstance(value, str):
        return text_cell(value)
    if isinstance(value, bool | int | float):
        return json.dumps(value)
    return text_cell(json.dumps(value, ensure_ascii=False))


def text_cell(text: str) -> str:
    """Return a text on one line, with `'` before what a spreadsheet would take for a formula.

    What a terminal or a CI server would take for a command is escaped. A plain number stays one.
    """
    if _PLAIN.fullmatch(text) or _NUMBER.fullmatch(text):
        return ready_to_cut(text)
    shown = without_commands(without_controls(ready_to_cut(text)))
    line = shown.replace("\n", "\\n").replace("\t", "\\t")
    # No file takes half of a character.
    return _FORMULA.sub("'", line.encode("utf-8", "backslashreplace").decode())


Column: TypeAlias = Callable[[RunRecord], JsonValue]


def csv_runs(page: SessionPage) -> str:
    """Return a line of names, then one line for each planned run, in the order of the session.

    What a run did not tell is empty, and never 0. The expected and the actual value of an output
    field stand side by side.
    """
    columns = _columns(page)
    text = io.StringIO()
    write = csv.writer(text, lineterminator="\n").writerow
    write(map(cell, columns))
    for record in page.records:
        write(cell(column(record)) for column in columns.values())
    return text.getvalue()


def _columns(page: SessionPage) -> Mapping[str, Column]:
    """Return what each column tells of a run, by its name."""
    metrics = {name: partial(cell_of, metric) for name, metric in run_columns().items()}
    return {
        "domain": attrgetter("domain"),
        "task": attrgetter("task"),
        "trial": attrgetter("trial"),
        "agent": attrgetter("agent"),
        "outcome": lambda one: one.outcome.value,
        **metrics,
        "may_fail": lambda one: page.forgiven.leaves_out(one, About.ANSWERS),
        "change": _changes(page.comparison),
        "reason": attrgetter("reason"),
        "wrong_fields": lambda one: _listed(found.field for found in one.mismatches),
        **_field_columns(page.records),
        "rules_broken": lambda one: _listed(found.id for found in one.rules if found.broken),
        "rules_forgiven": lambda one: _listed(page.forgiven.broken_rules(one)),
        "calls": lambda one: len(one.calls),
        "unneeded_calls": lambda one: None if one.unneeded is None else sum(one.unneeded.values()),
        "unneeded_tools": lambda one: _listed(one.unneeded or ()),
        "duration_s": attrgetter("duration_s"),
        **{name: attrgetter(f"usage.{name}") for name in COUNTS},
        "model": attrgetter("usage.model"),
    }


def _field_columns(records: Sequence[RunRecord]) -> Mapping[str, Column]:
    # Those that the data file knows first, in its order; an agent may have answered others.
    expected = dict.fromkeys(name for one in records for name in one.expected)
    answered = dict.fromkeys(name for one in records for name in one.answer or ())
    columns: dict[str, Column] = {}
    for name in {**expected, **answered}:
        columns[f"expected.{name}"] = partial(_expected, name)
        columns[f"actual.{name}"] = partial(_actual, name)
    return columns


def _expected(name: str, record: RunRecord) -> JsonValue:
    return record.expected.get(name)


def _actual(name: str, record: RunRecord) -> JsonValue:
    return (record.answer or {}).get(name)


def _changes(compared: SessionComparison | None) -> Column:
    """Return what tells what became of the task of a run since the baseline, or nothing."""
    kinds: dict[TaskKey, str] = {}
    if compared is not None:
        kinds |= dict.fromkeys(compared.pooled.gained, "gained")
        kinds |= dict.fromkeys(compared.pooled.lost, "lost")

    def change(record: RunRecord) -> str:
        # Where the session has one agent, a comparison does not name it.
        own = TaskKey(record.domain, record.task, record.agent)
        return kinds.get(own) or kinds.get(TaskKey(record.domain, record.task), "")

    return change


def _listed(names: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(names))
