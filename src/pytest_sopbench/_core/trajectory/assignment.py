"""Assign steps to places, each used once, so that as many places as possible have one.

Kuhn's augmenting paths: a place that finds all its steps taken asks their owners for another one.
The search goes breadth first in lists of its own, so that no length of a path is too deep, and
remembers no more than each step once.
"""

from __future__ import annotations

from collections.abc import Collection, Mapping, Sequence


def assigned(choices: Mapping[int, Sequence[int]]) -> dict[int, int]:
    """Return the step of each place that has one, in the order of the places.

    No other assignment gives a step to more places. The first places come first: one that has a
    step keeps one, whoever comes later.
    """
    step_of: dict[int, int] = {}
    place_of: dict[int, int] = {}
    hopeless: set[int] = set()
    for start in choices:
        asked_by: dict[int, int] = {}
        step = _free_step(start, choices, place_of, hopeless, asked_by)
        if step is None:
            # What this search has seen leads nowhere, whatever is assigned later.
            hopeless.update(asked_by)
        while step is not None:
            # Backwards along the path: each place takes the step it asked for, and leaves its own.
            place = asked_by[step]
            place_of[step] = place
            given_up = step_of.get(place)
            step_of[place] = step
            step = given_up
    return {place: step_of[place] for place in choices if place in step_of}


def _free_step(
    start: int,
    choices: Mapping[int, Sequence[int]],
    place_of: Mapping[int, int],
    hopeless: Collection[int],
    asked_by: dict[int, int],
) -> int | None:
    """Return a free step at the end of a path from a place; `asked_by` tells the way back."""
    waiting = [start]
    # The list grows while it is read.
    for place in waiting:
        for step in choices[place]:
            if step in asked_by or step in hopeless:
                continue
            asked_by[step] = place
            if step not in place_of:
                return step
            waiting.append(place_of[step])
    return None
