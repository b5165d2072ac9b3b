"""Numbers as people read them; one that is unknown is `n/a`, and never 0."""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_sopbench._core.metrics.summary import Summary

NOT_AVAILABLE = "n/a"

_MINUTE = 60
_THOUSAND = 1_000
_MONEY_PLACES = 9


def percent(rate: float | None) -> str:
    """`94.2%`. A rate that is not quite all, or not quite nothing, never reads as if it were."""
    if rate is None:
        return NOT_AVAILABLE
    return f"{_points(rate)}%"


def rate_of_runs(rate: float | None, summary: Summary) -> str:
    """`94.2%`; `n/a (12 of 12 unavailable)` where too many of the runs were unavailable."""
    return f"{NOT_AVAILABLE} ({unavailable(summary)})" if summary.unmeasured else percent(rate)


def of_runs(part: int, summary: Summary) -> str:
    """`11 of 12`, and `11 of 12, 1 unavailable` where some of the runs were."""
    away = f", {summary.unavailable} unavailable" if summary.unavailable else ""
    return f"{part} of {summary.runs}{away}"


def unavailable(summary: Summary) -> str:
    """`12 of 12 unavailable`."""
    return f"{summary.unavailable} of {summary.runs} unavailable"


def interval(bounds: tuple[float, float] | None) -> str:
    """`[90.7, 96.4]`, in per cent; nothing where there are no bounds."""
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
