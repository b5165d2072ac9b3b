"""The ordered tool calls of a run, and the calls that are expected of it.

Calls stand in the order in which they began. `overlaps` counts the calls after one that began, or
may begin, before it ends; where it is 0 throughout, each call ended before the next began.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from typing import TypeAlias, cast

from pytest_sopbench._core.values.json import JsonValue

from .trace import Trace


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
