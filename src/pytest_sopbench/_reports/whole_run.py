"""One run with all that is known of it."""

from __future__ import annotations

import json
from bisect import bisect_right
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from decimal import Decimal
from itertools import accumulate, zip_longest
from typing import Final

from pytest_sopbench._core.answers.values import FORMS
from pytest_sopbench._core.metrics.counts import wrong_of
from pytest_sopbench._core.model.trace import Trace
from pytest_sopbench._core.records.record import DocumentRecord, RunRecord, is_cut
from pytest_sopbench._core.trajectory.calls import ExpectedCall
from pytest_sopbench._core.trajectory.match import TrajectoryMatch
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.text import read_number
from pytest_sopbench._core.verdict import COMPLETED
from pytest_sopbench._reports.failure import headline, next_lines, rule_name, usage_text
from pytest_sopbench._reports.trajectory import (
    aligned_rows,
    call_text,
    departure_row,
    difference_text,
    matched,
)

from .text import LABEL_WIDTH, ShownCall, columns, one_line, padded, seconds, shown, shown_calls

# Blocks of text: a label with all of a value beside it, wrapped, and folded if it is long.

FOLD: Final = 40
"""Lines of one block from which on the rest is folded away."""

NARROWEST: Final = 60
"""Columns that a page has at least, however narrow the terminal is."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Page:
    """Where blocks are written: columns, and whether long ones are folded."""

    width: int
    is_folded: bool = True

    @property
    def room(self) -> int:
        """The columns beside a label."""
        return max(self.width, NARROWEST) - LABEL_WIDTH

    def block(self, label: str, lines: Iterable[str]) -> Iterator[str]:
        """Yield lines with a label before the first; nothing without a line."""
        every = list(lines)
        left = len(every) - FOLD
        if self.is_folded and left > 0:
            # The line that says so is one of those that are shown.
            every = [*every[: FOLD - 1], f"... {left + 1} more lines; --full shows them"]
        for number, line in enumerate(every):
            yield f"{'' if number else label:<{LABEL_WIDTH}}{line}".rstrip()

    def text(self, label: str, text: str) -> Iterator[str]:
        """Yield a text as it was written, line by line."""
        return self.block(label, text_lines(text, self.room))

    def values(self, label: str, values: JsonValue) -> Iterator[str]:
        """Yield named values below one another, each in full; anything else as it is."""
        if not isinstance(values, Mapping) or cut_value(values) or not values:
            return self.value(label, values)
        return self.block(label, _named_lines(values, self.room))

    def value(self, label: str, value: JsonValue) -> Iterator[str]:
        """Yield one value in full."""
        return self.block(label, value_lines(value, self.room))


def wrapped(line: str, width: int) -> Iterator[str]:
    """Yield parts of a line that fit, broken at blanks if there are any."""
    begin = 0
    # Of each part only so much is looked at as may fit: a line may have millions of signs.
    while columns(part := line[begin : begin + width + 1]) > width:
        ends = list(accumulate(map(columns, part)))
        end = max(bisect_right(ends, width), 1)
        blank = part.rfind(" ", 0, end + 1)
        # A blank before any word is an indent, and no place to break at.
        end = blank if blank > 0 and part[:blank].strip() else end
        yield part[:end].rstrip(" ")
        begin += end
        while line.startswith(" ", begin):
            begin += 1
    yield part


def text_lines(text: str, width: int) -> Iterator[str]:
    """Yield a text of any lines, without what could move a cursor."""
    for line in text.splitlines() or [""]:
        yield from wrapped(one_line(line.expandtabs(4)), width)


def value_lines(value: JsonValue, width: int) -> Iterator[str]:
    """Yield a value on one line if it fits, else as text or as indented JSON."""
    said = cut_value(value)
    line = said or shown(value)
    if said or columns(line) <= width:
        yield from wrapped(line, width)
    elif isinstance(value, str):
        yield from text_lines(value, width)
    else:
        yield from text_lines(json.dumps(value, indent=2, ensure_ascii=False), width)


def cut_value(value: JsonValue) -> str:
    """Say what a record holds in place of a value that was too long; nothing if it has it."""
    if not isinstance(value, Mapping) or not is_cut(value):
        return ""
    return f"too long for the session: {value['characters']} characters, sha256 {value['sha256']}"


def _named_lines(values: Mapping[str, JsonValue], width: int) -> Iterator[str]:
    for name, value in values.items():
        start = f"{one_line(name)}: "
        lines: Sequence[str] = list(value_lines(value, max(width - columns(start), 1)))
        if len(lines) == 1:
            yield from wrapped(f"{start}{lines[0]}", width)
            continue
        yield start.rstrip()
        yield from (f"  {line}" for line in value_lines(value, width - 2))


# Each tool call of a run as a block, and the expected calls beside the actual ones.


def call_blocks(calls: Sequence[ShownCall], page: Page) -> Iterator[str]:
    """Yield each call with its arguments and what came back, in full."""
    for step, one in enumerate(calls, start=1):
        yield from page.text(f"call {step}", f"{one_line(one.name)}{_when(one)}")
        yield from page.values("  with", one.arguments)
        for finding in one.findings:
            yield from page.text("  bad", finding)
        if one.error is None:
            yield from page.values("  result", one.result)
        else:
            yield from page.text("  error", one.error)
        for change in one.changed:
            yield from page.text("  state", change)


def _when(call: ShownCall) -> str:
    if call.began is None or call.took is None:
        return ""
    return f"  (began after {seconds(call.began)}, took {seconds(call.took)})"


def beside_lines(
    calls: Sequence[ShownCall], expected: Sequence[ExpectedCall], page: Page
) -> Iterator[str]:
    """Yield the expected calls beside the actual ones; `>` marks the first departure."""
    if any(cut_value(one.arguments) for one in calls):
        yield from page.text("expected", "these calls; what was called was too long to compare")
        for place, wanted in enumerate(expected, start=1):
            yield from page.text("", f"{place} {_wanted_text(wanted)}")
        return
    found = matched(calls, expected)
    if found.departure is None:
        yield from page.text("expected", "exactly these calls")
        return
    yield from _table(found, calls, expected, max(page.width, NARROWEST))
    for one in found.departure.differences:
        yield from page.block("differs", wrapped(difference_text(one), page.room))


def departure_of(calls: Sequence[ShownCall], expected: Sequence[ExpectedCall]) -> str:
    """Return where calls depart from the expected ones, in the words of a record."""
    found = matched(calls, expected).departure
    return f"step {found.step}: {found.why}" if found else ""


def _table(
    found: TrajectoryMatch, calls: Sequence[ShownCall], expected: Sequence[ExpectedCall], width: int
) -> Iterator[str]:
    rows = aligned_rows(found)
    at = departure_row(rows, found.departure) if found.departure else None
    side = (width - 8) // 2
    yield f"     {padded('expected', side)}  actual"
    for index, row in enumerate(rows):
        left = _wanted_text(expected[row.place - 1]) if row.place else "-"
        call = calls[row.step - 1] if row.step else None
        right = one_line(call_text(call.name, call.arguments)) if call else "-"
        step = str(row.step) if row.step else "-"
        start = f"{'>' if index == at else ' '}{step:>3} "
        for one, other in zip_longest(
            text_lines(left, side), text_lines(right, side), fillvalue=""
        ):
            yield f"{start}{padded(one, side)}  {other}".rstrip()
            start = " " * len(start)


def _wanted_text(call: ExpectedCall) -> str:
    arguments: Mapping[str, JsonValue] | None = call.arguments
    return one_line(call_text(call.name, None if arguments is None else dict(arguments)))


# An answer that is a JSON document, path by path.


def path_lines(document: DocumentRecord, record: RunRecord, page: Page) -> Iterator[str]:
    """Yield each path that differs, expected and actual, and those that are right by name."""
    if record.outcome not in COMPLETED:
        return
    for one in record.mismatches:
        yield from page.text("path", f"{one.field}: {one.why}")
        yield from page.text("asked", shown(one.expected))
        yield from page.text("given", shown(one.actual))
    wrong = wrong_of(document, record)
    right = [path for path in document.paths if path not in wrong]
    every = len(wrong.union(document.paths))
    yield from page.text("right", f"{len(right)} of {every} paths: {', '.join(right) or 'none'}")


# Everything that is known of one run: what came of it first, then what it rests on.


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeRun:
    """One run, and what its domain and its event log say of it.

    Attributes:
        record: the run as the session keeps it.
        trace: what its event log holds; `None` if there is none.
        log: where the event log lies, or empty.
        without_log: why there is none, or none that can be read.
        inputs: of the task, without private ones; `None` if the domain is not found.
        location: the file and line of the task's row, or empty.
        expected_calls: the calls that are expected of the task.
        clauses: what each clause says, by its number in the SOP.
        remarks: what is not known, or was changed since.
        again: the command that makes the run again, or empty.
    """

    record: RunRecord
    trace: Trace | None = None
    log: str = ""
    without_log: str = ""
    inputs: Mapping[str, JsonValue] | None = None
    location: str = ""
    expected_calls: Sequence[ExpectedCall] = ()
    clauses: Mapping[str, str] = field(default_factory=dict[str, str])
    remarks: tuple[str, ...] = ()
    again: str = ""


CHANGED = "the expected calls were changed since: the run was judged by others"


def run_lines(run: WholeRun, page: Page) -> Iterator[str]:
    """Yield all of a run, in blocks."""
    record, trace = run.record, run.trace
    yield from text_lines(headline(record), page.room + LABEL_WIDTH)
    trial = f" (trial {record.trial})" if record.trial > 1 else ""
    yield from page.text("task", f"{record.domain}/{record.task}{trial}  {run.location}".rstrip())
    yield from page.text("agent", record.agent) if record.agent else ()
    yield from page.values("inputs", dict(run.inputs)) if run.inputs else ()
    yield from _answer_lines(record, page)
    yield from _rule_lines(run, page)
    yield from _call_lines(run, page)
    yield from _approval_lines(trace, page)
    yield from _message_lines(trace, page)
    yield from _text_lines(record, trace, page)
    yield from _problem_lines(record, page)
    yield from _end_lines(run, page)


def _answer_lines(record: RunRecord, page: Page) -> Iterator[str]:
    given = record.answer or {}
    expected = {name: _as_given(one, given.get(name)) for name, one in record.expected.items()}
    yield from page.values("expected", expected)
    if record.answer is not None:
        yield from page.values("answer", dict(record.answer))
    if record.document is None:
        for one in record.mismatches:
            yield from page.text("field", f"{one.field}: {one.why}")
    else:
        yield from path_lines(record.document, record, page)
    if record.answer_form in FORMS and record.answer is not None:
        yield from page.text("found", FORMS[record.answer_form])
    for differs in record.state_differs:
        yield from page.text("state", differs)


_LARGE: Final = 1e15
"""From here on a whole number is written with an exponent."""


def _as_given(expected: JsonValue, answer: JsonValue) -> JsonValue:
    """Return a number of a cell as a number, if the answer beside it is one."""
    is_number = isinstance(answer, int | float) and not isinstance(answer, bool)
    number = read_number(expected) if is_number and isinstance(expected, str) else None
    if number is None:
        return expected
    same = float(number)
    if Decimal(same) != number and Decimal(repr(same)) != number:
        # It has more digits than a float.
        return expected
    return int(same) if same.is_integer() and abs(same) < _LARGE else same


def _rule_lines(run: WholeRun, page: Page) -> Iterator[str]:
    broken = [one for one in run.record.rules if one.broken]
    for one in sorted(broken, key=lambda rule: rule.severity.value):
        yield from page.text("rule", f"{rule_name(one)} broken: {one.why}")
        if one.clause in run.clauses:
            said = run.clauses[one.clause] or f"{one.clause}: not found in the SOP by its number"
            yield from page.text("  clause", said)


def _call_lines(run: WholeRun, page: Page) -> Iterator[str]:
    record, calls = run.record, shown_calls(run.record, run.trace)
    if record.duration_s is None:
        yield from page.text("calls", "n/a: the process of the run died, or it never began")
        return
    if record.trajectory is not None and not record.trajectory.held:
        yield from page.text("departs", record.trajectory.departure)
    if run.expected_calls:
        yield from beside_lines(calls, run.expected_calls, page)
        was = record.trajectory.departure if record.trajectory else None
        if was != departure_of(calls, run.expected_calls):
            yield from page.text("note", CHANGED)
    if not calls and record.document is None:
        yield from page.text("calls", "none: the agent called no tool")
    yield from call_blocks(calls, page)


def _approval_lines(trace: Trace | None, page: Page) -> Iterator[str]:
    for one in trace.approvals if trace else ():
        verb = "approved" if one.granted else "denied"
        why = f": {one.reason}" if one.reason else ""
        yield from page.text("approval", f"{one.step} {verb} by {one.by}{why}")


def _message_lines(trace: Trace | None, page: Page) -> Iterator[str]:
    for number, message in enumerate(trace.messages if trace else (), start=1):
        if not isinstance(message, Mapping):
            yield from page.value(f"msg {number}", message)
            continue
        role = message.get("role")
        yield from page.text(f"msg {number}", role if isinstance(role, str) else shown(role))
        rest = {name: value for name, value in message.items() if name != "role"}
        content = rest.get("content")
        if isinstance(content, str):
            yield from page.text("", content)
            del rest["content"]
        yield from page.values("", rest) if rest else ()


def _text_lines(record: RunRecord, trace: Trace | None, page: Page) -> Iterator[str]:
    returned = trace.returned if trace else None
    text = returned.text if returned is not None else record.text
    yield from page.text("said", text) if text else ()
    if trace is not None and trace.output:
        yield from page.text("output", trace.output)


def _problem_lines(record: RunRecord, page: Page) -> Iterator[str]:
    problem = record.problem
    if problem is not None:
        said = f"{problem.type}: {problem.message}" if problem.message else problem.type
        yield from page.text("raised", said)
        # As in a failure, so that it can be copied and searched for.
        yield from page.block("", map(one_line, problem.traceback.rstrip().splitlines()))


def _end_lines(run: WholeRun, page: Page) -> Iterator[str]:
    record = run.record
    if record.disagreement:
        said = f"the expected answer is known to contradict the SOP: {record.disagreement}"
        yield from page.text("disputed", said)
    if record.only_published:
        yield from page.text("note", "correct by the published scorer's rules only")
    for note in (*record.notes, *run.remarks):
        yield from page.text("note", note)
    took = usage_text(record)
    yield from page.text("took", took) if took else ()
    # A path is there to be copied.
    yield from page.block("log", [one_line(run.log)]) if run.log else ()
    yield from page.text("" if run.log else "log", run.without_log) if run.without_log else ()
    yield from next_lines(run.again)
