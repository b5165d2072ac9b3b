"""Which expected call is answered by which actual one: aligned in order, or in any order.

Positions count from 0 in this module; everything that a user sees counts from 1.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from typing import TypeAlias

from pytest_sopbench._core.model.trajectory import Call, ExpectedCall
from pytest_sopbench._core.values.json import key_of

from .arguments import ArgumentMode, arguments_match
from .assignment import assigned

Pairs: TypeAlias = list[tuple[int, int]]
"""Positions of an expected call and of the actual call that answers it."""

Modes: TypeAlias = Callable[[str], ArgumentMode]
"""The mode in which the arguments of a tool of that name are compared."""


def answers(expected: ExpectedCall, actual: Call, modes: Modes) -> bool:
    """Whether the actual call is one that was expected."""
    if expected.name != actual.name:
        return False
    if expected.arguments is None:
        return True
    return arguments_match(expected.arguments, actual.arguments, modes(expected.name))


def aligned(expected: Sequence[ExpectedCall], actual: Sequence[Call], modes: Modes) -> Pairs:
    """Pair as many calls as possible without crossing: a longest common subsequence.

    Time and memory grow with the product of the lengths, less the common start. Among the
    longest, the one is taken that pairs each call as early as it can.
    """
    start = 0
    for one, other in zip(expected, actual, strict=False):
        # Pairing two first calls that match costs nothing: whatever either was paired with
        # instead can be let go, so the common start is part of some longest alignment.
        if not answers(one, other, modes):
            break
        start += 1
    same = [[answers(one, other, modes) for other in actual[start:]] for one in expected[start:]]
    return [(at, at) for at in range(start)] + [
        (start + place, start + step) for place, step in _longest(same)
    ]


def _longest(same: Sequence[Sequence[bool]]) -> Pairs:
    rows, columns = len(same), len(same[0]) if same else 0
    best = [[0] * (columns + 1) for _ in range(rows + 1)]
    for row in reversed(range(rows)):
        for column in reversed(range(columns)):
            best[row][column] = (
                best[row + 1][column + 1] + 1
                if same[row][column]
                else max(best[row + 1][column], best[row][column + 1])
            )
    pairs: Pairs = []
    row = column = 0
    while row < rows and column < columns:
        if same[row][column]:
            pairs.append((row, column))
            row, column = row + 1, column + 1
        elif best[row + 1][column] > best[row][column + 1]:
            row += 1
        else:
            column += 1
    return pairs


def matched(expected: Sequence[ExpectedCall], actual: Sequence[Call], modes: Modes) -> Pairs:
    """Pair as many calls as possible in any order; each call is used once.

    Only calls of one tool can pair, so each tool is matched by itself: equal arguments first,
    then those that contain the expected ones, then the expected calls that ask for no
    arguments. Each stage leaves a maximum within reach (containment is transitive, and a call
    that asks for nothing takes any that is left), so together they reach it.
    """
    made = _by_tool(actual)
    pairs: Pairs = []
    for name, places in _by_tool(expected).items():
        mode, steps = modes(name), made.get(name, [])
        precise = [place for place in places if expected[place].arguments is not None]
        found = _equal(precise, steps, expected, actual)
        if mode == "contains":
            found += _containing(*_left(precise, steps, found), expected, actual)
        rest, free = _left(places, steps, found)
        if mode != "ignore":
            rest = [place for place in rest if expected[place].arguments is None]
        pairs += [*found, *zip(rest, free, strict=False)]
    return sorted(pairs)


def by_name(expected: Sequence[ExpectedCall], actual: Sequence[Call], left: Pairs) -> Pairs:
    """Pair what neither alignment nor matching has paired, by the name alone, in order."""
    places, steps = _left(range(len(expected)), range(len(actual)), left)
    free: dict[str, list[int]] = {}
    for step in steps:
        free.setdefault(actual[step].name, []).append(step)
    return [
        (place, free[expected[place].name].pop(0))
        for place in places
        if free.get(expected[place].name)
    ]


def _by_tool(calls: Sequence[Call | ExpectedCall]) -> Mapping[str, list[int]]:
    groups: dict[str, list[int]] = {}
    for at, call in enumerate(calls):
        groups.setdefault(call.name, []).append(at)
    return groups


def _left(places: Sequence[int], steps: Sequence[int], pairs: Pairs) -> tuple[list[int], list[int]]:
    used_places, used_steps = {place for place, _ in pairs}, {step for _, step in pairs}
    return (
        [place for place in places if place not in used_places],
        [step for step in steps if step not in used_steps],
    )


def _equal(
    places: Sequence[int],
    steps: Sequence[int],
    expected: Sequence[ExpectedCall],
    actual: Sequence[Call],
) -> Pairs:
    waiting: dict[object, list[int]] = {}
    for step in reversed(steps):
        waiting.setdefault(key_of(actual[step].arguments), []).append(step)
    pairs: Pairs = []
    for place in places:
        equal = waiting.get(key_of(expected[place].arguments))
        if equal:
            pairs.append((place, equal.pop()))
    return pairs


def _containing(
    places: Sequence[int],
    steps: Sequence[int],
    expected: Sequence[ExpectedCall],
    actual: Sequence[Call],
) -> Pairs:
    choices = {
        place: [
            step
            for step in steps
            if arguments_match(expected[place].arguments, actual[step].arguments, "contains")
        ]
        for place in places
    }
    return list(assigned(choices).items())
