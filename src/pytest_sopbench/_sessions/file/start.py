"""The line that says that a run was begun: what is left of it when its process dies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import lru_cache
from typing import Any, Final

from pytest_sopbench._core.model.keys import RunKey

# Taken at import: an agent may put another function into its place.
_dumps: Final = json.dumps

MARK: Final = '{"type":"start",'
"""How the line begins; a finished session has none."""


def start_to_line(key: RunKey) -> str:
    """One line of ASCII JSON without its end."""
    domain, agent = _repeated(key.domain), _repeated(key.agent)
    rest = f'"domain":{domain},"task":{_dumps(key.task)},"trial":{key.trial},"agent":{agent}'
    return f"{MARK}{rest}}}"


@lru_cache
def _repeated(text: str) -> str:
    """Write a text that nearly every line has."""
    return _dumps(text)


def start_from_json(data: Mapping[str, Any]) -> RunKey:
    """Read what `start_to_line` wrote.

    Raises:
        ValueError: a key is missing.
    """
    try:
        return RunKey.read(data)
    except KeyError as fault:
        msg = f"a start without {fault}"
        raise ValueError(msg) from fault
