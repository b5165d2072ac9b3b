"""Find what an assistant said last, in the shapes that providers give to messages."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Final

from pytest_sopbench._core.values.json import JsonValue

_ASSISTANT: Final = frozenset({"assistant", "ai", "aimessage", "aimessagechunk", "model"})
_TEXT_BLOCKS: Final = frozenset({"text", "output_text", "message"})


def last_assistant_text(messages: Sequence[JsonValue]) -> str | None:
    """Return the text of the last assistant message that has any."""
    for message in reversed(messages):
        if isinstance(message, Mapping) and _is_assistant(message):
            text = text_of(message.get("content", message.get("text")))
            if text:
                return text
    return None


def are_messages(values: Sequence[JsonValue]) -> bool:
    """Whether a list holds messages, which have a role, and not the blocks of one."""
    return any(isinstance(one, Mapping) and ("role" in one or _is_assistant(one)) for one in values)


def text_of(content: JsonValue) -> str | None:
    """Return the text of a text, a text block or a list of them, a line for each.

    What a model thought, and the calls it asked for, are no text.
    """
    if isinstance(content, str):
        return content
    if isinstance(content, Mapping):
        text = content.get("text")
        kind = content.get("type", "text")
        return text if isinstance(text, str) and kind in _TEXT_BLOCKS else None
    if not isinstance(content, Sequence):
        return None
    texts = [text for text in map(text_of, content) if text is not None]
    return "\n".join(texts) if texts else None


def _is_assistant(message: Mapping[str, JsonValue]) -> bool:
    speaker = message.get("role", message.get("type"))
    return isinstance(speaker, str) and speaker.lower() in _ASSISTANT
