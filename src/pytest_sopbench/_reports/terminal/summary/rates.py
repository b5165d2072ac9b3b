"""The rates of a summary, in plain words, each with the counts that it comes from."""

from __future__ import annotations

from collections.abc import Iterator
from functools import partial
from typing import Final

from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.model.task import Scoring
from pytest_sopbench._core.verdict import COMPLETED, Outcome
from pytest_sopbench._reports.text.layout import WIDTH, cut, one_line, packed
from pytest_sopbench._reports.text.mismatches import with_commas
from pytest_sopbench._reports.text.numbers import counted, interval, percent, unavailable

LABEL: Final = 7
"""Columns of the label that a line of the summary begins with."""

GAP: Final = "   "

# Where the words of a rate begin: the label and the rate stand before them.
_TEXTS = 13
_INTERVAL = 13

_Counts = tuple[int, int]


def completed_word(scoring: Scoring) -> str:
    """Return what a completed run has done; the published scorer asks for no answer."""
    return "returned" if scoring is Scoring.PUBLISHED else "answered"


def rate_lines(
    summary: Summary, *, beside: str = "", scoring: Scoring = Scoring.EXACT
) -> Iterator[str]:
    """Yield how many runs are correct, and how many gave an answer at all.

    Args:
        summary: of the runs.
        beside: what stands behind the first rate.
        scoring: by whose rules the runs were judged.
    """
    n, k, c = summary.runs, summary.correct, summary.completed
    word = completed_word(scoring)
    # Columns that stay under one another whatever the counts are.
    longest = "undisputed" if summary.disputed.counts.runs else word
    column = len(f"{longest}, {max(n, 100)} of {max(n, 100)}")
    line = partial(_rate_line, summary=summary, column=column)
    yield line("TSR", "correct", (k, n), beside=beside)
    if summary.disputed.counts.runs:
        undisputed = summary.undisputed
        counts = undisputed.correct, undisputed.runs
        yield line("", "undisputed", counts)
        left_out = _left_out(summary).split()
        yield from packed(f"{'':{LABEL - 1}}", left_out, gap=" ", indent=LABEL)
    first = line("ECR", word, (c, n))
    yield from _with_endings(first, _endings(summary), _TEXTS + column + 2 + _INTERVAL)


def procedure_lines(summary: Summary) -> Iterator[str]:
    """Yield how good the answers and the tool calls are: what a closer look asks for."""
    k, c = summary.correct, summary.completed
    parts = [f"{'C-TSR':<6}{percent(summary.c_tsr):>6} correct of those that answered, {k} of {c}"]
    if summary.grounded.required:
        grounded = f"{summary.grounded.grounded} of {summary.runs}"
        parts.append(f"grounded {percent(summary.grounded_tsr)}, {grounded}")
    yield from packed(parts[0], parts[1:], gap=GAP, indent=LABEL)
    if summary.calls.calls:
        first, *others = _call_parts(summary)
        yield from packed(f"{'calls':<{LABEL}}{first}", others, gap=GAP, indent=LABEL)


def silence_lines(summary: Summary) -> Iterator[str]:
    """Say it aloud where no tool was called: then no procedure was followed."""
    seen = len(summary.durations)
    if summary.calls.calls or not seen or summary.documents.runs == summary.runs:
        return
    where = "" if seen == summary.runs else f" in {seen} of {summary.runs} runs"
    yield f"{'calls':<{LABEL}}no tool was called{where}"


def _rate_line(
    label: str, word: str, counts: _Counts, *, summary: Summary, column: int, beside: str = ""
) -> str:
    successes, n = counts
    rate = percent(summary.rate(successes, n))
    bounds = summary.tsr_bounds if label == "TSR" else summary.interval(*counts)
    text = f"{word}, {successes} of {n}"
    if summary.unmeasured:
        text = f"({unavailable(summary)}); {text}"
    start = f"{label:<6}{rate:>6} {text:<{column}}  {interval(bounds):<{_INTERVAL}}"
    return f"{start}{GAP}{beside}".rstrip()


def _endings(summary: Summary) -> list[str]:
    return [
        f"{summary.outcomes[outcome]} {outcome.value}"
        # What stopped a run from outside comes first: it says nothing about answers.
        for outcome in reversed(Outcome)
        if outcome not in COMPLETED and summary.outcomes.get(outcome)
    ]


def _with_endings(line: str, endings: list[str], width: int) -> Iterator[str]:
    beside = f"{line:<{width}}{GAP}{', '.join(endings)}".rstrip()
    if len(beside) <= WIDTH:
        yield beside
        return
    yield line
    words = with_commas(endings)
    yield from packed(f"{'':{_TEXTS}}{words[0]}", words[1:], gap=" ", indent=_TEXTS)


def _left_out(summary: Summary) -> str:
    reasons = summary.disputed.reasons
    ordered = sorted(reasons, key=lambda reason: (-reasons[reason], reason))
    more = f" (and {counted(len(ordered) - 1, 'other reason')})" if len(ordered) > 1 else ""
    reason = cut(one_line(ordered[0]), 120) if ordered else "no reason is given"
    return f"{summary.disputed.counts.runs} left out: {reason}{more}"


def _call_parts(summary: Summary) -> Iterator[str]:
    calls = summary.calls
    good = calls.calls - calls.bad
    formed = "all well-formed" if good == calls.calls else f"{good} of them well-formed"
    # A failure of a tool is of a well-formed call; of bad calls the accuracy tells.
    of_these = " of these" if calls.bad else ""
    failed = f"; {calls.failed}{of_these} answered with an error" if calls.failed else ""
    yield f"{counted(calls.calls, 'call')}, {formed}{failed}"
    yield f"tool accuracy {percent(summary.tool_accuracy)}"
    if summary.without_calls:
        yield f"no call in {counted(summary.without_calls, 'run')}"
    unneeded = summary.unneeded
    if unneeded.unneeded:
        calls_of = counted(unneeded.unneeded, "unneeded call")
        yield f"{calls_of} in {unneeded.affected} of {counted(unneeded.runs, 'run')}"
