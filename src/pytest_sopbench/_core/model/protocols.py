"""The shapes through which rooms meet that must not import one another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Protocol

from pytest_sopbench._core.values.json import JsonValue


class ToolCaller(Protocol):
    """The part of a toolbox that an agent or a reference policy needs."""

    def call(self, name: str, /, **arguments: object) -> JsonValue:
        """Return the tool's value.

        Raises:
            ToolError: what was asked is impossible; recorded, and the run may go on.
        """
        ...

    @property
    def names(self) -> tuple[str, ...]: ...


class Policy(Protocol):
    """The SOP of a domain as a function of inputs and tool results."""

    def __call__(
        self, inputs: Mapping[str, JsonValue], call: Callable[..., JsonValue], /
    ) -> Mapping[str, JsonValue]: ...
