"""Fill the parameters of somebody else's callable by name."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from dataclasses import dataclass
from inspect import Parameter, Signature
from typing import Any

_NEVER = frozenset({Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD})


class CannotFillError(Exception):
    """A required parameter has no value."""

    def __init__(self, parameter: str) -> None:
        super().__init__(parameter)
        self.parameter = parameter


@dataclass(frozen=True, slots=True)
class Filling:
    """How one callable is called: what goes by position, and what by name.

    `optional` are the parameters that may be given and need not be.
    """

    positional: tuple[Parameter, ...]
    by_name: tuple[str, ...]
    filled: frozenset[str]
    optional: tuple[str, ...] = ()

    def values(self, known: Mapping[str, object]) -> tuple[list[object], dict[str, object]]:
        """Return the arguments of one call; `known` has a value for each of `filled`."""
        by_position: list[object] = [
            known[one.name] if one.name in self.filled else one.default for one in self.positional
        ]
        return by_position, {name: known[name] for name in self.by_name}


def plan_filling(
    signature: Signature, *, required: Collection[str], wanted: Collection[str]
) -> Filling:
    """Decide which parameters of a callable are filled.

    Args:
        signature: of the callable, without `self`.
        required: names that are filled where the parameter has no default.
        wanted: names that are filled wherever there is a parameter of that name.

    Raises:
        CannotFillError: a parameter has no default and is in neither.
    """
    positional: list[Parameter] = []
    by_name: list[str] = []
    filled: set[str] = set()
    optional: list[str] = []
    for name, parameter in signature.parameters.items():
        if parameter.kind in _NEVER:
            continue
        takes = _takes(parameter, required, wanted)
        if takes:
            filled.add(name)
        if parameter.default is not Parameter.empty:
            optional.append(name)
        if parameter.kind is Parameter.POSITIONAL_ONLY:
            positional.append(parameter)
        elif takes:
            by_name.append(name)
    # Defaults at the end may be left out; one before a filled parameter must be said.
    while positional and positional[-1].name not in filled:
        positional.pop()
    return Filling(tuple(positional), tuple(by_name), frozenset(filled), tuple(optional))


def _takes(parameter: Any, required: Collection[str], wanted: Collection[str]) -> bool:
    if parameter.name in wanted:
        return True
    if parameter.default is not Parameter.empty:
        return False
    if parameter.name in required:
        return True
    raise CannotFillError(parameter.name)
