"""One run that is not correct, in the width of a terminal."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from functools import partial
from typing import TypeVar

from pytest_sopbench._core.answers.values import FORMS
from pytest_sopbench._core.contract import RuleResult, Severity
from pytest_sopbench._core.fields.comparison import number_kind
from pytest_sopbench._core.metrics.counts import RuleTally, wrong_of
from pytest_sopbench._core.model.trace import MISSING, Mismatch, Problem
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.trajectory.calls import ExpectedCall
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.text import as_words, read_number
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.text import (
    LABEL_WIDTH,
    WIDTH,
    amount,
    columns,
    counted,
    cut,
    fitted_names,
    labelled,
    labelled_values,
    money,
    one_line,
    seconds,
    shown,
)
from pytest_sopbench._reports.trajectory import call_lines

# The rules that a run has broken, as its failure shows them.

AnyRule = TypeVar("AnyRule", RuleResult, RuleTally)

_SHOWN = 5
"""Broken rules that one failure shows."""


def broken_lines(rules: Sequence[RuleResult], width: int) -> Iterator[str]:
    """Yield what a failure says of the rules that its run has broken."""
    broken = must_first([one for one in rules if one.broken])
    for one in broken[:_SHOWN]:
        yield from labelled("rule", f"{rule_name(one)}: {one_line(one.why)}", width=width, lines=2)
    left = len(broken) - _SHOWN
    if left > 0:
        yield from labelled("", f"and {counted(left, 'more rule')}", width=width)


def must_first(rules: Iterable[AnyRule]) -> list[AnyRule]:
    """Return rules with those before all others whose breach fails the session."""
    return sorted(rules, key=lambda one: one.severity is not Severity.MUST)


def rule_name(rule: RuleTally | RuleResult) -> str:
    said = [rule.clause] if rule.clause else []
    said += ["must"] if rule.severity is Severity.MUST else []
    return one_line(f"{rule.id} ({', '.join(said)})" if said else rule.id)


# What a task that is not correct prints: everything that a reader needs to understand it.

FRAMES = 30
"""Lines of a traceback that are printed; its first two and its end say most."""

JUDGED_AS_WELL = (
    "note     your assertions held; the answer is judged as well",
    '         (@pytest.mark.sop(answer="ignored") turns this off)',
)
"""Why a test of the user's fails though nothing in it did."""

_VALUE = 200
_INPUT_LINES = 4
_TEXT_LINES = 3


def failure_lines(
    record: RunRecord,
    *,
    inputs: Mapping[str, JsonValue] | None,
    rerun: str,
    location: str,
    expected: Sequence[ExpectedCall] = (),
    told_in: str = "",
) -> list[str]:
    """Return what is to be said of one run, 80 columns wide; the first line says the most.

    Tracebacks and the line to run it again are never cut: both are there to be copied. Nor is an
    argument that differs from the expected one.

    Args:
        record: the run, whatever its outcome.
        inputs: of the task, without private ones; `None` if they are not at hand.
        rerun: the command that runs exactly this task, or empty.
        location: the file and line of the task's row, or empty.
        expected: the calls that are expected of the task, if there are any.
        told_in: the task whose failure has shown this very traceback, or empty.
    """
    width, told = WIDTH, record.trajectory
    return [
        cut(headline(record), width),
        *_task_lines(record, location, width),
        *(_values_lines("inputs", inputs, width) if inputs else ()),
        *_answer_lines(record, width),
        *broken_lines(record.rules, width),
        *(
            labelled("departs", one_line(told.departure), width=width, lines=2)
            if told is not None and not told.held
            else ()
        ),
        *(call_lines(record, expected, width) if record.calls or not record.document else ()),
        *_problem_lines(record.problem, told_in, width),
        *_note_lines(record, width),
        *next_lines(rerun),
    ]


def next_lines(rerun: str, more: str = "") -> Iterator[str]:
    """Yield what a reader may do next; commands are there to be copied, and never cut."""
    for label, command in (("again", rerun), ("more", more)):
        if command:
            yield f"{label:<{LABEL_WIDTH}}{command}"


