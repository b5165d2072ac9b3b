"""The line that says that a run was begun: what is left of it when its process dies."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any, Final

from pytest_sopbench._core.records import RunKey

MARK: Final = '{"type":"start",'
"""How the line begins; a finished session has none."""


_ENCODER: Final = json.JSONEncoder(ensure_ascii=True, separators=(",", ":"))


def start_to_line(key: RunKey) -> str:
    """One line of ASCII JSON without its end."""
    return _ENCODER.encode({"type": "start", **key._asdict()})


def start_from_json(data: Mapping[str, Any]) -> RunKey:
    """Read what `start_to_line` wrote.

    Raises:
        ValueError: a key is missing.
    """
    try:
        return RunKey(data["domain"], data["task"], data["trial"], data["agent"])
    except KeyError as fault:
        msg = f"a start without {fault}"
        raise ValueError(msg) from fault
