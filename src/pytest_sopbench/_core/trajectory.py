"""The ordered tool calls of a run, and the calls that are expected of it."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from typing import TypeAlias, cast

from .models import JsonValue
from .traces import Trace


@dataclass(frozen=True, slots=True, kw_only=True)
class Call:
    """A tool call without its result: what a trajectory is made of."""

    name: str
    arguments: JsonValue


@dataclass(frozen=True, slots=True, kw_only=True)
class Trajectory:
    """The tool calls of one run, in the order in which they were made; failed ones too."""

    calls: tuple[Call, ...] = ()

    def __iter__(self) -> Iterator[Call]:
        return iter(self.calls)

    def __len__(self) -> int:
        return len(self.calls)

    def __getitem__(self, index: int) -> Call:
        return self.calls[index]

    @property
    def names(self) -> tuple[str, ...]:
        return tuple(call.name for call in self.calls)


@dataclass(frozen=True, slots=True, kw_only=True)
class ExpectedCall:
    """A call that is expected; with `arguments` null, whatever its arguments."""

    name: str
    arguments: Mapping[str, JsonValue] | None = None


CallForm: TypeAlias = str | tuple[str, Mapping[str, JsonValue] | None] | ExpectedCall
"""How a test writes an expected call: `"name"` or `("name", {"argument": value})`."""


def trajectory_of(trace: Trace) -> Trajectory:
    return Trajectory(
        calls=tuple(Call(name=call.name, arguments=call.arguments) for call in trace.calls)
    )


def expected_calls(forms: Iterable[CallForm]) -> tuple[ExpectedCall, ...]:
    """Read a list of expected calls.

    Raises:
        TypeError: an element is neither a name nor a pair of name and arguments.
    """
    if isinstance(forms, str):
        msg = f"expected calls must be a list, not the text {forms!r}; write [{forms!r}]"
        raise TypeError(msg)
    return tuple(_expected_call(place, form) for place, form in enumerate(forms, start=1))


def unneeded_steps(actual: Trajectory, expected: Iterable[ExpectedCall]) -> tuple[int, ...]:
    """Return the steps, from 1, that call a tool which no expected call names."""
    needed = {call.name for call in expected}
    return tuple(step for step, call in enumerate(actual, start=1) if call.name not in needed)


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
