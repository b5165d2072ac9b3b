"""Hold a trajectory against a list of expected calls, with the reason.

==========  ==================  ==================  ==========================
match       every expected      every actual call   order
            call is made        was expected
==========  ==================  ==================  ==========================
exact       yes                 yes                 that of the expected calls
in_order    yes                 no: others may      that of the expected calls
                                stand between
any_order   yes                 yes                 any
subset      no                  yes                 any
superset    yes                 no                  any
==========  ==================  ==================  ==========================

Calls that overlap have no order, neither those of a run nor an expected group: `exact` and
`in_order` hold where one of the orders they may have been made in is an expected one. Whether a
call ended before another began is what a contract's `before` asks.

Each call answers at most one expected call, so a repeated call must be expected as often as it
is made. `in_order` is that of Google's ADK; its `ANY_ORDER`, which allows other calls, is
`superset` here, so that no two words mean the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass
from operator import attrgetter
from typing import get_args

from pytest_sopbench._core.model.trajectory import (
    Call,
    CallForms,
    ExpectedCall,
    Trajectory,
    expected_calls,
)

from .arguments import ArgumentDifference, ArgumentMode, argument_differences
from .departure import Departure, MatchMode, Pairing, first_departure
from .joining import joined, laid_out
from .overlap import groups, is_sequence, spans
from .pairing import Modes, Pairs, aligned, answers, by_name, matched

ORDERED = frozenset({"exact", "in_order"})
"""The matches in which the order of the calls counts."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedPair:
    """An expected call, by its place in the list, and the step of the run that made it."""

    place: int
    step: int


