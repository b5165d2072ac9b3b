"""Values, numbers and mismatches as text within a width."""

from __future__ import annotations

import json
import shlex
from bisect import bisect_right
from collections import Counter
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from itertools import accumulate, islice, takewhile
from textwrap import wrap
from typing import Final, cast
from unicodedata import east_asian_width

from pytest_sopbench._core.gates.calibration import JudgeReport, shown_kappa
from pytest_sopbench._core.hiding import ready_to_cut
from pytest_sopbench._core.metrics.metric import CHANCE, METRICS, Metric, percent
from pytest_sopbench._core.metrics.summary import Summary, is_joint
from pytest_sopbench._core.model.trace import Trace, Usage
from pytest_sopbench._core.model.world import StateChange
from pytest_sopbench._core.records.record import CallRecord, RunRecord
from pytest_sopbench._core.values.json import JsonValue

# JSON that may stand in the log of a CI server, whoever wrote the texts inside.


def json_text(value: object) -> str:
    """Return a value as lines of ASCII without a command; a program reads the same value.

    Halves of surrogate pairs and control characters are escaped. `nan` is refused.

    Raises:
        ValueError: a number is none that JSON knows.
    """
    text = json.dumps(value, indent=1, ensure_ascii=True, allow_nan=False)
    # Between quotes alone, since JSON has neither of them elsewhere.
    return text.replace("##", "#\\u0023").replace("\x7f", "\\u007f")


# Numbers as people read them; one that is unknown is `n/a`, and never 0.

NOT_AVAILABLE = "n/a"

_MINUTE = 60
_THOUSAND = 1_000
_MONEY_PLACES = 9


def as_percent(rate: float | None) -> str:
    """`94.2%`. A rate that is not quite all, or not quite nothing, never reads as if it were."""
    if rate is None:
        return NOT_AVAILABLE
    return f"{_points(rate)}%"


def value_text(metric: str, value: float | None) -> str:
    """Write the value of a metric by its name: `94.2%`, or `3.2 calls` if it has a unit."""
    found = METRICS.get(metric) if metric != CHANCE else None
    if found is None or not found.unit or value is None:
        return as_percent(value)
    return found.text(value)


def measured_text(metric: Metric, summary: Summary) -> str:
    """Say what a metric that is counted run by run came to, of how many runs, or why it did not."""
    measured = metric.measured(summary)
    value = value_text(metric.name, metric.rate(summary))
    if measured.fault:
        return f"{one_line(metric.label)} {value}: {one_line(measured.fault)}"
    counts = (
        f"{metric.counted(measured.total, measured.known)}" if measured.known else metric.nothing
    )
    lacks = f", {measured.lacks}" if measured.lacks else ""
    return f"{one_line(metric.label)} {one_line(value)} ({one_line(counts)}{lacks})"


def rate_of_runs(rate: float | None, summary: Summary) -> str:
    """`94.2%`; `n/a (12 of 12 unavailable)` if too many of the runs were unavailable."""
    return f"{NOT_AVAILABLE} ({unavailable(summary)})" if summary.unmeasured else as_percent(rate)


def of_runs(part: int, summary: Summary) -> str:
    """`11 of 12`, and `11 of 12, 1 unavailable` if some of the runs were."""
    away = f", {summary.unavailable} unavailable" if summary.unavailable else ""
    return f"{part} of {summary.runs}{away}"


def unavailable(summary: Summary) -> str:
    """`12 of 12 unavailable`."""
    return f"{summary.unavailable} of {summary.runs} unavailable"


def interval(bounds: tuple[float, float] | None) -> str:
    """`[90.7, 96.4]`, in per cent; nothing if there are no bounds."""
    return "" if bounds is None else f"[{_points(bounds[0])}, {_points(bounds[1])}]"


def seconds(duration: float | None) -> str:
    """`<1 ms`, `230 ms`, `1.3 s`, `2 min 5 s`."""
    if duration is None:
        return NOT_AVAILABLE
    if duration < 1 / _THOUSAND:
        return "<1 ms"
    if duration < 1:
        return f"{int(duration * _THOUSAND)} ms"
    if duration < _MINUTE:
        return f"{int(duration * 10) / 10:.1f} s"
    minutes, rest = divmod(int(duration), _MINUTE)
    return f"{minutes} min {rest} s"


