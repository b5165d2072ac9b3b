"""JSON that may stand in the log of a CI server, whoever wrote the texts inside."""

from __future__ import annotations

import json


def json_text(value: object) -> str:
    """Return a value as lines of ASCII without a command; a program reads the same value.

    Halves of surrogate pairs and control characters are escaped. `nan` is refused.

    Raises:
        ValueError: a number is none that JSON knows.
    """
    text = json.dumps(value, indent=1, ensure_ascii=True, allow_nan=False)
    # Between quotes alone, since JSON has neither of them elsewhere.
    return text.replace("##", "#\\u0023").replace("\x7f", "\\u007f")