def headline(record: RunRecord) -> str:
    """Say in one line what came of a run."""
    outcome, problem = record.outcome, record.problem
    if outcome is Outcome.WRONG and not record.mismatches and record.state_differs:
        more = len(record.state_differs) - 1
        also = f" and {more} more" if more else ""
        return f"wrong state: {one_line(record.state_differs[0])}{also}"
    if outcome is Outcome.WRONG and len(record.mismatches) == 1:
        one = record.mismatches[0]
        return f"wrong: {one_line(one.field)} is {shown(one.actual)}, not {expected_text(one)}"
    if outcome is Outcome.WRONG:
        names = ", ".join(one_line(one.field) for one in record.mismatches)
        wrong, asked, noun = _differing(record)
        return f"wrong: {wrong} of {counted(asked, noun)} differ: {names}"
    broken = [rule for rule in record.rules if rule.broken]
    if outcome is Outcome.CORRECT and broken:
        # What fails the item comes first; the others only count.
        first = min(broken, key=lambda rule: rule.severity is not Severity.MUST)
        return f"correct, but {counted(len(broken), 'rule is', 'rules are')} broken: {first.id}"
    why = record.reason if outcome is not Outcome.CORRECT else ""
    if problem is not None and not why:
        why = f"{problem.type}: {problem.message}"
    return f"{outcome.value}: {one_line(why)}" if why else outcome.value


def value_line(record: RunRecord) -> str:
    """Say in one line what came of a run, with the values of all fields that differ."""
    if record.outcome is Outcome.WRONG and len(record.mismatches) > 1:
        # Shorter than the words of a headline, so that two fields find room on a line.
        pairs = (
            f"{one_line(one.field)} {expected_text(one)} -> {shown(one.actual)}"
            for one in record.mismatches
        )
        return f"wrong: {', '.join(pairs)}"
    return headline(record)


def expected_text(mismatch: Mismatch) -> str:
    """Return the expected value; a number as it is counted, and not as its cell writes it."""
    expected = mismatch.expected
    if isinstance(expected, str) and number_kind(mismatch):
        number = read_number(expected)
        return one_line(expected.strip()) if number is None else as_words(number)
    return shown(expected)


def _differing(record: RunRecord) -> tuple[int, int, str]:
    """Return how many fields, or paths of a document, differ, of how many, and which it is."""
    if record.document is None:
        return len(record.mismatches), len(record.expected), "field"
    wrong = wrong_of(record.document, record)
    return len(wrong), len(wrong.union(record.document.paths)), "path"


def _task_lines(record: RunRecord, location: str, width: int) -> Iterator[str]:
    trial = f" (trial {record.trial})" if record.trial > 1 else ""
    task = f"{one_line(record.domain)}/{one_line(record.task)}{trial}"
    line = f"{'task':<{LABEL_WIDTH}}{task}"
    if not location:
        yield line
    elif columns(line) + 2 + columns(location) <= width:
        yield f"{line}  {location}"
    else:
        yield line
        yield f"{'':{LABEL_WIDTH}}{location}"


def _answer_lines(record: RunRecord, width: int) -> Iterator[str]:
    first = headline(record)
    if columns(first) > width:
        yield from labelled("why", first, width=width, lines=_TEXT_LINES)
    for mismatch in record.mismatches:
        yield from _mismatch_lines(mismatch, width)
    wrong, asked, noun = _differing(record)
    if record.answer is None:
        yield from _values_lines("expected", record.expected, width)
        yield from _said_lines(record, width)
    elif record.mismatches and asked > wrong:
        matching = f"{asked - wrong} of {counted(asked, noun)} match"
        yield from labelled("", matching, width=width)
    elif not record.mismatches:
        yield from _values_lines("answer", record.answer, width)
    if record.answer_form in FORMS and record.answer is not None:
        yield from labelled("found", FORMS[record.answer_form], width=width)
    for number, differs in enumerate(record.state_differs):
        yield from labelled("" if number else "state", one_line(differs), width=width, lines=2)


