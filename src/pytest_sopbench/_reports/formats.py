"""The formats in which a page on a session can be written; first those that are data.

JSON is for programs, CSV for spreadsheets and pandas. Markdown and HTML are modules of their own,
and packages may add more.
"""

from __future__ import annotations

import csv
import io
import json
import re
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from importlib.util import find_spec
from operator import attrgetter
from typing import Any, Final, TypeAlias, cast

from pytest_sopbench._core.comparison import SessionComparison, comparison_to_json
from pytest_sopbench._core.gates.calibration import judge_report_to_json
from pytest_sopbench._core.gates.conditions import GateState, verdict_to_json
from pytest_sopbench._core.gates.decide import SessionPage
from pytest_sopbench._core.gates.quarantine import Forgiven
from pytest_sopbench._core.hiding import (
    Mask,
    current_mask,
    harmless,
    masking,
    ready_to_cut,
    without_commands,
    without_controls,
)
from pytest_sopbench._core.installing import install_hint
from pytest_sopbench._core.metrics.metric import About, cell_of, run_columns
from pytest_sopbench._core.metrics.total import summary_to_json, totals_to_json
from pytest_sopbench._core.model.task import TaskKey
from pytest_sopbench._core.model.usage import COUNTS
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.markdown import markdown
from pytest_sopbench._reports.text import json_text
from pytest_sopbench._settings.extensions import installed_formats, loaded, source_of
from pytest_sopbench._settings.readers import ANNOTATIONS
from pytest_sopbench.errors import ExtensionError

# A session as one JSON document: what came of it, and what changed.
#
# Its shape is promised by `docs/files/session-report.schema.json`. A key that is added keeps
# `SCHEMA`; one that goes, or means something else, raises it.

SCHEMA: Final = 1


def json_document(page: SessionPage) -> str:
    """Return the document, with its last line ended; what is unknown is `null`."""
    return f"{json_text(_masked(_document(page), current_mask()))}\n"


def _document(page: SessionPage) -> dict[str, Any]:
    compared = page.comparison
    return {
        "type": "session_report",
        "schema": SCHEMA,
        "agent": page.agent,
        "facts": dict(page.facts),
        "verdict": {
            "state": _state(page),
            "gates": [verdict_to_json(one) for one in page.gates],
            "not_evaluated": page.not_evaluated,
            "failures": page.failures,
            "remarks": list(page.remarks),
        },
        "domains": {name: summary_to_json(one) for name, one in page.summaries.items()},
        # One shape for one agent and for several.
        "agents": None,
        **totals_to_json(page.summaries),
        "judge": None if page.judge is None else judge_report_to_json(page.judge),
        "comparison": None
        if compared is None
        else {"agents": None, **comparison_to_json(compared)},
        "not_correct": [
            _run(one, page.forgiven) for one in page.records if one.outcome is not Outcome.CORRECT
        ],
    }


def _state(page: SessionPage) -> str:
    states = {one.state for one in page.gates}
    if GateState.FAILS in states:
        return GateState.FAILS.value
    if page.failures:
        return "failed"
    if page.not_evaluated:
        return "not evaluated"
    if GateState.INCONCLUSIVE in states:
        return GateState.INCONCLUSIVE.value
    return GateState.HOLDS.value if states else "not checked"


def _run(record: RunRecord, forgiven: Forgiven) -> Mapping[str, Any]:
    return {
        "domain": record.domain,
        "task": record.task,
        "trial": record.trial,
        "agent": record.agent,
        "outcome": record.outcome.value,
        "reason": record.reason,
        "may_fail": forgiven.leaves_out(record, About.ANSWERS),
        "mismatches": [
            {"field": one.field, "expected": one.expected, "actual": one.actual, "why": one.why}
            for one in record.mismatches
        ],
        "rules_broken": [one.id for one in record.rules if one.broken],
        "rules_forgiven": [*forgiven.broken_rules(record)],
    }


def _masked(value: object, mask: Mask) -> object:
    """Return a value with each of its texts masked: in finished JSON a mask may hit a number."""
    if isinstance(value, str):
        return mask(value)
    if isinstance(value, Mapping):
        pairs = cast("Mapping[str, object]", value).items()
        return {name: _masked(one, mask) for name, one in pairs}
    if isinstance(value, Sequence):
        return [_masked(one, mask) for one in cast("Sequence[object]", value)]
    return value


# The runs of a session as CSV: one line each, and cells that no spreadsheet, terminal or CI server
# takes for more than data.

_NUMBER: Final = re.compile(r"[+-]?(?:[0-9]+(?:\.[0-9]*)?|\.[0-9]+)(?:[eE][+-]?[0-9]+)?")
_PLAIN: Final = re.compile(r"[A-Za-z0-9](?:[\w .,()/'-]|:(?!:))*|", re.ASCII)
"""What is nothing but data to anybody, as nearly all cells are."""