def minutes(duration: float) -> str:
    """`8.4 s`, `11 min`, `2 h 5 min`: no seconds beside minutes."""
    if duration < 2 * _MINUTE:
        return seconds(duration)
    hours, rest = divmod(round(duration / _MINUTE), _MINUTE)
    parts = [f"{hours} h" if hours else "", f"{rest} min" if rest else ""]
    return " ".join(filter(None, parts))


def amount(number: float | None) -> str:
    """`4`, `4.3`, `812`, `5.2k`: a count, or a mean, of calls or tokens."""
    if number is None:
        return NOT_AVAILABLE
    if number < _THOUSAND / 10 and number != int(number):
        return f"{number:.1f}"
    if number < _THOUSAND:
        return f"{number:.0f}"
    return f"{number / _THOUSAND:.1f}k"


def money(dollars: float | None) -> str:
    """`$1.24`, `$0.0031`: with two digits that count, however little it is."""
    if dollars is None:
        return NOT_AVAILABLE
    if dollars >= 1 or dollars == 0:
        return f"${dollars:.2f}"
    # Sums of the same costs in another order differ far behind, where half a digit may be decided.
    dollars = round(dollars, _MONEY_PLACES)
    places = 2
    while round(dollars, places - 1) == 0 and places < _MONEY_PLACES:
        places += 1
    return f"${dollars:.{places}f}"


def tokens_text(count: Mapping[str, float | None]) -> str:
    """`tokens in 5.3k (cached 4k), out 812 (reasoning 300)`; parts that are not known are left out.

    Args:
        count: numbers, or means, by the fields of `Usage`.
    """
    inside = {
        "input_tokens": (("cached", "cached_tokens"), ("to cache", "cache_write_tokens")),
        "output_tokens": (("reasoning", "reasoning_tokens"),),
    }
    words = {
        whole: ", ".join(
            f"{word} {amount(count[name])}" for word, name in parts if count.get(name) is not None
        )
        for whole, parts in inside.items()
    }
    said = (
        f"{word} {amount(count.get(name))}{f' ({words[name]})' if words[name] else ''}"
        for word, name in (("in", "input_tokens"), ("out", "output_tokens"))
    )
    return f"tokens {', '.join(said)}"


def counted(number: int, singular: str, plural: str = "") -> str:
    """`1 task`, `2 tasks`."""
    return f"{number} {singular if number == 1 else plural or singular + 's'}"


def _points(rate: float) -> str:
    points = f"{rate * 100:.1f}"
    if points == "100.0" and rate < 1:
        return "99.9"
    if points == "0.0" and rate > 0:
        return "0.1"
    return points


# What is said of a model judge: how far it agrees with people, and what it consumed.


def agreement_words(rate: float | None, labels: int, kappa: float | None) -> str:
    """Say how far a judge agrees: `94% of 120 labels, kappa 0.86`."""
    if rate is None:
        return "no labels"
    beyond_chance = "unknown" if kappa is None else shown_kappa(kappa)
    return f"{percent(rate)} of {labels} labels, kappa {beyond_chance}"


def consumed_words(
    *, asked: int, failed: int, kept: int, repeated: int, usage: Usage
) -> Iterator[str]:
    """Say piece by piece what was asked, and what that consumed apart from the agents."""
    yield f"{asked + kept + repeated} judgements: {asked} asked"
    yield f"{kept} kept from before"
    if repeated:
        yield f"{repeated} of questions asked already"
    if failed:
        yield f"{failed} gave none"
    tokens = [usage.input_tokens, usage.output_tokens]
    if any(count is not None for count in tokens):
        yield f"{sum(count or 0 for count in tokens):,} tokens"
    if asked:
        yield "cost unknown" if usage.cost_usd is None else f"cost {money(usage.cost_usd)}"


def report_lines(report: JudgeReport | None) -> Iterator[str]:
    """Say on a page what came of the judge of a session; nothing if it has none."""
    if report is None:
        return
    for one in report.fields:
        agreement = agreement_words(one.agreement, one.labels, one.kappa) if one.labels else ""
        told = "; ".join(filter(None, (agreement, one.doubt)))
        yield f"{one.domain}, {one.field}: {told or 'no labels'}"
    if report.asked + report.kept + report.repeated:
        yield ", ".join(
            consumed_words(
                asked=report.asked,
                failed=report.failed,
                kept=report.kept,
                repeated=report.repeated,
                usage=report.usage,
            )
        )


