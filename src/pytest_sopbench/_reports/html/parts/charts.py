"""Charts as numbers: where the marks of an inline picture stand, and what its words are."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import ceil, log10
from typing import Final

from pytest_sopbench._reports.text.numbers import NOT_AVAILABLE, interval, percent

BINS: Final = 24
"""Columns of a histogram."""

_WIDE: Final = 20
"""How many times the median the largest value is from which on columns grow by a factor."""

_HALF: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class Rate:
    """A rate with its interval, on a scale from 0 to 100.

    `before` is that of the baseline over the paired tasks, `change` the difference in words.
    """

    name: str
    label: str
    text: str
    bounds: str = ""
    value: float | None = None
    low: float | None = None
    high: float | None = None
    before: float | None = None
    change: str = ""
    note: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class Bar:
    """A column of a histogram: its place and height in per cent, and what it counts."""

    x: float
    width: float
    height: float
    words: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Histogram:
    """How often values of which size occurred; `marks` are named values with their places."""

    title: str
    bars: Sequence[Bar]
    first: str
    last: str
    marks: Sequence[tuple[str, str, float]]
    known: int
    runs: int
    note: str = ""


def rate_of(name: str, label: str, value: float | None, bounds: tuple[float, float] | None) -> Rate:
    low, high = bounds or (None, None)
    return Rate(
        name=name,
        label=label,
        text=percent(value),
        bounds=interval(bounds),
        value=_points(value),
        low=_points(low),
        high=_points(high),
    )


def histogram(
    title: str, values: Sequence[float], runs: int, words: Callable[[float], str]
) -> Histogram | None:
    """Count values in columns; `None` where there are too few to show anything.

    Columns are equally wide. Where a few values are far above the others, each column is wider
    than the one before by a factor instead, which the chart says.
    """
    known = sorted(values)
    if len(known) < 2 or known[0] == known[-1]:  # noqa: PLR2004 - one value has no distribution
        return None
    middle, p95 = known[len(known) // 2], known[ceil(0.95 * len(known)) - 1]
    is_wide = known[0] > 0 and known[-1] > _WIDE * middle
    scale: Callable[[float], float] = log10 if is_wide else float
    first, last = scale(known[0]), scale(known[-1])
    counts = [0] * BINS
    for one in known:
        counts[min(int((scale(one) - first) / (last - first) * BINS), BINS - 1)] += 1

    def at(number: float) -> float:
        return round((scale(number) - first) / (last - first) * 100, 2)

    def edge(place: int) -> float:
        between = first + (last - first) * place / BINS
        return float(10**between) if is_wide else between

    bars = [
        Bar(
            x=round(place * 100 / BINS, 2),
            width=round(100 / BINS, 2),
            height=max(round(count / max(counts) * 100, 1), 2),
            words=f"{words(edge(place))} to {words(edge(place + 1))}: {count}",
        )
        for place, count in enumerate(counts)
        if count
    ]
    return Histogram(
        title=title,
        bars=bars,
        first=words(known[0]),
        last=words(known[-1]),
        marks=(("median", words(middle), at(middle)), ("p95", words(p95), at(p95))),
        known=len(known),
        runs=runs,
        note="columns grow by a factor" if is_wide else "",
    )


def share(part: float, whole: float) -> float:
    """Return a width in per cent; whatever is there at all can be seen."""
    return max(round(part / whole * 100, 2), _HALF) if part and whole else 0.0


def _points(rate: float | None) -> float | None:
    return None if rate is None else round(rate * 100, 2)


def or_dash(text: str) -> str:
    """Return a text for a cell of a table, where what is unknown is a dash."""
    return "–" if text == NOT_AVAILABLE else text  # noqa: RUF001 - a dash is what is meant