_SIGNS: Final = "=+@\uff1d\uff0b\uff0d\uff20-"
"""What begins a formula, also if a keyboard writes it wider."""

_FORMULA: Final = re.compile(rf"\A(?=[\s'\"]*[{_SIGNS}])|(?<=;)(?=[\s'\"]*[{_SIGNS}])")
"""At the start of a cell, and behind a semicolon: if a comma stands in numbers, as in German,
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
        # If the session has one agent, a comparison does not name it.
        own = TaskKey(record.domain, record.task, record.agent)
        return kinds.get(own) or kinds.get(TaskKey(record.domain, record.task), "")

    return change


def _listed(names: Iterable[str]) -> str:
    return " ".join(dict.fromkeys(names))


# All formats, by their names.

HTML: Final = "html"
MISSING: Final = (
    f"jinja2 is not installed, which an HTML page needs: {install_hint('jinja2', extra='html')}"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PageFormat:
    """A way to write a page.

    Attributes:
        name: as in `--sop-report NAME=PATH`.
        render: returns the whole text of a page, with its last line ended.
        masks: whether it masks each text by itself: in a finished one a mask could hit half a
            number.
        source: the package and the entry point that it comes from; empty for those of the plugin.
    """

    name: str
    render: Callable[[SessionPage], object]
    masks: bool = False
    source: str = ""


def _html(page: SessionPage) -> str:
    # jinja2 comes with an extra, and a session that writes no HTML does not load its half.
    from pytest_sopbench._reports.html.page import html_page  # noqa: PLC0415

    return html_page(page)


_IN_ORDER: Final = (
    PageFormat(name="md", render=markdown),
    PageFormat(name="csv", render=csv_runs, masks=True),
    PageFormat(name="json", render=json_document, masks=True),
    PageFormat(name=HTML, render=_html, masks=True),
)

FORMATS: Final[dict[str, PageFormat]] = {one.name: one for one in _IN_ORDER}
"""Every format of the plugin by its name; a new one is a function and a row."""


def format_names() -> tuple[str, ...]:
    """Return the names of all formats, those of packages last; no package is imported.

    Raises:
        ExtensionError: a package has a name that is taken.
    """
    points = installed_formats()
    for point in points:
        if point.name in {*FORMATS, ANNOTATIONS}:
            msg = f"{source_of(point)}: the report format {point.name!r} is the plugin's own"
            raise ExtensionError(msg, hint="give the entry point another name")
    names = [point.name for point in points]
    for point in points:
        if names.count(point.name) > 1:
            msg = f"{source_of(point)}: two packages have a report format {point.name!r}"
            raise ExtensionError(msg, hint="uninstall one of them")
    return (*FORMATS, *names)


def find_format(name: str) -> PageFormat:
    """Return a format by its name, which `format_names` has.

    Raises:
        ExtensionError: that of a package cannot be imported, or cannot be called.
    """
    if name in FORMATS:
        return FORMATS[name]
    point = next(one for one in installed_formats() if one.name == name)
    render = loaded(point)
    if not callable(render):
        msg = f"{source_of(point)}: no function, but {type(render).__name__}"
        raise ExtensionError(msg, hint="name one that is given a SessionPage, and returns a text")
    return PageFormat(name=name, render=render, source=source_of(point))


def rendered(name: str, page: SessionPage, mask: Mask) -> str:
    """Return the whole text of a page, without what `mask` takes out of texts.

    Raises:
        ExtensionError: the format of a package fails.
    """
    found = find_format(name)
    with masking(mask):
        text = _text_of(found, page, mask)
    if found.source:
        # Nobody has looked at what a package writes, which may also stand on a terminal.
        text = harmless(text).encode("utf-8", "backslashreplace").decode().rstrip("\n") + "\n"
    return text if found.masks else mask(text)


def _text_of(found: PageFormat, page: SessionPage, mask: Mask) -> str:
    try:
        text = found.render(page)
    except KeyboardInterrupt:
        raise
    except BaseException as fault:
        if not found.source:
            raise
        # Code of a package, which may also end the process.
        why = f"raised {type(fault).__name__}: {mask(' '.join(str(fault).split()))[:200]}"
        msg = f"{found.source}: the report format {found.name} {why}"
        raise ExtensionError(msg) from fault
    if not isinstance(text, str):
        msg = f"{found.source}: the report format {found.name} returned {type(text).__name__}"
        raise ExtensionError(msg, hint="it returns the text of the page")
    return text


# What must be installed before an HTML page can be written.


def missing_for(name: str) -> str:
    """Say what a format lacks and how it is installed; nothing if it can be written."""
    return MISSING if name == HTML and find_spec("jinja2") is None else ""