def _values_lines(label: str, values: Mapping[str, JsonValue], width: int) -> Iterator[str]:
    yield from labelled_values(
        label, partial(fitted_names, values), width=width, lines=_INPUT_LINES
    )


def _said_lines(record: RunRecord, width: int) -> Iterator[str]:
    if not record.text:
        return
    # The end, since this is where an answer is looked for last and given mostly.
    end = one_line(record.text)[-_VALUE:]
    yield from labelled("said", f"...{end}" if len(record.text) > _VALUE else end)
    if record.outcome is Outcome.NO_ANSWER:
        name = one_line(next(iter(record.expected), "answer"))
        advice = f"write <{name}>...</{name}> in the text, or return a mapping"
        if record.document is not None:
            advice = "return one JSON document that satisfies the schema, and nothing around it"
        yield from labelled("", advice, width=width)


def _mismatch_lines(mismatch: Mismatch, width: int) -> Iterator[str]:
    expected, actual = cut(expected_text(mismatch), _VALUE), cut(shown(mismatch.actual), _VALUE)
    name, why = one_line(mismatch.field), one_line(mismatch.why)
    one = f"{name}: expected {expected}, actual {actual}: {why}"
    if columns(one) <= width - LABEL_WIDTH:
        yield from labelled("field", one, width=width)
        return
    yield from labelled("field", f"{name}: {why}", width=width, lines=_TEXT_LINES)
    yield from labelled("expected", expected, width=width, lines=_TEXT_LINES)
    yield from labelled("actual", actual, width=width, lines=_TEXT_LINES)


def _problem_lines(problem: Problem | None, told_in: str, width: int) -> Iterator[str]:
    if problem is None:
        return
    if problem.type == MISSING:
        # It is laid out in lines: what was recorded stands above what was sent.
        yield from (cut(f"  {one_line(line)}", width) for line in problem.message.splitlines())
        return
    said = f"{problem.type}: {problem.message}" if problem.message else problem.type
    yield from labelled("raised", one_line(said), width=width, lines=_TEXT_LINES * 2)
    if told_in:
        yield f"  the same traceback as that of {one_line(told_in)}"
        return
    frames = problem.traceback.rstrip().splitlines()
    left = len(frames) - FRAMES
    if left > 0:
        frames = [*frames[:2], f"... {counted(left, 'more line')} ...", *frames[2 + left :]]
    yield from (f"  {one_line(frame)}" for frame in frames)


def _note_lines(record: RunRecord, width: int) -> Iterator[str]:
    if record.disagreement:
        said = f"the expected answer is known to contradict the SOP: {record.disagreement}"
        yield from labelled("disputed", one_line(said), width=width, lines=_TEXT_LINES)
    if record.only_published:
        said = "correct by the published scorer's rules only"
        yield from labelled("note", said, width=width)
    for note in record.notes:
        yield from labelled("note", one_line(note), width=width, lines=_TEXT_LINES)
    took = usage_text(record)
    if took:
        yield from labelled("took", took, width=width)


def _parts_text(parts: Mapping[str, int | None]) -> str:
    known = [f"{amount(value)} {word}" for word, value in parts.items() if value is not None]
    return f" ({', '.join(known)})" if known else ""


def usage_text(record: RunRecord) -> str:
    """Return what a run took, as far as it is known; nothing if no clock was kept."""
    usage = record.usage
    parts = [
        f"{amount(value)} {word}{_parts_text(inside)}"
        for word, value, inside in (
            ("model calls", usage.model_calls, {}),
            (
                "tokens in",
                usage.input_tokens,
                {"cached": usage.cached_tokens, "to cache": usage.cache_write_tokens},
            ),
            ("tokens out", usage.output_tokens, {"reasoning": usage.reasoning_tokens}),
        )
        if value is not None
    ]
    if usage.cost_usd is not None:
        by = f" (prices: {one_line(usage.priced_by)})" if usage.priced_by else ""
        parts.append(f"{money(usage.cost_usd)}{by}")
    return "" if record.duration_s is None else ", ".join([seconds(record.duration_s), *parts])
