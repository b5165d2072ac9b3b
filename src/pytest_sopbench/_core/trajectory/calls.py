"""The ordered tool calls of a run: which overlap, how two differ, and how they are written.

Calls stand in the order in which they began. `overlaps` counts the calls after one that began, or
may begin, before it ends; if it is 0 throughout, each call ended before the next began.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import (
    Any,
    Final,
    Literal,
    NamedTuple,
    NoReturn,
    Protocol,
    TypeAlias,
    TypeVar,
    cast,
)

from pytest_sopbench._core.hiding import shortened
from pytest_sopbench._core.model.trace import Mismatch, ToolCall, Trace, has_ended
from pytest_sopbench._core.values.json import JsonValue, is_list, kind_of, same_json

# The tool calls of a run, and those that are expected of it.


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call without its result: what a trajectory is made of.

    Attributes:
        name: the tool.
        arguments: what it was given; a mapping, unless the agent passed something else.
        overlaps: how many calls after this one began before it ended.
    """

    name: str
    arguments: JsonValue
    overlaps: int = 0


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """The tool calls of one run, in the order in which they began; failed ones too.

    It has a length, and can be iterated and indexed from 0.

    Attributes:
        calls: the calls.
        of_state: whether each is a change of the world (`sop_run.state_changes`) instead of a call;
            those have snapshots of their own.
    """

    calls: tuple[Call, ...] = ()
    of_state: bool = field(default=False, compare=False, repr=False)

    def __iter__(self) -> Iterator[Call]:
        return iter(self.calls)

    def __len__(self) -> int:
        return len(self.calls)

    def __getitem__(self, index: int) -> Call:
        return self.calls[index]

    @property
    def names(self) -> tuple[str, ...]:
        """The names of the tools, one for each call."""
        return tuple(call.name for call in self.calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCall:
    """A call that is expected.

    Attributes:
        name: the tool.
        arguments: its arguments; `None` asks nothing of them.
        overlaps: how many of the expected calls after this one may come before it.
    """

    name: str
    arguments: Mapping[str, JsonValue] | None = None
    overlaps: int = 0


CallForm: TypeAlias = str | tuple[str, Mapping[str, JsonValue] | None] | ExpectedCall
"""How a test writes an expected call: `"name"` or `("name", {"argument": value})`."""

CallForms: TypeAlias = Iterable[CallForm | list[CallForm]]
"""How a test writes a list of them; a list in it is a group whose calls come in any order."""


def trajectory_of(trace: Trace) -> Trajectory:
    return Trajectory(
        calls=tuple(
            Call(name=call.name, arguments=call.arguments, overlaps=call.overlaps)
            for call in trace.calls
        )
    )


def expected_calls(forms: CallForms) -> tuple[ExpectedCall, ...]:
    """Read a list of expected calls.

    Raises:
        TypeError: an element is neither a name, a pair of name and arguments, nor a group of them.
    """
    if isinstance(forms, str):
        msg = f"expected calls must be a list, not the text {forms!r}; write [{forms!r}]"
        raise TypeError(msg)
    read: list[ExpectedCall] = []
    for form in forms:
        if isinstance(form, list):
            read += _group(len(read) + 1, form)
        else:
            read.append(_expected_call(len(read) + 1, form))
    return tuple(read)


def unneeded_calls(actual: Trajectory, expected: Iterable[ExpectedCall]) -> Mapping[str, int]:
    """Return how often each tool was called that no expected call names."""
    needed = {call.name for call in expected}
    return Counter(call.name for call in actual if call.name not in needed)


def _group(place: int, forms: list[CallForm]) -> Iterator[ExpectedCall]:
    for at, form in enumerate(forms):
        yield replace(_expected_call(place + at, form), overlaps=len(forms) - at - 1)


def _expected_call(place: int, form: object) -> ExpectedCall:
    match form:
        case ExpectedCall():
            return form
        case str():
            return ExpectedCall(name=form)
        case (str() as name, None):
            return ExpectedCall(name=name)
        case (str() as name, Mapping()):
            arguments = cast("tuple[str, Mapping[str, JsonValue]]", form)[1]
            return ExpectedCall(name=name, arguments=arguments)
        case _:
            hint = "write 'tool' or ('tool', {'argument': value})"
            msg = f"expected call {place} is {form!r}; {hint}"
            raise TypeError(msg)


# Compare the arguments of a call with expected ones, and say at which path they differ.
#
# Values are compared as JSON: numbers by value (`1` is `1.0`), a boolean is never a number, text
# is compared as written, and the order of keys means nothing.

ArgumentMode: TypeAlias = Literal["exact", "contains", "ignore"]
"""How arguments are compared: all of them, at least the expected ones, or not at all."""


def argument_differences(
    expected: JsonValue, actual: JsonValue, mode: ArgumentMode
) -> tuple[Mismatch, ...]:
    """Return every difference; none means that the arguments match.

    Its `field` is a path as one would write it in code (`items[2].id`), empty for the arguments as
    a whole. Of one that is `missing` the actual value is null, of an `unexpected` one the expected.

    With `contains` a mapping may have further keys, at every depth; a list is compared whole.
    """
    if mode == "ignore":
        return ()
    return tuple(_differences(expected, actual, mode, ""))


def arguments_match(expected: JsonValue, actual: JsonValue, mode: ArgumentMode) -> bool:
    if mode == "exact":
        return same_json(expected, actual)
    return not argument_differences(expected, actual, mode)


def _differences(
    expected: JsonValue, actual: JsonValue, mode: ArgumentMode, path: str
) -> Iterator[Mismatch]:
    if isinstance(expected, Mapping) and isinstance(actual, Mapping):
        yield from _key_differences(expected, actual, mode, path)
    elif is_list(expected) and is_list(actual) and len(expected) == len(actual):
        for index, (one, other) in enumerate(zip(expected, actual, strict=True)):
            yield from _differences(one, other, "exact", f"{path}[{index}]")
    elif not same_json(expected, actual):
        why = _why(expected, actual)
        yield Mismatch(field=path, expected=expected, actual=actual, why=why)


def _key_differences(
    expected: Mapping[str, JsonValue],
    actual: Mapping[str, JsonValue],
    mode: ArgumentMode,
    path: str,
) -> Iterator[Mismatch]:
    for name, value in expected.items():
        place = _inside(path, name)
        if name in actual:
            yield from _differences(value, actual[name], mode, place)
        else:
            yield Mismatch(field=place, expected=value, actual=None, why="missing")
    if mode == "exact":
        for name, value in actual.items():
            if name not in expected:
                yield Mismatch(
                    field=_inside(path, name), expected=None, actual=value, why="unexpected"
                )


def _why(expected: JsonValue, actual: JsonValue) -> str:
    wanted, given = kind_of(expected), kind_of(actual)
    if wanted != given:
        return f"{given} instead of {wanted}"
    if is_list(expected) and is_list(actual):
        return f"{len(actual)} elements instead of {len(expected)}"
    return "different"


def _inside(path: str, name: str) -> str:
    if not name.isidentifier():
        return f"{path}[{json.dumps(name, ensure_ascii=False)}]"
    return f"{path}.{name}" if path else name


# Which calls stood before which, if some of them were made at the same time.
#
# A call stands before another if it *ended* before the other *began*; two of which neither stands
# before the other overlap. What comes of that is an interval order. Calls are listed in the order
# in which they began, and each tells how many of those after it began before it ended: that is all
# there is to know, and no clock is asked. Positions count from 0.


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


# Whether a tool was called as a test says, with the reason if it was not.
#
# Steps count from 1. If order is asked for, the earlier call must have succeeded, and ended
# before the later one began: to try in vain is not to have done it, and who calls both at once has
# waited for neither.


@dataclass(frozen=True, slots=True, kw_only=True)
class CallDemand:
    """A call that a test asks for.

    `arguments` must be among those of the call. `succeeded` takes only calls that did, or only
    such that did not. `before` and `after` name tools that must have been called as well.
    `times` counts the calls that fit; without it one is enough.
    """

    name: str
    before: tuple[str, ...] = ()
    after: tuple[str, ...] = ()
    times: int | None = None
    arguments: Mapping[str, JsonValue] | None = None
    succeeded: bool | None = None

    def words(self) -> str:
        """Say what is asked for, without the arguments."""
        how = {None: "called", True: "called with success", False: "called in vain"}
        parts = [f"{self.name} must be {how[self.succeeded]}"]
        if self.times is not None:
            parts.append("once" if self.times == 1 else f"{self.times} times")
        parts += [f"before {name}" for name in self.before]
        parts += [f"after {name}" for name in self.after]
        return " ".join(parts)


@dataclass(frozen=True, slots=True, kw_only=True)
class Unmet:
    """Why a demand is not met, and the step at which that is seen, if there is one."""

    why: str
    step: int | None = None


def unmet_call(demand: CallDemand, calls: Sequence[ToolCall]) -> Unmet | None:
    """Return why the calls of a run do not meet a demand, or `None` if they do."""
    fitting = [step for step, call in enumerate(calls, start=1) if _fits(demand, call)]
    if demand.times is not None and demand.succeeded is not None:
        whatever = replace(demand, succeeded=None)
        for step, call in enumerate(calls, start=1):
            if not has_ended(call) and _fits(whatever, call):
                return Unmet(why=f"{at(step, call.name)}: {call.error}", step=step)
    if demand.times is not None and len(fitting) != demand.times:
        return _miscounted(fitting, calls)
    if not fitting and demand.times is None:
        return _not_called(demand, calls)
    return _out_of_order(demand, fitting, calls)


def unwanted_call(name: str, calls: Sequence[ToolCall]) -> Unmet | None:
    """Return where a tool was called that must not be, failed calls included."""
    step = next((step for step, _ in calls_of(name, calls)), None)
    return None if step is None else Unmet(why=f"{at(step, name)}: it was called", step=step)


def _fits(demand: CallDemand, call: ToolCall) -> bool:
    if call.name != demand.name or demand.succeeded not in {None, call.succeeded}:
        return False
    if demand.succeeded is False and not has_ended(call):
        return False
    wanted = demand.arguments
    return wanted is None or not argument_differences(wanted, call.arguments, "contains")


def _not_called(demand: CallDemand, calls: Sequence[ToolCall]) -> Unmet:
    if not calls:
        return Unmet(why="no tool was called")
    made = list(calls_of(demand.name, calls))
    if not made:
        return Unmet(why=f"{demand.name} was never called")
    step, call = made[-1]
    where = at(step, call.name)
    if demand.arguments is not None:
        found = argument_differences(demand.arguments, call.arguments, "contains")
        if found:
            return Unmet(why=f"{where}: {found[0].field or 'arguments'} {found[0].why}", step=step)
    why = "the call succeeded" if call.succeeded else f"the call failed: {call.error}"
    return Unmet(why=f"{where}: {why}", step=step)


def _miscounted(fitting: Sequence[int], calls: Sequence[ToolCall]) -> Unmet:
    if not calls:
        return Unmet(why="no tool was called")
    if not fitting:
        return Unmet(why="no call fits")
    count = "1 call fits" if len(fitting) == 1 else f"{len(fitting)} calls fit"
    steps = ", ".join(str(step) for step in fitting)
    return Unmet(why=f"{count}, at step {steps}", step=fitting[-1])


def _out_of_order(
    demand: CallDemand, fitting: Sequence[int], calls: Sequence[ToolCall]
) -> Unmet | None:
    # In vain is what the test asks for if it says so; else only a success comes before.
    done = [step for step in fitting if demand.succeeded is False or calls[step - 1].succeeded]
    for name in demand.before:
        first = next((step for step, _ in calls_of(name, calls)), None)
        if first is None:
            return Unmet(why=f"{name} was never called")
        if not _any_before(done, first, calls):
            return Unmet(why=_too_early(first, name, demand.name, done, calls), step=first)
    for name in demand.after:
        well = [step for step, call in calls_of(name, calls) if call.succeeded]
        if not fitting:
            if not well:
                return Unmet(why=f"{demand.name}: called before {name} had succeeded")
        elif not _any_before(well, fitting[0], calls):
            why = _too_early(fitting[0], demand.name, name, well, calls)
            return Unmet(why=why, step=fitting[0])
    return None


def _any_before(steps: Sequence[int], later: int, calls: Sequence[ToolCall]) -> bool:
    return any(step < later and stands_before(calls, step - 1, later - 1) for step in steps)


def _too_early(
    step: int, name: str, earlier: str, steps: Sequence[int], calls: Sequence[ToolCall]
) -> str:
    """Say that a call began before the earlier one, which was made at `steps`, had succeeded."""
    said = f"{at(step, name)}: called before {earlier} had succeeded"
    running = [one for one in steps if one < step and not stands_before(calls, one - 1, step - 1)]
    return f"{said}; step {running[0]} had not ended when it began" if running else said


def calls_of(tool: str, calls: Sequence[ToolCall]) -> Iterator[tuple[int, ToolCall]]:
    """Yield the calls of a tool, each with its step."""
    return ((step, call) for step, call in enumerate(calls, start=1) if call.name == tool)


def at(step: int, tool: str) -> str:
    return f"step {step}, {tool}"


# How a list of calls is written: one call on a line, those that overlap as a list in the list.
#
# The calls of a group overlap, so they have no order. If one of them ended before a later one
# of its group began, it says so: `"ends_before": 3` is the third call of the group, and stands for
# those after it as well. A group has its calls in the order in which they began, or may have.

_T = TypeVar("_T")

_ENCODER: Final = json.JSONEncoder(ensure_ascii=False, allow_nan=False)
_KEYS: Final = {"name", "arguments"}
_SHOWN: Final = 60


def group_lines(calls: Sequence[Call]) -> Iterator[str]:
    """Yield the lines of a list of calls, without its brackets."""
    listed = groups(calls)
    for number, group in enumerate(listed):
        end = "" if number + 1 == len(listed) else ","
        lines = [_line(calls[at], group.stop - at - 1, at - group.start) for at in group]
        if len(group) == 1:
            yield f"{lines[0]}{end}"
        else:
            yield "["
            yield from (f" {line}," for line in lines[:-1])
            yield f" {lines[-1]}"
            yield f"]{end}"


def read_groups(listed: Sequence[object], kind: Callable[..., _T]) -> tuple[_T, ...]:
    """Read a list of calls and groups.

    Args:
        listed: as JSON gives it.
        kind: what is made of each, by its `name`, its `arguments` and what it `overlaps`.

    Raises:
        ValueError: something else stands in it; the message says which call, and why.
    """
    calls: list[_T] = []
    for one in listed:
        step = len(calls) + 1
        if not isinstance(one, list):
            calls.append(kind(**_call(one, step)))
            continue
        group = cast("list[object]", one)
        if len(group) < 2:  # noqa: PLR2004 - to overlap takes two
            _refuse(f"call {step}: a group has at least two calls")
        calls += [
            kind(**_member(each, step, place, len(group))) for place, each in enumerate(group, 1)
        ]
    return tuple(calls)


def _line(call: Call, following: int, before: int) -> str:
    parts: dict[str, JsonValue] = {"name": call.name, "arguments": call.arguments}
    if call.overlaps < following:
        parts["ends_before"] = before + call.overlaps + 2
    return _ENCODER.encode(parts)


def _member(data: object, step: int, place: int, size: int) -> dict[str, Any]:
    number = step + place - 1
    fields = _fields(data)
    if "ends_before" not in fields:
        return _call(data, number, overlaps=size - place)
    end = fields["ends_before"]
    if not isinstance(end, int) or isinstance(end, bool) or not place < end <= size:
        _refuse(f"call {number}: 'ends_before' must be the place of a later call of its group")
    others = {key: value for key, value in fields.items() if key != "ends_before"}
    return _call(others, number, overlaps=end - place - 1)


def _call(data: object, step: int, overlaps: int = 0) -> dict[str, Any]:
    fields = _fields(data)
    if fields.keys() != _KEYS:
        said = shortened(repr(data), _SHOWN)
        _refuse(f"call {step} is {said}, not an object with 'name' and 'arguments'")
    name, arguments = fields["name"], fields["arguments"]
    if not isinstance(name, str) or not isinstance(arguments, dict):
        _refuse(f"call {step}: 'name' must be a text, and 'arguments' an object")
    return {"name": name, "arguments": arguments, "overlaps": overlaps}


def _fields(data: object) -> dict[str, Any]:
    return cast("dict[str, Any]", data) if isinstance(data, dict) else {}


def _refuse(why: str) -> NoReturn:
    raise ValueError(why)
