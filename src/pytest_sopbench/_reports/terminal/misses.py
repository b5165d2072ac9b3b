"""The runs that are not correct: those that went wrong alike share a line, with their tasks."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterable, Iterator, Sequence
from decimal import Decimal
from itertools import islice
from typing import Final, NamedTuple

from pytest_sopbench._core.fields.comparison import number_kind, off_by
from pytest_sopbench._core.model.task import RunKey, telling_labels
from pytest_sopbench._core.model.trace import MISSING, Mismatch
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.values.text import as_words
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.failure import expected_text, headline, must_first, rule_name
from pytest_sopbench._reports.text import (
    ELLIPSIS,
    WIDTH,
    columns,
    counted,
    cut,
    heading,
    one_line,
    packed,
    shown,
    told_apart,
    with_commas,
)

LIMIT: Final = 20
"""Kinds of misses that are printed, and tasks that are printed in full; the session has all."""

DIRECTION: Final = "expected -> given: tasks"

_LINES: Final = 3
"""Lines that what went wrong may take; its tasks take one more."""

_INDENT: Final = 2
_ALIKE: Final = ", or alike"
_NUMBER: Final = re.compile(r"\d+(?:\.\d+)?")


class _Difference(NamedTuple):
    """One field that differs; of a number that is off, which numbers is not of the kind."""

    field: str
    expected: str
    given: str
    kind: str = ""
    off: Decimal | None = None


class _Kind(NamedTuple):
    """What runs that went wrong alike have in common."""

    outcome: str
    differences: tuple[_Difference, ...] = ()
    words: str = ""
    frames: tuple[str, ...] = ()


_Own = tuple[_Difference, ...] | str
"""What a run does not share with those of its kind: its numbers, or the words of its exception."""


class MissGroups:
    """Runs by what went wrong, counted as they come; of each no more is kept than is printed."""

    def __init__(self, records: Iterable[RunRecord] = ()) -> None:
        self._runs: dict[RunKey, tuple[_Kind, _Own]] = {}
        self._kinds: dict[_Kind, _Kind] = {}
        for record in records:
            self.add(record)

    def add(self, record: RunRecord) -> None:
        kind, own = _kind_of(record)
        # One of each, however many runs are of it.
        self._runs[record.key] = self._kinds.setdefault(kind, kind), own

    def __contains__(self, key: object) -> bool:
        return key in self._runs

    def __iter__(self) -> Iterator[RunKey]:
        return iter(self._runs)

    def __len__(self) -> int:
        return len(self._runs)

    def lines(
        self,
        keys: Iterable[RunKey] | None = None,
        *,
        limit: int | None = LIMIT,
        width: int = WIDTH,
        named: Callable[[RunKey], str],
    ) -> Iterator[str]:
        """Yield each kind with its tasks, the most frequent kind first.

        Args:
            keys: the runs that are printed, in their order; all if it is `None`.
            limit: how many kinds are printed; with `None` all of them, and all of their tasks.
            width: columns of a line.
            named: returns the name of a run.
        """
        found: dict[_Kind, dict[RunKey, _Own]] = {}
        for key in self if keys is None else keys:
            kind, own = self._runs[key]
            found.setdefault(kind, {})[key] = own
        kinds = sorted(found.items(), key=lambda one: -len(one[1]))
        for kind, runs in islice(kinds, limit):
            names = [*map(named, runs)]
            yield from _group_lines(_parts(kind, [*runs.values()], width), names, width, limit)
        rest = kinds[len(kinds) if limit is None else limit :]
        if rest:
            number = counted(sum(len(runs) for _, runs in rest), "run")
            yield f"and {number} of {counted(len(rest), 'other kind')}"

    def has_differences(self, keys: Iterable[RunKey] | None = None) -> bool:
        """Whether the lines have fields in them, and not only how runs ended."""
        return any(self._runs[key][0].differences for key in (self if keys is None else keys))


def miss_lines(
    groups: MissGroups,
    keys: Sequence[RunKey],
    *,
    width: int = WIDTH,
    named: Callable[[RunKey], str],
    after: Iterable[str] = (),
) -> Iterator[str]:
    """Yield the section of misses, which pytest has none for; nothing without a miss.

    Args:
        groups: the misses.
        keys: those that the section is about, in their order.
        width: columns of a line.
        named: returns the name of a run.
        after: lines that say what to do next.
    """
    if not keys:
        return
    said = f" ({DIRECTION})" if groups.has_differences(keys) else ""
    yield heading(f"SOP: {counted(len(keys), 'miss', 'misses')}{said}")
    yield from groups.lines(keys, width=width, named=named)
    yield from after


def full_miss_lines(misses: Sequence[RunRecord], full: Callable[[RunRecord], str]) -> Iterator[str]:
    """Yield the section of misses with all that `full` returns of each."""
    if not misses:
        return
    yield heading(f"SOP: {counted(len(misses), 'miss', 'misses')}")
    for number, miss in enumerate(misses):
        yield from ("",) if number else ()
        yield from full(miss).splitlines()


def short_miss_lines(
    misses: Sequence[RunRecord], total: int, named: Callable[[RunKey], str]
) -> Iterator[str]:
    """Yield the names of the misses, for a summary of one line for each domain."""
    if misses:
        # Trials of a task have one name here.
        names = [named(miss.key._replace(trial=1)) for miss in misses[:LIMIT]]
        left = total - len(names)
        told = [*dict.fromkeys(names), *([f"and {left} more"] if left > 0 else ())]
        yield from packed("missed", with_commas(told), gap=" ", indent=len("missed "))


def namer(keys: Collection[RunKey]) -> Callable[[RunKey], str]:
    """Return what writes the name of a run as short as it can be said among all of its session."""
    several = len({key.domain for key in keys}) > 1
    labels = telling_labels({key.agent for key in keys})

    def name(key: RunKey) -> str:
        by = f"[{labels[key.agent]}]" if key.agent in labels else ""
        trial = f" (trial {key.trial})" if key.trial > 1 else ""
        return one_line(f"{f'{key.domain}/' if several else ''}{key.task}{by}{trial}")

    return name


def _kind_of(record: RunRecord) -> tuple[_Kind, _Own]:
    """Return what went wrong in a run, and what of that is of this run alone."""
    outcome, problem = record.outcome.value, record.problem
    if record.mismatches:
        differences = tuple(map(_difference, record.mismatches))
        # Each wrong number is another one, and wrong all the same.
        alike = tuple(
            _Difference(one.field, "", "", one.kind) if one.kind else one for one in differences
        )
        return _Kind(outcome, alike), tuple(one for one in differences if one.kind)
    broken = [one for one in record.rules if one.broken]
    if record.outcome is Outcome.CORRECT and broken:
        words = ", ".join(map(rule_name, must_first(broken)))
        return _Kind(outcome, words=f"but broke {words}"), ""
    if problem is not None and problem.type == MISSING:
        # What was recorded and sent is another thing in each run; where they differ is the kind.
        first = problem.message.partition("\n")[0]
        return _Kind(outcome, words=f"{MISSING}: {first}"), ""
    said = headline(record).removeprefix(outcome).removeprefix(": ")
    # Ids and times are of the run; where an exception was raised makes it one of a kind.
    lines = problem.traceback.splitlines() if problem is not None else ()
    frames = tuple(line.strip() for line in lines if line.lstrip().startswith("File "))
    words = problem.type if problem is not None and frames else _NUMBER.sub("0", said)
    return _Kind(outcome, words=words, frames=frames), said


def _difference(mismatch: Mismatch) -> _Difference:
    return _Difference(
        one_line(mismatch.field),
        expected_text(mismatch),
        shown(mismatch.actual),
        number_kind(mismatch),
        off_by(mismatch),
    )


def _parts(kind: _Kind, owns: Sequence[_Own], width: int) -> Sequence[str]:
    """Return what went wrong, in pieces between which a line may end."""
    if not kind.differences:
        said = [one for one in dict.fromkeys(owns) if isinstance(one, str)]
        words = (said[0] if said and said[0] else kind.words) + (_ALIKE if len(said) > 1 else "")
        start = f"{kind.outcome}, " if kind.outcome == Outcome.CORRECT else f"{kind.outcome}: "
        return one_line(start + words if words else kind.outcome).split(" ")
    numbers = iter(zip(*(one for one in owns if not isinstance(one, str)), strict=True))
    room = width - _INDENT - len(",")
    found = (next(numbers) if one.kind else (one,) for one in kind.differences)
    return with_commas([_pair_text(one, room) for one in found])


def _pair_text(found: Sequence[_Difference], room: int) -> str:
    """Say how one field differs, the same in all runs of a kind but for its numbers."""
    first = found[0]
    field = cut(first.field, room // 3)
    if len({*found}) == 1:
        expected, given = told_apart(first.expected, first.given, room - columns(f"{field}  -> "))
        return f"{field} {expected} -> {given}"
    offs = sorted(one.off for one in found if one.off is not None)
    if len(offs) < len(found):
        return f"{field} {first.kind}"
    least, most = as_words(offs[0]), as_words(offs[-1])
    return f"{field} off by {least}{f' to {most}' if most != least else ''}"


def _group_lines(
    parts: Sequence[str], names: Sequence[str], width: int, limit: int | None
) -> Iterator[str]:
    lines = [*packed(parts[0], parts[1:], gap=" ", indent=_INDENT, width=width - 1)]
    if len(lines) > _LINES:
        lines[_LINES - 1 :] = [cut(f"{lines[_LINES - 1]} {ELLIPSIS}.", width - 1)]
    *above, last = (cut(line, width - 1) for line in lines)
    yield from above
    # What went wrong may say itself that more follows.
    last = last.rstrip(":")
    if limit is None:
        yield from packed(f"{last}:", with_commas(names), gap=" ", indent=_INDENT, width=width)
        return
    room = width - columns(f"{last}: ")
    if columns(_names_text(names[:1], len(names), width)) <= room:
        yield f"{last}: {_names_text(names, len(names), room)}"
    else:
        yield f"{last}:"
        yield f"{'':{_INDENT}}{_names_text(names, len(names), width - _INDENT)}"


def _names_text(names: Sequence[str], total: int, room: int) -> str:
    """Return as many names as there is room for, one at least, and how many there are beside."""
    taken, used = 0, 0
    for number, name in enumerate(names, start=1):
        used += columns(name) + (len(", ") if taken else 0)
        if taken and used + columns(_rest(total - number)) > room:
            break
        taken = number
    rest = _rest(total - taken)
    return f"{cut(', '.join(names[:taken]), room - columns(rest))}{rest}"


def _rest(number: int) -> str:
    return f" and {number} more" if number else ""
