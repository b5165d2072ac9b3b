"""Which model a request asks, where its path says so; and whether it asks any."""

from __future__ import annotations

import re
from collections.abc import Mapping
from ipaddress import ip_address
from typing import Final

from .shape import Shape

_FORMS: Final = (
    # Bedrock, whose names may hold a colon.
    re.compile(r"(.*/model/)([^/]+)(/.*)"),
    # Google.
    re.compile(r"(.*/models/)([^/:]+)(:\w+)"),
    # Azure.
    re.compile(r"(.*/deployments/)([^/]+)(/.*)"),
)


def model_in_path(path: str) -> tuple[str, str]:
    """Return a path without its model, and the model; the model is empty where it has none."""
    for form in _FORMS:
        if found := form.fullmatch(path):
            return f"{found[1]}{found[3]}", found[2]
    return path, ""


_ASKING: Final = frozenset(
    ("model", "modelId", "messages", "contents", "prompt", "input", "jsonrpc")
)
_CALLS: Final = re.compile(
    r"completions|responses|messages|converse|invoke|embed|rerank|generate|predict|chat|/models?\b"
)
_PRICES: Final = "raw.githubusercontent.com"


def asks_no_model(shape: Shape, host: str) -> bool:
    """Tell whether a request is none to a model, nor to a server of tools, nor to this machine.

    A library may fetch a file, or send what it has counted, while an agent runs.
    """
    if not host or _is_near(host):
        return False
    asks = isinstance(shape.body, Mapping) and not _ASKING.isdisjoint(shape.body)
    return not asks and _CALLS.search(shape.path) is None


def host_lines(host: str) -> tuple[str, ...]:
    """Say what to do about a host that is no provider of a model."""
    alone = f"where it need not be replayed, leave it alone: sop_replay_ignore = host:{host}"
    if host != _PRICES:
        return (alone,)
    return alone, "where litellm fetches its prices there: set LITELLM_LOCAL_MODEL_COST_MAP=True"


def _is_near(host: str) -> bool:
    try:
        address = ip_address(host)
    except ValueError:
        return host == "localhost" or "." not in host
    return address.is_loopback or address.is_private
