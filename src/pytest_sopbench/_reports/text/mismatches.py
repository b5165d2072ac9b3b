"""What wrong answers have in common: which label was given where which was expected."""

from __future__ import annotations

from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from itertools import islice

from pytest_sopbench._core.metrics.labels import is_joint
from pytest_sopbench._core.metrics.summary import Summary

from .layout import columns, one_line

# With more kinds than this, and hardly one twice, kinds say nothing and their number does.
_KINDS = 5
_FEW = 3


def wrong_kinds(summary: Summary) -> list[str]:
    """Return the kinds of mismatch, the most frequent first: `C -> B 7`, or `refund 9`.

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
        kinds += ((number, f"{start}{pair} {number}") for pair, number in _shortened(table))
        rest = count - sum(table.values())
        if rest:
            kinds.append((rest, f"{one_line(name)} {rest}"))
    return [text for _, text in sorted(kinds, key=lambda kind: -kind[0])]


def wrong_parts(summary: Summary, room: int) -> list[str]:
    """Return as many kinds as fit into `room` columns beside one another, and how many did not.

    Where several fields differ in so many ways that hardly one fits, the fields alone.
    """
    kinds = wrong_kinds(summary)
    parts = _fitting(kinds, room)
    if len(parts) < min(_FEW, len(kinds)) and len(summary.mismatched) > 1:
        fields = sorted(summary.mismatched.items(), key=lambda item: (-item[1], item[0]))
        return with_commas([f"{one_line(name)} {number}" for name, number in fields])
    left = len(kinds) - len(parts)
    return [*with_commas(parts), f"and {left} more"] if left else with_commas(parts)


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

    Nothing where leaving these words out would make two labels equal.
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
