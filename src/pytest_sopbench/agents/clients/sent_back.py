"""What of a model's calls goes back to its provider, which refuses a history with a bad one.

The run keeps each call as the model wrote it. Only the history is made valid: the result of the
call tells the model what was wrong with it.
"""

from __future__ import annotations

import json
import re
from collections.abc import Collection, Iterable
from typing import Final

from pytest_sopbench.agents.conversation import ModelRequest, as_object

NAME: Final = re.compile(r"[a-zA-Z0-9_-]{1,64}")
"""How OpenAI and Bedrock want the name of a tool, and Bedrock the id of a call."""

UNNAMED: Final = "unnamed"
_NOT_IN_A_NAME: Final = re.compile(r"[^a-zA-Z0-9_-]")
_LONGEST: Final = 64


def valid_name(name: str) -> str:
    """Return a name that providers take, as like the model's own as can be."""
    return _NOT_IN_A_NAME.sub("_", name)[:_LONGEST] or UNNAMED


def valid_ids(
    ids: Iterable[object], asked: ModelRequest, form: re.Pattern[str] | None = None
) -> list[str]:
    """Return an id for each call of a reply: its own, where it has the form and is the first.

    Ids are unique in the whole conversation, as Bedrock wants it. Made ones have nine letters and
    digits, which every provider takes, and are the same whenever the conversation is.
    """
    taken = {one.id for message in asked.messages for one in message.requests}
    found: list[str] = []
    for one in ids:
        key = one if isinstance(one, str) else ""
        fits = bool(key.strip()) and (form is None or form.fullmatch(key) is not None)
        found.append(key if fits and key not in taken else _made(taken))
        taken.add(found[-1])
    return found


def _made(taken: Collection[str]) -> str:
    number = len(taken)
    while f"call{number:05d}" in taken:
        number += 1
    return f"call{number:05d}"


def sent_arguments(written: object, read: object) -> str:
    """Return arguments as a text that holds a JSON object, the model's own where it does."""
    if isinstance(written, str) and written.strip() and as_object(read) is not None:
        return written
    return json.dumps(as_object(read) or {}, ensure_ascii=False)
