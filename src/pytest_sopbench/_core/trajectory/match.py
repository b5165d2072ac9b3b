"""Two trajectories, matched."""

from __future__ import annotations

from collections.abc import Callable, Collection, Hashable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from operator import attrgetter
from typing import Final, Literal, TypeAlias, get_args

from pytest_sopbench._core.model.trace import Mismatch
from pytest_sopbench._core.values.json import key_of

from .calls import (
    ArgumentMode,
    Call,
    CallForms,
    ExpectedCall,
    Span,
    Trajectory,
    argument_differences,
    arguments_match,
    expected_calls,
    groups,
    is_sequence,
    spans,
)

# Assign steps to places, each used once, so that as many places as possible have one.
#
# Kuhn's augmenting paths: a place that finds all its steps taken asks their owners for another
# one. The search goes breadth first in lists of its own, so that no length of a path is too deep,
# and remembers no more than each step once.


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


# Which expected call is answered by which actual one: aligned in order, or in any order.
#
# Positions count from 0 in this module; everything that a user sees counts from 1.

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
    # Pairing two first calls that match costs nothing: whatever either was paired with instead can
    # be let go, so the common start is part of some longest alignment.
    together = zip(expected, actual, strict=False)
    start = sum(1 for _ in takewhile(lambda pair: answers(*pair, modes), together))
    same = [[answers(one, other, modes) for other in actual[start:]] for one in expected[start:]]
    rows, columns = len(expected) - start, len(actual) - start
    best = [[0] * (columns + 1) for _ in range(rows + 1)]
    for row in reversed(range(rows)):
        for column in reversed(range(columns)):
            best[row][column] = (
                best[row + 1][column + 1] + 1
                if same[row][column]
                else max(best[row + 1][column], best[row][column + 1])
            )
    pairs = [(at, at) for at in range(start)]
    row = column = 0
    while row < rows and column < columns:
        if same[row][column]:
            pairs.append((start + row, start + column))
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
        found = alike(
            ((place, key_of(expected[place].arguments)) for place in precise),
            ((step, key_of(actual[step].arguments)) for step in steps),
        )
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
    return alike(
        ((place, expected[place].name) for place in places),
        ((step, actual[step].name) for step in steps),
    )


def alike(wanted: Iterable[tuple[int, Hashable]], given: Iterable[tuple[int, Hashable]]) -> Pairs:
    """Pair what has the same key, in order; each is used once."""
    waiting: dict[Hashable, list[int]] = {}
    for step, key in reversed([*given]):
        waiting.setdefault(key, []).append(step)
    return [(place, waiting[key].pop()) for place, key in wanted if waiting.get(key)]


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


@dataclass(frozen=True, slots=True, kw_only=True)
class UnmadeCall:
    """An expected call that was not made, in any order.

    `made` is the position of a call of the same tool that stands for it, with other arguments;
    `differences` says where. It is null if there is none.
    """

    name: str
    made: int | None = None
    differences: tuple[Mismatch, ...] = ()


def unmade_calls(
    expected: Sequence[ExpectedCall], made: Sequence[Call]
) -> tuple[tuple[UnmadeCall, ...], tuple[int, ...]]:
    """Return the expected calls that were not made, and the positions of those made beside them."""
    pairs = matched(expected, made, lambda _: "exact")
    unlike = dict(by_name(expected, made, pairs))
    places, _ = _left(range(len(expected)), (), pairs)
    unmade: list[UnmadeCall] = []
    for place in places:
        one, at = expected[place], unlike.get(place)
        found = (
            () if at is None else argument_differences(one.arguments, made[at].arguments, "exact")
        )
        unmade.append(UnmadeCall(name=one.name, made=at, differences=found))
    together = [*pairs, *unlike.items()]
    return tuple(unmade), tuple(_left((), range(len(made)), together)[1])


# Find an order of a run's calls that is one of the expected orders as well.
#
# Both sides are interval orders (`overlap`). A run keeps to what is expected if some order of
# both sides pairs each expected call with one that answers it. Two interval orders can be merged
# exactly if no two pairs stand in opposite order in them: a longer contradiction always has a
# shorter one inside, so pairs of pairs are all that has to be looked at.

