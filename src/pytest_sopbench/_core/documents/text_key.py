"""When two free texts are equal: after trimming, collapsing white space, NFKC and case folding."""

from __future__ import annotations

from functools import lru_cache
from typing import Final

from pytest_sopbench._core.values.normalise import normal_form

_SHORT: Final = 200


def text_key(text: str) -> str:
    """Return the one spelling of all texts that are equal.

    A sign or a hyphen stays what it is, so that no id becomes another one.
    """
    return _short(text) if len(text) <= _SHORT else _key(text)


def _key(text: str) -> str:
    if not text.isascii():
        # Folding case can undo the normal form.
        text = normal_form(normal_form(text).casefold())
    return " ".join(text.casefold().split())


_short = lru_cache(maxsize=4096)(_key)