# Text that fits on a terminal: values on one line, cut or wrapped to a width in columns.

WIDTH = 80
"""Columns of a line if the terminal's own are not asked for: reports are read in logs, too."""

ELLIPSIS = "..."
LABEL_WIDTH = 9


def heading(text: str) -> str:
    """Return a title between lines of `=`."""
    text = f" {cut(text, WIDTH - 6)} "
    rest = WIDTH - columns(text)
    return f"{'=' * ((rest + 1) // 2)}{text}{'=' * (rest // 2)}"


def columns(text: str) -> int:
    """Return how many columns of a terminal a text takes."""
    if text.isascii():
        return len(text)
    return sum(2 if east_asian_width(sign) in "WF" else 1 for sign in text)


def cut(text: str, width: int) -> str:
    """Cut a text to a width, saying so with three dots."""
    if columns(text) <= width:
        return text
    if width <= len(ELLIPSIS):
        return ELLIPSIS[: max(width, 0)]
    text = ready_to_cut(text)
    # No sign takes less than a column, so that no more of them can matter.
    ends = list(accumulate(map(columns, text[:width])))
    return f"{text[: bisect_right(ends, width - len(ELLIPSIS))]}{ELLIPSIS}"


def told_apart(one: str, other: str, room: int) -> tuple[str, str]:
    """Cut two texts to a width that they share, so that what is left shows where they differ.

    Texts that begin alike lose what they share, but for a few signs; dots say so. Below 20 columns
    there is no room for both.
    """
    if columns(one) + columns(other) <= room:
        return one, other
    half = room // 2
    # A sign takes two columns at most, so the first that differs stands before the cut.
    alike = sum(
        1 for _ in takewhile(lambda pair: pair[0] == pair[1], zip(one, other, strict=False))
    )
    start = alike - max((half - 8) // 4, 0)
    if start > len(ELLIPSIS):
        one, other = (f"{ELLIPSIS}{ready_to_cut(text)[start:]}" for text in (one, other))
    # What one of them leaves, the other takes.
    first = cut(one, max(half, room - columns(other)))
    return first, cut(other, room - columns(first))


def cut_from_start(text: str, width: int) -> str:
    """Shorten a text to a width by what stands at its start."""
    if columns(text) <= width:
        return text
    backwards = cut(ready_to_cut(text)[::-1], width)
    return backwards[::-1]


def padded(text: str, width: int) -> str:
    """Cut or fill a text to exactly a width."""
    text = cut(text, width)
    return text + " " * (width - columns(text))


def one_line(text: str) -> str:
    """Return a text on one line, without what could move a cursor or colour a terminal."""
    if text.isprintable():
        return text
    return "".join(sign if sign.isprintable() else _escaped(sign) for sign in text)


def shown(value: JsonValue) -> str:
    """Return a value on one line as Python would write it, so that '1' and 1 differ."""
    if isinstance(value, str):
        return one_line(repr(value))
    if value is None or isinstance(value, bool | int | float):
        return repr(value)
    return _as_json(value)


def named(values: JsonValue, limit: int = 60) -> str:
    """Return `name='value', ...`, each value cut; anything but a mapping as it is."""
    if not isinstance(values, Mapping):
        return cut(shown(values), limit)
    return ", ".join(f"{one_line(name)}={cut(shown(one), limit)}" for name, one in values.items())


def cut_middle(text: str, width: int) -> str:
    """Cut a text to a width by what stands in its middle: its start and its end say most."""
    if columns(text) <= width:
        return text
    end = max(width - len(ELLIPSIS), 0) // 2
    text = ready_to_cut(text)
    return f"{cut(text, width - end)}{cut_from_start(text, len(ELLIPSIS) + end)[len(ELLIPSIS) :]}"


# Values that share a room: short ones stay whole, and long ones take what these leave. So what is
# not shown of a result is the middle of its longest texts, and never the field behind them.

_LEAST = 12
"""Columns that a long value has at least; fields for which there are fewer are counted."""


@dataclass(frozen=True, slots=True)
class _Part:
    label: str
    text: str
    value: JsonValue


def fitted(value: JsonValue, room: int) -> str:
    """Return a value on one line of at most `room` columns, its short fields whole."""
    text = shown(value)
    if columns(text) <= room:
        return text
    # A secret of which a part is left out is no longer known for one.
    return _shorter(text, value, room) if ready_to_cut(text) == text else cut_middle(text, room)


def fitted_names(values: JsonValue, room: int) -> str:
    """Return `name='value', ...` on one line of at most `room` columns, short values whole."""
    if not isinstance(values, Mapping):
        return fitted(values, room)
    parts = [_Part(f"{one_line(name)}=", shown(one), one) for name, one in values.items()]
    text = ", ".join(f"{one.label}{one.text}" for one in parts)
    if columns(text) <= room:
        return text
    is_safe = ready_to_cut(text) == text
    return cut(_sharing(parts, len(parts), room), room) if is_safe else cut_middle(text, room)


def labelled_values(
    label: str, text: Callable[[int], str], *, width: int = WIDTH, lines: int
) -> list[str]:
    """Return a label and values, wrapped into `lines`; `text` returns them within some columns."""
    room = (width - LABEL_WIDTH) * lines
    # What wrapping leaves at the end of a line is missing further down.
    for less in range(0, room // 2, 8):
        laid = list(labelled(label, text(room - less), width=width))
        if len(laid) <= lines:
            return laid
    return list(labelled(label, text(room // 2), width=width, lines=lines))


def _shorter(text: str, value: JsonValue, room: int) -> str:
    if columns(text) <= room:
        return text
    if isinstance(value, str):
        return cut_middle(text, room)
    inside = room - len("{}")
    if isinstance(value, Mapping):
        parts = [
            _Part(f"{_as_json(name)}: ", _as_json(one), one)
            for name, one in islice(value.items(), max(inside, 0))
        ]
        return cut(f"{{{_sharing(parts, len(value), inside)}}}", room)
    if isinstance(value, list):
        parts = [_Part("", _as_json(one), one) for one in islice(value, max(inside, 0))]
        return cut(f"[{_sharing(parts, len(value), inside)}]", room)
    return cut(text, room)


def _sharing(parts: Sequence[_Part], count: int, room: int) -> str:
    """Return the parts side by side; of `count`, those for which there is no room are counted.

    Of named values those that need least are kept, so that a number is not lost behind texts.
    """
    least = [columns(one.label) + min(columns(one.text), _LEAST) + len(", ") for one in parts]
    kept, more = parts, ""
    if len(parts) < count or sum(least) > room + len(", "):
        is_named = any(one.label for one in parts)
        order = sorted(range(len(parts)), key=least.__getitem__) if is_named else range(len(parts))
        ends = list(accumulate(least[place] for place in order))
        fit = bisect_right(ends, room - len(f"... {count} more"))
        kept = [parts[place] for place in sorted(order[:fit])]
        more = f"... {count - fit} more"
    taken = sum(columns(one.label) + len(", ") for one in kept) - len(", ")
    free = room - taken - (len(", ") + len(more) if more else 0)
    share = _share([columns(one.text) for one in kept], free)
    laid = [f"{one.label}{_shorter(one.text, one.value, share)}" for one in kept]
    return ", ".join([*laid, *([more] if more else [])])


def _share(wanted: Sequence[int], free: int) -> int:
    """Return how much each may have at most, so that who wants less is given it all."""
    left = len(wanted)
    for one in sorted(wanted):
        if one * left > free:
            return free // left
        free -= one
        left -= 1
    return max(wanted, default=0)


def _as_json(value: JsonValue) -> str:
    return one_line(json.dumps(value, ensure_ascii=False))


def packed(
    first: str, parts: Iterable[str], *, gap: str, indent: int, width: int = WIDTH
) -> Iterator[str]:
    """Yield a line and parts behind it; those that find no room follow on lines of their own."""
    line = first
    for part in parts:
        if columns(line) + columns(gap) + columns(part) <= width:
            line = f"{line}{gap}{part}"
            continue
        yield line.rstrip()
        line = cut(f"{'':{indent}}{part}", width)
    yield line.rstrip()


def labelled(label: str, text: str, *, width: int = WIDTH, lines: int = 0) -> Iterator[str]:
    """Yield a label with its text beside it, wrapped; `lines` cuts what is longer."""
    room = width - LABEL_WIDTH
    if lines:
        # Wrapping megabytes takes minutes, and no more than this can be seen.
        text = text if len(text) <= 2 * room * lines else ready_to_cut(text)[: 2 * room * lines]
    wrapped = wrap(text, room, break_on_hyphens=False) or [""]
    if lines and len(wrapped) > lines:
        wrapped = [*wrapped[: lines - 1], cut(" ".join(wrapped[lines - 1 :]), room)]
    for number, line in enumerate(wrapped):
        yield f"{'' if number else label:<{LABEL_WIDTH}}{line}".rstrip()


def _escaped(sign: str) -> str:
    return " " if sign == "\n" else sign.encode("unicode_escape").decode("ascii")


def added_lines(added: object, source: str) -> Iterator[str]:
    """Yield the lines that a hook added: an error would lose those below it."""
    if isinstance(added, str):
        yield from added.splitlines()
    elif isinstance(added, Iterable):
        yield from map(str, cast("Iterable[object]", added))
    elif added is not None:
        yield f"{source}: a list of lines expected, got {type(added).__name__}"


# What wrong answers have in common: which label was given when which was expected.

# With more kinds than this, and hardly one twice, kinds say nothing and their number does.
_KINDS = 5
_FEW = 3


def wrong_kinds(summary: Summary) -> list[str]:
    """Return the kinds of mismatch, the most frequent first: `C -> B (7x)`, or `refund (9x)`.

    With several output fields each kind names its field, though it alone differs.
    """
    fields = {*summary.mismatched, *summary.answers}
    several = len(fields) > 1 or any(map(is_joint, islice(summary.by_expected, 1)))
    classes = {table.field for table in summary.confusions}
    kinds: list[tuple[int, str]] = []
    for name, count in summary.mismatched.items():
        table = dict(summary.wrong_pairs.get(name, {}))
        if name not in classes and len(table) > _KINDS and 2 * len(table) > count:
            table.clear()
        start = f"{one_line(name)} " if several else ""
        kinds += ((number, f"{start}{pair} {_times(number)}") for pair, number in _shortened(table))
        rest = count - sum(table.values())
        if rest:
            kinds.append((rest, f"{one_line(name)} {_times(rest)}"))
    return [text for _, text in sorted(kinds, key=lambda kind: -kind[0])]


def _times(number: int) -> str:
    # A bare number behind a value would read as a part of it.
    return f"({number}x)"


def wrong_parts(summary: Summary, room: int) -> list[str]:
    """Return as many kinds as fit into `room` columns beside one another, and how many did not.

    If several fields differ in so many ways that hardly one fits, the fields alone.
    """
    kinds = wrong_kinds(summary)
    parts = _fitting(kinds, room)
    if len(parts) < min(_FEW, len(kinds)) and len(summary.mismatched) > 1:
        fields = sorted(summary.mismatched.items(), key=lambda item: (-item[1], item[0]))
        return with_commas([f"{one_line(name)} {_times(number)}" for name, number in fields])
    left = len(kinds) - len(parts)
    return [*with_commas(parts), f"and {left} more"] if left else with_commas(parts)


NAMED_TOOLS: Final = 3


def unneeded_words(summary: Summary) -> list[str]:
    """Return in how many runs tools were called in vain, and which ones, most often first."""
    counts = summary.unneeded
    tools = sorted(counts.by_tool.items(), key=lambda one: (-one[1], one[0]))
    told = [f"{one_line(name)} {calls}" for name, calls in tools]
    runs = f"{counts.affected} of {counted(counts.runs, 'run')}"
    return [f"{counted(counts.unneeded, 'unneeded call')} in {runs}:", *few(told, NAMED_TOOLS)]


def few(parts: Sequence[str], most: int) -> list[str]:
    """Return the first parts of an enumeration, and how many there are beside."""
    more = [f"and {len(parts) - most} more"] if len(parts) > most else []
    return with_commas([*parts[:most], *more])


def with_commas(parts: Sequence[str]) -> list[str]:
    """Return the parts of an enumeration with what stands between them."""
    return [*(f"{part}," for part in parts[:-1]), *parts[-1:]]


def _fitting(kinds: Sequence[str], room: int) -> Sequence[str]:
    used = 0
    for number, kind in enumerate(kinds):
        used += columns(kind) + len(", ")
        rest = len(f"and {len(kinds)} more") if number + 1 < len(kinds) else 0
        if used - len(", ") + rest > room:
            return kinds[: max(number, 1)]
    return kinds


def common_start(labels: Collection[str]) -> str:
    """Return the longest words with which most labels begin, two thirds of them at least.

    Nothing if leaving these words out would make two labels equal.
    """
    starts: Counter[str] = Counter()
    for label in labels:
        starts.update(label[: place + 1] for place, sign in enumerate(label) if sign == " ")
    most = [start for start, count in starts.items() if count > 1 and 3 * count >= 2 * len(labels)]
    start = max(most, key=len, default="")
    return start if len({label.removeprefix(start) for label in labels}) == len(labels) else ""


def _shortened(table: Mapping[tuple[str, str], int]) -> Iterator[tuple[str, int]]:
    """Yield the pairs of one field; the words that most labels begin with are said once."""
    start = common_start({label for pair in table for label in pair})
    ordered = sorted(table.items(), key=lambda item: (-item[1], item[0]))
    for number, ((expected, actual), count) in enumerate(ordered):
        shown = expected.removeprefix(start) if number else expected
        yield one_line(f"{shown} -> {actual.removeprefix(start)}"), count


# Words of a command that a shell takes as it is, to be copied and pasted.


def shell_word(text: str) -> str:
    """Quote a word for a shell; what cannot be seen on a line is written as an escape."""
    if text.isprintable():
        return shlex.quote(text)
    return f"$'{''.join(map(_escaped_for_shell, text))}'"


def _escaped_for_shell(sign: str) -> str:
    if sign in "\\'":
        return f"\\{sign}"
    if sign.isprintable():
        return sign
    # By its bytes: a code point is written in digits that not every shell knows, and a digit
    # behind an octal number of three cannot be taken for a part of it.
    return "".join(f"\\{byte:03o}" for byte in sign.encode("utf-8", "surrogateescape"))


# The calls of a run as a report shows them, whether its event log was kept or its record alone.


def changed_by(changes: Sequence[StateChange] | None, step: int) -> list[str]:
    """Say what one call changed in the world of its run, each on one line."""
    return [one_line(_change_text(one)) for one in changes or () if one.step == step]


def _change_text(one: StateChange) -> str:
    place = f"{one.table}[{one.key}]"
    if one.before is None or one.after is None:
        return (
            f"{place} {'inserted' if one.before is None else 'removed'}: {named(one.after or {})}"
        )
    return ", ".join(
        f"{place}.{name} {shown(one.before.get(name))} -> {shown(one.after.get(name))}"
        for name in dict.fromkeys((*one.before, *one.after))
    )


@dataclass(frozen=True, slots=True, kw_only=True)
class ShownCall:
    """A call, whole if its event log was kept; else `began` and `took` are `None`.

    `changed` says what it changed in the world of its run.
    """

    name: str
    arguments: JsonValue
    result: JsonValue
    error: str | None
    overlaps: int = 0
    findings: tuple[str, ...] = ()
    began: float | None = None
    took: float | None = None
    changed: tuple[str, ...] = ()


def shown_calls(record: RunRecord, trace: Trace | None) -> Sequence[ShownCall]:
    """Return the calls of a run, from its event log if there is one."""
    if trace is None:
        return [
            replace(call_of(one), changed=tuple(changed_by(record.state, step)))
            for step, one in enumerate(record.calls, start=1)
        ]
    return [
        ShownCall(
            name=one.name,
            arguments=one.arguments,
            result=one.result,
            error=one.error,
            overlaps=one.overlaps,
            findings=tuple(finding.message for finding in one.findings),
            began=one.started,
            took=one.duration,
            changed=tuple(changed_by(trace.state, step)),
        )
        for step, one in enumerate(trace.calls, start=1)
    ]


def call_of(call: CallRecord) -> ShownCall:
    """Return a call as a record keeps it."""
    return ShownCall(
        name=call.name,
        arguments=call.arguments,
        result=call.result,
        error=call.error,
        overlaps=call.overlaps,
        findings=call.findings,
    )