@dataclass(frozen=True, slots=True, kw_only=True)
class UnlikePair:
    """An expected call that was made with other arguments; `differences` by path."""

    place: int
    step: int
    differences: tuple[ArgumentDifference, ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class TrajectoryMatch:
    """Whether a trajectory matches, and how the two lists lie side by side.

    A *place* is a position in the expected list, a *step* one in the run. Both count from 1.
    Every place is in exactly one of `pairs`, `out_of_order`, `unlike` and `missing`. Every step
    is in exactly one of `pairs`, `out_of_order`, `unlike` and `extra`. What a match allows (the
    extra calls of `in_order` and `superset`, the missing ones of `subset`) is listed all the
    same.

    Attributes:
        held: whether the trajectory matches.
        match: the match that was asked for.
        arguments: how arguments were compared.
        pairs: expected calls, each with the step that made it.
        out_of_order: pairs that stand elsewhere than expected.
        unlike: pairs of the same tool with other arguments.
        missing: places of expected calls that were not made.
        extra: steps that were not expected.
        departure: the first step that is not as expected; `None` where the match holds.
        places: the order in which the expected list was laid beside the run; it differs from
            1, 2, 3 only where calls overlap.
        steps: the same for the run.
        overlapping: the steps that overlap, in groups, where the order counts.
    """

    held: bool
    match: MatchMode
    arguments: ArgumentMode
    pairs: tuple[MatchedPair, ...]
    out_of_order: tuple[MatchedPair, ...]
    unlike: tuple[UnlikePair, ...]
    missing: tuple[int, ...]
    extra: tuple[int, ...]
    departure: Departure | None
    places: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    overlapping: tuple[tuple[int, ...], ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """The positions of both sides, in the order in which they are laid beside each other."""

    places: Sequence[int]
    steps: Sequence[int]

    def numbers(self, pairs: Pairs) -> tuple[MatchedPair, ...]:
        return tuple(MatchedPair(place=self.place(p), step=self.step(s)) for p, s in pairs)

    def place(self, at: int) -> int:
        return self.places[at] + 1

    def step(self, at: int) -> int:
        """Return the number of a step; one past the last stands for no step at all."""
        return (self.steps[at] if at < len(self.steps) else at) + 1


def match_trajectory(
    actual: Trajectory,
    expected: CallForms,
    *,
    match: MatchMode = "exact",
    arguments: ArgumentMode = "exact",
    per_tool: Mapping[str, ArgumentMode] | None = None,
) -> TrajectoryMatch:
    """Compare the calls of a run with expected ones. Two empty lists match in every way.

    The strictest words are the defaults: what is forgiven, a test says. An expected call that
    is a bare name asks nothing of the arguments.

    Args:
        actual: the calls of the run.
        expected: the expected calls: a name, or a name with arguments, each. A list in the list
            is a group whose calls come in any order.
        match: `exact`, `in_order`, `any_order`, `subset` or `superset`.
        arguments: `exact`, `contains` or `ignore`.
        per_tool: another word than `arguments` for some tools.

    Returns:
        Whether the calls match, and how both lists lie side by side.

    Raises:
        ValueError: a word is not one of those that `match` and `arguments` know.
        TypeError: an expected call is neither a name nor a pair of name and arguments.
    """
    per_tool = per_tool or {}
    _check("match", match, get_args(MatchMode))
    for name, mode in {"arguments": arguments, **per_tool}.items():
        _check(name, mode, get_args(ArgumentMode))
    wanted, made = expected_calls(expected), actual.calls
    overrides = dict(per_tool)

    def modes(tool: str) -> ArgumentMode:
        return overrides.get(tool, arguments)

    layout = _layout(match, wanted, made, modes)
    left, right = [wanted[at] for at in layout.places], [made[at] for at in layout.steps]
    pairing = _pairing(match, left, right, modes)
    held = _holds(match, pairing)
    departure = None if held else first_departure(match, left, right, pairing, modes, layout)
    return TrajectoryMatch(
        held=held,
        match=match,
        arguments=arguments,
        pairs=tuple(sorted(layout.numbers(pairing.pairs), key=attrgetter("place"))),
        out_of_order=layout.numbers(pairing.moved),
        unlike=tuple(_unlike(pair, left, right, modes, layout) for pair in pairing.unlike),
        missing=tuple(sorted(layout.place(at) for at in pairing.missing)),
        extra=tuple(sorted(layout.step(at) for at in pairing.extra)),
        departure=departure,
        places=tuple(map(layout.place, range(len(left)))),
        steps=tuple(map(layout.step, range(len(right)))),
        overlapping=_overlapping(made) if match in ORDERED else (),
    )


def _layout(
    match: MatchMode, wanted: Sequence[ExpectedCall], made: Sequence[Call], modes: Modes
) -> _Layout:
    if match not in ORDERED or (is_sequence(wanted) and is_sequence(made)):
        return _Layout(places=range(len(wanted)), steps=range(len(made)))
    same = [[answers(one, other, modes) for other in made] for one in wanted]
    sides = spans(wanted), spans(made)
    pairs = None
    if len(matched(wanted, made, modes)) == len(wanted):
        pairs = joined(same, *sides, law="mergeable", whole=match == "exact")
    if pairs is not None:
        found = frozenset(pairs)
        same = [[(p, s) in found for s in range(len(made))] for p in range(len(wanted))]
    places, steps = laid_out(same, *sides)
    return _Layout(places=places, steps=steps)


def _overlapping(made: Sequence[Call]) -> tuple[tuple[int, ...], ...]:
    return tuple(tuple(at + 1 for at in group) for group in groups(made) if len(group) > 1)


def _pairing(
    match: MatchMode, wanted: Sequence[ExpectedCall], made: Sequence[Call], modes: Modes
) -> Pairing:
    moved: Pairs = []
    if match in ORDERED:
        pairs = aligned(wanted, made, modes)
        places = _others(len(wanted), [place for place, _ in pairs])
        steps = _others(len(made), [step for _, step in pairs])
        found = matched([wanted[at] for at in places], [made[at] for at in steps], modes)
        moved = [(places[place], steps[step]) for place, step in found]
    else:
        pairs = matched(wanted, made, modes)
    unlike = by_name(wanted, made, [*pairs, *moved])
    together = [*pairs, *moved, *unlike]
    return Pairing(
        pairs=pairs,
        moved=moved,
        unlike=unlike,
        missing=_others(len(wanted), [place for place, _ in together]),
        extra=_others(len(made), [step for _, step in together]),
    )


def _holds(match: MatchMode, pairing: Pairing) -> bool:
    apart = bool(pairing.moved or pairing.unlike)
    all_made = not apart and not pairing.missing
    all_expected = not apart and not pairing.extra
    if match == "subset":
        return all_expected
    if match in {"in_order", "superset"}:
        return all_made
    return all_made and all_expected


def _others(length: int, taken: Iterable[int]) -> list[int]:
    used = set(taken)
    return [at for at in range(length) if at not in used]


def _unlike(
    pair: tuple[int, int],
    wanted: Sequence[ExpectedCall],
    made: Sequence[Call],
    modes: Modes,
    layout: _Layout,
) -> UnlikePair:
    place, step = pair
    expected = wanted[place]
    return UnlikePair(
        place=layout.place(place),
        step=layout.step(step),
        differences=argument_differences(
            expected.arguments, made[step].arguments, modes(expected.name)
        ),
    )


def _check(option: str, word: str, known: tuple[str, ...]) -> None:
    if word not in known:
        msg = f"{option}={word!r} is unknown; choose one of {', '.join(known)}"
        raise ValueError(msg)
