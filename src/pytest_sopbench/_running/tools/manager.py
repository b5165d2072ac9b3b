"""A manager: the class in a domain's own code that serves its tools, one instance per run."""

from __future__ import annotations

from collections.abc import Callable
from typing import Protocol, TypeAlias

from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._running.observing.problem import message_of, name_of
from pytest_sopbench.errors import ToolError


class Manager(Protocol):
    """A domain's own tools, as SOP-Bench has them."""

    def process_tool_call(self, name: str, arguments: dict[str, JsonValue], /) -> object:
        """Serve one call; whatever it raises becomes a `ToolError`."""
        ...


ManagerFactory: TypeAlias = Callable[[Task], Manager]
"""Makes the manager of one run."""


def process(manager: Manager, name: str, arguments: dict[str, JsonValue]) -> object:
    """Let a manager serve one call, under the name that the agent called.

    Raises:
        ToolError: the manager raised; its message is given to the agent.
        KeyboardInterrupt: the user stopped the session meanwhile.
    """
    try:
        return manager.process_tool_call(name, arguments)
    except (ToolError, KeyboardInterrupt):
        raise
    except BaseException as error:  # noqa: BLE001 - a domain's own code may raise anything
        raise ToolError(_told(error)) from None


def _told(error: BaseException) -> str:
    # Managers refuse with ValueError, and its text is meant for the agent as it stands. The text
    # of others means little without the type: `KeyError: 'P_7'`.
    message = message_of(error)
    if type(error) is ValueError and message:
        return message
    return f"{name_of(error)}: {message}" if message else name_of(error)
