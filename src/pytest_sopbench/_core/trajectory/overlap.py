"""Which calls stood before which, where some of them were made at the same time.

A call stands before another if it *ended* before the other *began*; two of which neither stands
before the other overlap. What comes of that is an interval order. Calls are listed in the order
in which they began, and each tells how many of those after it began before it ended: that is all
there is to know, and no clock is asked. Positions count from 0.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple, Protocol


class Placed(Protocol):
    """A call among others; see `ToolCall.overlaps`."""

    @property
    def overlaps(self) -> int: ...


class Span(NamedTuple):
    """From which to which moment a call lasted; moments are ranks, the same for equal orders.

    One call stands before another if its `last` is below the other's `first`.
    """

    first: int
    last: int


def stands_before(calls: Sequence[Placed], earlier: int, later: int) -> bool:
    """Whether the call at position `earlier` had ended when the one at `later` began."""
    return earlier + calls[earlier].overlaps < later


def ended_before(calls: Sequence[Placed], position: int) -> Iterator[int]:
    """Yield the positions of the calls that had ended when the one at `position` began."""
    return (one for one in range(position) if stands_before(calls, one, position))


def spans(calls: Sequence[Placed]) -> tuple[Span, ...]:
    """Return the span of each call, by the fewest moments that tell the order."""
    ends = sorted(at + call.overlaps for at, call in enumerate(calls))
    gone: list[int] = []
    ended = 0
    for at in range(len(calls)):
        while ended < len(ends) and ends[ended] < at:
            ended += 1
        gone.append(ended)
    # A moment begins with each call that more calls stand before than before the last.
    moment_of = {count: moment for moment, count in enumerate(sorted(set(gone)))}
    firsts = [moment_of[count] for count in gone]
    return tuple(
        Span(firsts[at], firsts[min(at + call.overlaps, len(calls) - 1)])
        for at, call in enumerate(calls)
    )


def overlaps_of(order: Sequence[Span]) -> tuple[int, ...]:
    """Return how many of the later calls each one overlaps; `order` is sorted by `first`."""
    found: list[int] = []
    for at, span in enumerate(order):
        later = order[at + 1 :]
        found.append(sum(other.first <= span.last for other in later))
    return tuple(found)


def groups(calls: Sequence[Placed]) -> tuple[range, ...]:
    """Return the positions, in the smallest runs of which each stands before the next.

    A call that overlaps no other is a group of one.
    """
    found: list[range] = []
    start = reach = 0
    for at, call in enumerate(calls):
        if at > reach:
            found.append(range(start, at))
            start = at
        reach = max(reach, at + call.overlaps)
    return (*found, range(start, len(calls))) if calls else ()


def canonical(calls: Sequence[Placed], keys: Sequence[str]) -> tuple[tuple[int, int], ...]:
    """Return positions and overlaps in the one order that equal runs have, whatever began first.

    Calls that no order tells apart stand by their `keys`.
    """
    lasted = spans(calls)
    order = sorted(range(len(calls)), key=lambda at: (lasted[at], keys[at]))
    return tuple(zip(order, overlaps_of([lasted[at] for at in order]), strict=True))


def is_sequence(calls: Iterable[Placed]) -> bool:
    """Whether no call overlaps another."""
    return not any(call.overlaps for call in calls)
