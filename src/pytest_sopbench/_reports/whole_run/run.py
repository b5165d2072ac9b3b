"""Everything that is known of one run: what came of it first, then what it rests on."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field

from pytest_sopbench._core.answers.forms.table import FORMS
from pytest_sopbench._core.model.trace import Trace
from pytest_sopbench._core.model.trajectory import ExpectedCall
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._reports.failure.broken_rules import rule_name
from pytest_sopbench._reports.failure.task import headline, next_lines, usage_text
from pytest_sopbench._reports.text.layout import LABEL_WIDTH, one_line, shown
from pytest_sopbench._reports.text.shown_calls import shown_calls

from .blocks import Page, text_lines
from .calls import beside_lines, call_blocks, departure_of
from .documents import path_lines


@dataclass(frozen=True, slots=True, kw_only=True)
class WholeRun:
    """One run, and what its domain and its event log say of it.

    Attributes:
        record: the run as the session keeps it.
        trace: what its event log holds; `None` where there is none.
        log: where the event log lies, or empty.
        without_log: why there is none, or none that can be read.
        inputs: of the task, without private ones; `None` where the domain is not found.
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
    yield from page.values("expected", dict(record.expected))
    if record.answer is not None:
        yield from page.values("answer", dict(record.answer))
    if record.document is None:
        for one in record.mismatches:
            yield from page.text("field", f"{one.field}: {one.why}")
    else:
        yield from path_lines(record.document, record, page)
    if record.answer_form in FORMS and record.answer is not None:
        yield from page.text("found", FORMS[record.answer_form].heading)


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
