"""Lay the expected calls and those of a run side by side, row by row."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest

from pytest_sopbench._core.trajectory_match import (
    ORDERED,
    MatchedPair,
    TrajectoryMatch,
    UnlikePair,
)


@dataclass(frozen=True, slots=True, kw_only=True)
class Row:
    """A place of the expected list, a step of the run, or both; they count from 1."""

    place: int | None
    step: int | None


def aligned_rows(match: TrajectoryMatch) -> list[Row]:
    """Return one row per pair and per call without a partner.

    Where order counts, matched pairs are the anchors, and what stands between two of them on
    either side is laid side by side. Else rows follow the run, and what is missing comes last.
    """
    return list(_ordered(match) if match.match in ORDERED else _unordered(match))


def _ordered(match: TrajectoryMatch) -> Iterator[Row]:
    apart: list[MatchedPair | UnlikePair] = [*match.out_of_order, *match.unlike]
    lost = sorted([*(pair.place for pair in apart), *match.missing])
    added = sorted([*(pair.step for pair in apart), *match.extra])
    for pair in match.pairs:
        yield from _gap(lost, added, pair.place, pair.step)
        yield Row(place=pair.place, step=pair.step)
        lost = [place for place in lost if place > pair.place]
        added = [step for step in added if step > pair.step]
    yield from (Row(place=place, step=step) for place, step in zip_longest(lost, added))


def _gap(lost: list[int], added: list[int], place: int, step: int) -> Iterator[Row]:
    before = [one for one in lost if one < place]
    beside = [one for one in added if one < step]
    yield from (Row(place=one, step=other) for one, other in zip_longest(before, beside))


def _unordered(match: TrajectoryMatch) -> Iterator[Row]:
    together: list[MatchedPair | UnlikePair] = [*match.pairs, *match.unlike]
    place_of = {pair.step: pair.place for pair in together}
    for step in sorted([*place_of, *match.extra]):
        yield Row(place=place_of.get(step), step=step)
    yield from (Row(place=place, step=None) for place in match.missing)