Law: TypeAlias = Literal["mergeable", "kept"]
"""`mergeable`: no order of one side contradicts the other. `kept`: the run has each expected
order, so that what was expected to end before another call began did."""

Matrix: TypeAlias = Sequence[Sequence[bool]]
"""Whether an expected call, by its position, is answered by an actual one."""

MOST: Final = 10_000
"""Steps of a search. If many calls fit many patterns it is hard, and what takes longer fails."""


def joined(
    same: Matrix, expected: Sequence[Span], actual: Sequence[Span], *, law: Law, whole: bool
) -> list[tuple[int, int]] | None:
    """Pair every expected call with an actual one that answers it, in an order of both.

    Args:
        same: which actual calls answer which expected ones.
        expected: the spans of the expected calls, in the order in which they begin.
        actual: those of the actual ones.
        law: what the orders of the two sides have to do with each other.
        whole: whether no actual call may be left.

    Returns:
        The pairs by position, or `None` if there are none, or none were found in time.
    """
    spare = len(actual) - len(expected)
    if spare < 0 or (whole and spare) or not all(map(any, same)):
        return None
    if not expected:
        return []
    columns = [sum(row[at] << place for place, row in enumerate(same)) for at in range(len(actual))]
    sequence = all(one.first == at for at, one in enumerate(expected))
    return _Joining(
        same=same,
        expected=expected,
        low=[one.first if law == "mergeable" else one.last + 1 for one in actual],
        high=[one.last if law == "mergeable" else one.first for one in actual],
        twin=_twins(columns, actual),
        whole=whole,
        decided=whole and law == "mergeable" and sequence and _are_kinds(columns),
    ).search()


@dataclass(slots=True, kw_only=True)
class _Joining:
    """One search: expected calls are answered one by one, in the order in which they begin.

    What is used for one of them sets a floor for those that it stands before. `low` is the floor
    that the use of an actual call sets, `high` the highest one at which it can be used. `twin` is
    the call before it that cannot be told from it, or -1. With `decided` the first choice at each
    step is as good as any: of calls of one kind, the one that ends first.
    """

    same: Matrix
    expected: Sequence[Span]
    low: Sequence[int]
    high: Sequence[int]
    twin: Sequence[int]
    whole: bool
    decided: bool
    dead: set[object] = field(default_factory=set[object])

    def search(self) -> list[tuple[int, int]] | None:
        chosen: list[int] = []
        choices = [self._choices(chosen)]
        for _ in range(MOST + len(self.expected)):
            step = next(choices[-1], None)
            if step is not None:
                chosen.append(step)
                if len(chosen) == len(self.expected):
                    return list(enumerate(chosen))
                choices.append(self._choices(chosen))
                continue
            choices.pop()
            if not choices:
                return None
            self.dead.add(self._state(chosen))
            chosen.pop()
        return None

    def _choices(self, chosen: Sequence[int]) -> Iterator[int]:
        if self.dead and self._state(chosen) in self.dead:
            return iter(())
        place, used = len(chosen), frozenset(chosen)
        floor = self._floor(chosen)
        free = [step for step in range(len(self.low)) if step not in used]
        if self.whole and any(self.high[step] < floor for step in free):
            # What is left behind can never be used.
            return iter(())
        fit = [
            step
            for step in free
            if self.same[place][step]
            and self.high[step] >= floor
            and (self.twin[step] < 0 or self.twin[step] in used)
        ]
        fit.sort(key=lambda step: (self.high[step], self.low[step], step != place))
        return iter(fit[:1] if self.decided else fit)

    def _floor(self, chosen: Sequence[int]) -> int:
        """Return the floor for the expected call that is to be answered next."""
        begins = self.expected[len(chosen)].first
        return max(
            (
                self.low[step]
                for one, step in zip(self.expected, chosen, strict=False)
                if one.last < begins
            ),
            default=0,
        )

    def _state(self, chosen: Sequence[int]) -> object:
        """Return what decides whether the rest can be answered, and no more of the past."""
        floor = self._floor(chosen)
        begins = self.expected[len(chosen)].first
        later: dict[int, int] = {}
        for one, step in zip(self.expected, chosen, strict=False):
            if one.last >= begins:
                later[one.last] = max(later.get(one.last, 0), self.low[step])
        used = frozenset(step for step in chosen if self.high[step] >= floor)
        return len(chosen), floor, used, frozenset(later.items())


