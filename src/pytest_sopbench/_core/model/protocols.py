"""The shapes through which rooms meet that must not import one another."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from contextlib import AbstractContextManager
from typing import Protocol

from pytest_sopbench._core.values.json import JsonValue

from .task import RunKey


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


class RunWrapper(Protocol):
    """Gives what stands around one attempt at a run, entered and left in the run's own context.

    `attempt` counts from 1. What it raises, on the way in or out, ends the attempt as if the agent
    had raised it; what the agent raises it cannot swallow.
    """

    def __call__(self, key: RunKey, attempt: int, /) -> AbstractContextManager[None]: ...
