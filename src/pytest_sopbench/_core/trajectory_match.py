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

Each call answers at most one expected call, so a repeated call must be expected as often as it
is made. `in_order` is that of Google's ADK; its `ANY_ORDER`, which allows other calls, is
`superset` here, so that no two words mean the same.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import get_args

from .arguments_match import ArgumentDifference, ArgumentMode, argument_differences
from .departure import Departure, MatchMode, Pairing, first_departure
from .pairing import Modes, Pairs, aligned, by_name, matched
from .trajectory import Call, CallForm, ExpectedCall, Trajectory, expected_calls

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

    Places and steps count from 1. Every place of the expected list is in exactly one of
    `pairs`, `out_of_order`, `unlike` and `missing`; every step of the run in exactly one of
    `pairs`, `out_of_order`, `unlike` and `extra`. What a match allows (the extra calls of
    `in_order` and `superset`, the missing ones of `subset`) is listed all the same.
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


def match_trajectory(
    actual: Trajectory,
    expected: Iterable[CallForm],
    *,
    match: MatchMode = "exact",
    arguments: ArgumentMode = "exact",
    per_tool: Mapping[str, ArgumentMode] | None = None,
) -> TrajectoryMatch:
    """Compare the calls of a run with expected ones. Two empty lists match in every way.

    The strictest words are the defaults: what is forgiven, a test says. An expected call that
    is a bare name asks nothing of the arguments. `per_tool` replaces `arguments` for some tools.

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

    pairing = _pairing(match, wanted, made, modes)
    held = _holds(match, pairing)
    return TrajectoryMatch(
        held=held,
        match=match,
        arguments=arguments,
        pairs=_counted(pairing.pairs),
        out_of_order=_counted(pairing.moved),
        unlike=tuple(_unlike(pair, wanted, made, modes) for pair in pairing.unlike),
        missing=tuple(place + 1 for place in pairing.missing),
        extra=tuple(step + 1 for step in pairing.extra),
        departure=None if held else first_departure(match, wanted, made, pairing, modes),
    )


def _pairing(
    match: MatchMode, wanted: tuple[ExpectedCall, ...], made: tuple[Call, ...], modes: Modes
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


def _counted(pairs: Pairs) -> tuple[MatchedPair, ...]:
    return tuple(MatchedPair(place=place + 1, step=step + 1) for place, step in pairs)


def _unlike(
    pair: tuple[int, int], wanted: tuple[ExpectedCall, ...], made: tuple[Call, ...], modes: Modes
) -> UnlikePair:
    place, step = pair
    expected = wanted[place]
    return UnlikePair(
        place=place + 1,
        step=step + 1,
        differences=argument_differences(
            expected.arguments, made[step].arguments, modes(expected.name)
        ),
    )


def _check(option: str, word: str, known: tuple[str, ...]) -> None:
    if word not in known:
        msg = f"{option}={word!r} is unknown; choose one of {', '.join(known)}"
        raise ValueError(msg)
