"""Ask that a text says several things, each as whole words: `valid` does not stand in `invalid`."""

from __future__ import annotations

from collections.abc import Iterator
from typing import Final

from pytest_sopbench._core.fields.values import written
from pytest_sopbench._core.model.task import OutputField
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.normalise import INVISIBLE, normal_form, plain_dashes

from .several import several

_SHOWN: Final = 3
_INSIDE: Final = frozenset("-_'\u2019")
_MARKS: Final = frozenset(".,")


def contains_all(field: OutputField, expected: JsonValue, actual: JsonValue) -> str:
    """Say which phrases a text lacks; nothing where it has them all."""
    del field
    wanted = several(expected)
    text = _plain(written(actual)) if actual is not None else ""
    lacking = [phrase for phrase in wanted if not _says(text, _plain(phrase))]
    if wanted and not lacking:
        return ""
    named = ", ".join(map(repr, lacking[:_SHOWN]))
    more = f" and {len(lacking) - _SHOWN} more" if len(lacking) > _SHOWN else ""
    return f"lacks {named}{more}" if named else "nothing is asked for"


def _plain(text: str) -> str:
    return " ".join(plain_dashes(normal_form(INVISIBLE.sub("", text))).casefold().split())


def _says(text: str, phrase: str) -> bool:
    if not any(map(str.isalnum, phrase)):
        return phrase in text
    return any(
        not _goes_on(text, start - 1, start - 2, phrase[0])
        and not _goes_on(text, start + len(phrase), start + len(phrase) + 1, phrase[-1])
        for start in _places(text, phrase)
    )


def _places(text: str, phrase: str) -> Iterator[int]:
    start = text.find(phrase)
    while start >= 0:
        yield start
        start = text.find(phrase, start + 1)


def _goes_on(text: str, beside: int, beyond: int, edge: str) -> bool:
    """Whether a word or a number goes on at an edge of a phrase."""
    if not 0 <= beside < len(text) or not edge.isalnum():
        return False
    one = text[beside]
    next_one = text[beyond] if 0 <= beyond < len(text) else " "
    if one in _MARKS:
        return edge.isdigit() and next_one.isdigit()
    # A sign stands before a number alone, a hyphen inside a word.
    return one.isalnum() or (one in _INSIDE and (next_one.isalnum() or edge.isdigit()))