def laid_out(
    same: Matrix, expected: Sequence[Span], actual: Sequence[Span]
) -> tuple[list[int], list[int]]:
    """Return an order of each side in which as many calls as are seen at once lie side by side.

    If `same` is the pairs of a merge, all of them do.
    """
    places, steps = list(range(len(expected))), list(range(len(actual)))
    laid: tuple[list[int], list[int]] = [], []
    while places and steps:
        first, second = _ready(places, expected), _ready(steps, actual)
        pair = next(((p, s) for p in first for s in second if same[p][s]), None)
        place, step = pair or _lone(same, places, steps, first, second)
        for one, side, order in ((place, places, laid[0]), (step, steps, laid[1])):
            if one is not None:
                side.remove(one)
                order.append(one)
    return [*laid[0], *places], [*laid[1], *steps]


def _lone(
    same: Matrix,
    places: Sequence[int],
    steps: Sequence[int],
    first: Sequence[int],
    second: Sequence[int],
) -> tuple[int | None, int | None]:
    """Choose what is to stand alone if no two calls that are ready answer each other."""
    extra = next((s for s in second if not any(same[p][s] for p in places)), None)
    if extra is not None:
        return None, extra
    missing = next((p for p in first if not any(same[p][s] for s in steps)), None)
    return (missing, None) if missing is not None else (None, second[0])


def _ready(left: Sequence[int], spans: Sequence[Span]) -> list[int]:
    ends = min(spans[at].last for at in left)
    return [at for at in left if spans[at].first <= ends]


def _twins(columns: Sequence[int], actual: Sequence[Span]) -> list[int]:
    last: dict[object, int] = {}
    twins: list[int] = []
    for step, (column, span) in enumerate(zip(columns, actual, strict=True)):
        twins.append(last.get((column, span), -1))
        last[column, span] = step
    return twins


def _are_kinds(columns: Sequence[int]) -> bool:
    """Whether two calls that answer one expected call answer all the same ones."""
    kinds = {column for column in columns if column}
    together = 0
    for column in kinds:
        if together & column:
            return False
        together |= column
    return True


# The first step at which a run departs from what was expected of it.
#
# Steps of the run and places in the expected list count from 1.

