"""Settings of the reference agents: numbers or the texts of the command line, checked once."""

from __future__ import annotations

import json
import math
import re
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from typing import Any, Final

from pytest_sopbench.agents.conversation import as_object
from pytest_sopbench.errors import AgentSpecError


def whole(name: str, value: Any, *, least: int | None = None) -> int:
    """Read a whole number.

    Raises:
        AgentSpecError: it is none, or too small.
    """
    bound = "" if least is None else f", {least} or more"
    try:
        number = int(value)
        exact = number == float(value)
    except (TypeError, ValueError, OverflowError):
        raise _unusable(name, value, f"a whole number{bound}") from None
    if not exact or (least is not None and number < least):
        raise _unusable(name, value, f"a whole number{bound}")
    return number


def real(name: str, value: Any, *, above: float | None = None) -> float:
    """Read a number, 0 or more, or above `above`.

    Raises:
        AgentSpecError: it is none, or too small.
    """
    wanted = "a number, 0 or more" if above is None else f"a number above {above:g}"
    try:
        number = float(value)
    except (TypeError, ValueError):
        raise _unusable(name, value, wanted) from None
    if not math.isfinite(number) or number < 0 or (above is not None and number <= above):
        raise _unusable(name, value, wanted)
    return number


def truth(name: str, value: Any) -> bool:
    """Read `true` or `false`.

    Raises:
        AgentSpecError: it is neither.
    """
    known = {"true": True, "false": False}
    found = known.get(str(value).lower())
    if found is None:
        raise _unusable(name, value, "true or false")
    return found


def document(name: str, value: Any) -> dict[str, Any]:
    """Read a JSON object: a mapping, or the text of one. Its text may be a secret.

    Raises:
        AgentSpecError: it is none.
    """
    try:
        read: object = json.loads(value) if isinstance(value, str) else dict(value)
        json.dumps(read)
    except (TypeError, ValueError, RecursionError):
        read = None
    found = as_object(read)
    if found is None:
        msg = f"agent argument {name}: it must be a JSON object"
        raise AgentSpecError(msg, hint=f"""write {name}='{{"key": "value"}}'""")
    return found


def headers_of(value: Any) -> tuple[tuple[str, str], ...]:
    """Read headers: a JSON object of texts.

    Raises:
        AgentSpecError: it is none, or a header cannot be sent.
    """
    given = document("extra_headers", value or {})
    for name, one in given.items():
        if not _HEADER_NAME.fullmatch(name) or not isinstance(one, str):
            msg = f"agent argument extra_headers: {name!r} must be a header's name, with a text"
            raise AgentSpecError(msg)
        if not _HEADER_VALUE.fullmatch(one):
            msg = f"agent argument extra_headers: the value of {name!r} cannot be sent"
            raise AgentSpecError(msg, hint="a header is one line of printable ASCII")
    return tuple(sorted(given.items()))


_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"[\x20-\x7e]*")


def _unusable(name: str, value: object, wanted: str) -> AgentSpecError:
    return AgentSpecError(f"agent argument {name}={value}: it must be {wanted}")


_READERS: Final[Mapping[str, Callable[[Any], object]]] = {
    "temperature": lambda value: real("temperature", value),
    "top_p": lambda value: real("top_p", value),
    "max_tokens": lambda value: whole("max_tokens", value, least=1),
    "seed": lambda value: whole("seed", value),
    "reasoning_effort": str,
    "parallel_tool_calls": lambda value: truth("parallel_tool_calls", value),
    "extra_body": lambda value: document("extra_body", value),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class Connection:
    """How a provider is reached; agents with equal connections share one client of its SDK."""

    base_url: str | None = None
    api_key: str | None = None
    region: str | None = None
    timeout: float = 300.0
    max_retries: int = 2
    connections: int = 64
    extra_headers: tuple[tuple[str, str], ...] = ()

    def __repr__(self) -> str:
        # A key must not stand in a message or a traceback.
        return f"Connection(base_url={self.base_url!r}, region={self.region!r})"


def parameters_of(settings: Mapping[str, Any]) -> dict[str, object]:
    """Return the parameters for the model that are set.

    Raises:
        AgentSpecError: one cannot be used.
    """
    given = {name: settings.get(name) for name in _READERS}
    return {name: _READERS[name](one) for name, one in given.items() if one is not None}


def connection_of(settings: Mapping[str, Any]) -> Connection:
    """Return how the provider is reached.

    Raises:
        AgentSpecError: a setting cannot be used.
    """
    return Connection(
        base_url=settings["base_url"] or None,
        api_key=settings["api_key"] or None,
        region=settings["region"] or None,
        timeout=real("timeout", settings["timeout"], above=0),
        max_retries=whole("max_retries", settings["max_retries"], least=0),
        connections=whole("connections", settings["connections"], least=1),
        extra_headers=headers_of(settings.get("extra_headers")),
    )
