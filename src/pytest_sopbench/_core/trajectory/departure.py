"""The first step at which a run departs from what was expected of it.

Steps of the run and places in the expected list count from 1.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal, Protocol, TypeAlias

from pytest_sopbench._core.model.trajectory import Call, ExpectedCall

from .arguments import ArgumentDifference, ArgumentMode, argument_differences
from .pairing import Modes, Pairs

MatchMode: TypeAlias = Literal["exact", "in_order", "any_order", "subset", "superset"]
"""How a list of expected calls is held against a trajectory; see `match_trajectory`."""


class Numbers(Protocol):
    """What a position on either side is called; the sides may be laid otherwise than they began."""

    def place(self, at: int, /) -> int: ...
    def step(self, at: int, /) -> int: ...


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """Where a run departs, what was expected there, and what was done instead.

    Attributes:
        step: the step, from 1; one past the last call where the run ended too early.
        place: the place in the expected list, from 1; `None` where no call was expected.
        expected: the call that was expected; `None` where no further one was.
        done: the call that was made; `None` where the run ended too early.
        differences: the arguments that differ.
        why: the departure in one sentence.
    """

    step: int
    place: int | None
    expected: ExpectedCall | None
    done: Call | None
    differences: tuple[ArgumentDifference, ...] = ()
    why: str


@dataclass(frozen=True, slots=True, kw_only=True)
class Pairing:
    """How two lists of calls were laid side by side; positions count from 0.

    Every position is in exactly one of the fields: `pairs` answer each other, `moved` would if
    order did not matter, `unlike` share the name alone, `missing` and `extra` have no partner.
    """

    pairs: Pairs
    moved: Pairs
    unlike: Pairs
    missing: Sequence[int]
    extra: Sequence[int]


def first_departure(
    match: MatchMode,
    expected: Sequence[ExpectedCall],
    actual: Sequence[Call],
    pairing: Pairing,
    modes: Modes,
    numbers: Numbers,
) -> Departure:
    """Find the departure of a run that does not match."""
    place, step = _position(match, pairing, len(actual))
    wanted = expected[place] if place is not None and place < len(expected) else None
    done = actual[step] if step < len(actual) else None
    differences = (
        _differences(wanted, done, modes(wanted.name)) if wanted is not None and done else ()
    )
    return Departure(
        step=numbers.step(step),
        place=None if wanted is None or place is None else numbers.place(place),
        expected=wanted,
        done=done,
        differences=differences,
        why=_why(wanted, done, len(actual), _made_elsewhere(place, pairing, numbers)),
    )


def _position(match: MatchMode, pairing: Pairing, length: int) -> tuple[int | None, int]:
    if match == "exact":
        at = 0
        while at < len(pairing.pairs) and pairing.pairs[at] == (at, at):
            at += 1
        return at, at
    if match == "in_order":
        place = _unpaired_places(pairing)[0]
        before = [step for answered, step in pairing.pairs if answered < place]
        return place, before[-1] + 1 if before else 0
    return _unordered_position(match, pairing, length)


def _unordered_position(match: MatchMode, pairing: Pairing, length: int) -> tuple[int | None, int]:
    places = _unpaired_places(pairing)
    place_of = {step: place for place, step in pairing.unlike}
    steps = sorted([*place_of, *pairing.extra])
    if match == "superset":
        step_of = dict(pairing.unlike)
        return places[0], step_of.get(places[0], length)
    if not steps:
        return places[0], length
    # A subset need not make the calls that are left, so none of them was expected there.
    other = places[0] if places and match == "any_order" else None
    return place_of.get(steps[0], other), steps[0]


def _unpaired_places(pairing: Pairing) -> list[int]:
    apart = [place for place, _ in (*pairing.moved, *pairing.unlike)]
    return sorted([*apart, *pairing.missing])


def _made_elsewhere(place: int | None, pairing: Pairing, numbers: Numbers) -> str:
    moved, unlike = dict(pairing.moved), dict(pairing.unlike)
    if place in moved:
        return f" (its call came at step {numbers.step(moved[place])})"
    if place in unlike:
        return f" (its call, with other arguments, came at step {numbers.step(unlike[place])})"
    return ""


def _differences(
    expected: ExpectedCall, done: Call, mode: ArgumentMode
) -> tuple[ArgumentDifference, ...]:
    if expected.name != done.name or expected.arguments is None:
        return ()
    return argument_differences(expected.arguments, done.arguments, mode)


def _why(wanted: ExpectedCall | None, done: Call | None, length: int, elsewhere: str) -> str:
    if wanted is None:
        name = done.name if done else "nothing"
        return f"no further call was expected, {name} was called"
    if done is None and length == 0:
        return f"no tool was called; {wanted.name} was expected"
    if done is None:
        calls = "1 call" if length == 1 else f"{length} calls"
        return f"{wanted.name}{elsewhere} was expected, the run ended after {calls}"
    if wanted.name == done.name:
        return f"{wanted.name} was called with other arguments than expected"
    return f"{wanted.name}{elsewhere} was expected, {done.name} was called"
