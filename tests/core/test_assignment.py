"""An assignment gives a step to as many places as any does; held against all there are."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence

from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.trajectory.match import assigned

CHOICES = st.dictionaries(
    st.integers(0, 6), st.lists(st.integers(0, 6), unique=True, max_size=7), max_size=6
)
LONG = 20_000


def most(choices: Mapping[int, Sequence[int]], used: frozenset[int] = frozenset()) -> int:
    """Try every assignment; return how many places the best of them serves."""
    if not choices:
        return 0
    place, *others = choices
    rest = {other: choices[other] for other in others}
    served = [1 + most(rest, used | {step}) for step in choices[place] if step not in used]
    return max([most(rest, used), *served])


@given(choices=CHOICES)
def test_no_assignment_serves_more_places(choices: dict[int, list[int]]) -> None:
    assert most(choices) == len(assigned(choices))


@given(choices=CHOICES)
def test_a_place_has_a_step_of_its_choice_and_no_two_have_the_same(
    choices: dict[int, list[int]],
) -> None:
    found = assigned(choices)

    assert all(step in choices[place] for place, step in found.items())
    assert len(found) == len({*found.values()})


@given(choices=CHOICES)
def test_a_place_that_could_be_served_before_others_came_is_served(
    choices: dict[int, list[int]],
) -> None:
    *before, _ = [*choices, 0]
    earlier = assigned({place: choices[place] for place in before if place in choices})

    assert earlier.keys() <= assigned(choices).keys()


def test_places_are_named_in_their_order() -> None:
    assert [2, 1] == list(assigned({2: [5], 0: [5], 1: [6]}))


def test_a_path_through_all_places_is_not_too_deep() -> None:
    """The last place wants what the first one has, and each of the others moves on by one."""
    choices = {place: [place, place + 1] for place in range(LONG)} | {LONG: [0]}

    found = assigned(choices)

    assert {**{place: place + 1 for place in range(LONG)}, LONG: 0} == found


def test_places_in_vain_do_not_search_the_same_steps_again(
    count_steps: Callable[[Callable[[], object]], int],
) -> None:
    """Twice the places with half as many steps: each look costs a row, and no row is read again."""

    def crowded(size: int) -> Callable[[], object]:
        choices = {place: [*range(size // 2)] for place in range(size)}
        return lambda: assigned(choices)

    few, many = count_steps(crowded(40)), count_steps(crowded(80))

    assert many <= 5 * few
