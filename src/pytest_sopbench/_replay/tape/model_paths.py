"""The model that a request asks, for providers that take it in the path and not in the body."""

from __future__ import annotations

import re
from typing import Final

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