MatchMode: TypeAlias = Literal["exact", "in_order", "any_order", "subset", "superset"]
"""How a list of expected calls is held against a trajectory; see `match_trajectory`."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MatchedPair:
    """An expected call, by its place in the list, and the step of the run that made it.

    `differences` are those of the arguments, by path, if it was made with others.
    """

    place: int
    step: int
    differences: tuple[Mismatch, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class _Layout:
    """The positions of both sides, in the order in which they are laid beside each other.

    The sides may be laid otherwise than they began; what is told counts from 1, as they began.
    """

    places: Sequence[int]
    steps: Sequence[int]

    def numbers(self, pairs: Pairs) -> tuple[MatchedPair, ...]:
        return tuple(MatchedPair(place=self.place(p), step=self.step(s)) for p, s in pairs)

    def place(self, at: int) -> int:
        return self.places[at] + 1

    def step(self, at: int) -> int:
        """Return the number of a step; one past the last stands for no step at all."""
        return (self.steps[at] if at < len(self.steps) else at) + 1


@dataclass(frozen=True, slots=True, kw_only=True)
class Departure:
    """Where a run departs, what was expected there, and what was done instead.

    Attributes:
        step: the step, from 1; one past the last call if the run ended too early.
        place: the place in the expected list, from 1; `None` if no call was expected.
        expected: the call that was expected; `None` if no further one was.
        done: the call that was made; `None` if the run ended too early.
        differences: the arguments that differ.
        why: the departure in one sentence.
    """

    step: int
    place: int | None
    expected: ExpectedCall | None
    done: Call | None
    differences: tuple[Mismatch, ...] = ()
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
    layout: _Layout,
) -> Departure:
    """Find the departure of a run that does not match."""
    place, step = _position(match, pairing, len(actual))
    wanted = expected[place] if place is not None and place < len(expected) else None
    done = actual[step] if step < len(actual) else None
    differences = (
        _differences(wanted, done, modes(wanted.name)) if wanted is not None and done else ()
    )
    return Departure(
        step=layout.step(step),
        place=None if wanted is None or place is None else layout.place(place),
        expected=wanted,
        done=done,
        differences=differences,
        why=_why(wanted, done, len(actual), _made_elsewhere(place, pairing, layout)),
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


def _made_elsewhere(place: int | None, pairing: Pairing, layout: _Layout) -> str:
    moved, unlike = dict(pairing.moved), dict(pairing.unlike)
    if place in moved:
        return f" (its call came at step {layout.step(moved[place])})"
    if place in unlike:
        return f" (its call, with other arguments, came at step {layout.step(unlike[place])})"
    return ""


def _differences(expected: ExpectedCall, done: Call, mode: ArgumentMode) -> tuple[Mismatch, ...]:
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


# Hold a trajectory against a list of expected calls, with the reason.
#
# ==========  ==================  ==================  ==========================
# match       every expected      every actual call   order
#             call is made        was expected
# ==========  ==================  ==================  ==========================
# exact       yes                 yes                 that of the expected calls
# in_order    yes                 no: others may      that of the expected calls
#                                 stand between
# any_order   yes                 yes                 any
# subset      no                  yes                 any
# superset    yes                 no                  any
# ==========  ==================  ==================  ==========================
#
# Calls that overlap have no order, neither those of a run nor an expected group: `exact` and
# `in_order` hold if one of the orders they may have been made in is an expected one. Whether a
# call ended before another began is what a contract's `before` asks.
#
# Each call answers at most one expected call, so a repeated call must be expected as often as it
# is made. `in_order` is that of Google's ADK; its `ANY_ORDER`, which allows other calls, is
# `superset` here, so that no two words mean the same.

ORDERED = frozenset({"exact", "in_order"})
"""The matches in which the order of the calls counts."""


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
        departure: the first step that is not as expected; `None` if the match holds.
        places: the order in which the expected list was laid beside the run; it differs from
            1, 2, 3 only if calls overlap.
        steps: the same for the run.
        overlapping: the steps that overlap, in groups, if the order counts.
    """

    held: bool
    match: MatchMode
    arguments: ArgumentMode
    pairs: tuple[MatchedPair, ...]
    out_of_order: tuple[MatchedPair, ...]
    unlike: tuple[MatchedPair, ...]
    missing: tuple[int, ...]
    extra: tuple[int, ...]
    departure: Departure | None
    places: tuple[int, ...] = ()
    steps: tuple[int, ...] = ()
    overlapping: tuple[tuple[int, ...], ...] = ()


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
    together = [group for group in groups(made) if len(group) > 1] if match in ORDERED else []
    overlapping = tuple(tuple(at + 1 for at in group) for group in together)
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
        overlapping=overlapping,
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


def _pairing(
    match: MatchMode, wanted: Sequence[ExpectedCall], made: Sequence[Call], modes: Modes
) -> Pairing:
    moved: Pairs = []
    if match in ORDERED:
        pairs = aligned(wanted, made, modes)
        places, steps = _left(range(len(wanted)), range(len(made)), pairs)
        found = matched([wanted[at] for at in places], [made[at] for at in steps], modes)
        moved = [(places[place], steps[step]) for place, step in found]
    else:
        pairs = matched(wanted, made, modes)
    unlike = by_name(wanted, made, [*pairs, *moved])
    together = [*pairs, *moved, *unlike]
    missing, extra = _left(range(len(wanted)), range(len(made)), together)
    return Pairing(pairs=pairs, moved=moved, unlike=unlike, missing=missing, extra=extra)


def _holds(match: MatchMode, pairing: Pairing) -> bool:
    apart = bool(pairing.moved or pairing.unlike)
    all_made = not apart and not pairing.missing
    all_expected = not apart and not pairing.extra
    if match == "subset":
        return all_expected
    if match in {"in_order", "superset"}:
        return all_made
    return all_made and all_expected


def _unlike(
    pair: tuple[int, int],
    wanted: Sequence[ExpectedCall],
    made: Sequence[Call],
    modes: Modes,
    layout: _Layout,
) -> MatchedPair:
    place, step = pair
    expected = wanted[place]
    return MatchedPair(
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
