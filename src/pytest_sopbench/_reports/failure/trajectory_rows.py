"""Lay the expected calls and those of a run side by side, row by row."""

from __future__ import annotations

from collections.abc import Iterable, Iterator
from dataclasses import dataclass
from itertools import takewhile, zip_longest
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from pytest_sopbench._core.trajectory.match import MatchedPair, TrajectoryMatch, UnlikePair


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A place of the expected list, a step of the run, or both; they count from 1."""

    place: int | None
    step: int | None


def aligned_rows(match: TrajectoryMatch) -> list[Row]:
    """Return one row per pair and per call without a partner.

    Where order counts, matched pairs are the anchors, and what stands between two of them on
    either side is laid side by side; calls that overlap stand in the order they were taken in.
    Else rows follow the run, and what is missing comes last.
    """
    from pytest_sopbench._core.trajectory.match import ORDERED  # noqa: PLC0415 - only where calls are compared

    return list(_ordered(match) if match.match in ORDERED else _unordered(match))


def _ordered(match: TrajectoryMatch) -> Iterator[Row]:
    partner = {pair.place: pair.step for pair in match.pairs}
    together = set(partner.values())
    steps = iter(match.steps)
    lost: list[int] = []
    for place in match.places:
        if place not in partner:
            lost.append(place)
            continue
        added = list(takewhile(lambda step: step not in together, steps))
        yield from _gap(lost, added)
        yield Row(place=place, step=partner[place])
        lost = []
    yield from _gap(lost, list(steps))


def _gap(lost: Iterable[int], added: Iterable[int]) -> Iterator[Row]:
    yield from (Row(place=one, step=other) for one, other in zip_longest(lost, added))


def _unordered(match: TrajectoryMatch) -> Iterator[Row]:
    together: list[MatchedPair | UnlikePair] = [*match.pairs, *match.unlike]
    place_of = {pair.step: pair.place for pair in together}
    for step in sorted([*place_of, *match.extra]):
        yield Row(place=place_of.get(step), step=step)
    yield from (Row(place=place, step=None) for place in match.missing)
