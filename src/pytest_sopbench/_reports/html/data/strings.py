"""Texts that many runs repeat, each kept once: inputs come back as arguments, over and over."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final, cast

REFERENCE: Final = "\x01"
"""Begins a text that stands for another one: its place in the table follows."""

_LONG: Final = 16
"""Characters from which on a reference is shorter."""


class Strings:
    """Packs values: long texts become references to a table."""

    def __init__(self) -> None:
        self._places: dict[str, int] = {}

    @property
    def table(self) -> list[str]:
        return [*self._places]

    @property
    def count(self) -> int:
        return len(self._places)

    def packed(self, value: object) -> object:
        """Return a value of JSON with references in the place of its long texts."""
        kind = type(value)
        if kind is str:
            return self._text(cast("str", value))
        if kind is dict:
            items = cast("dict[object, object]", value).items()
            return {str(name): self.packed(one) for name, one in items}
        if kind is list or kind is tuple:
            return [self.packed(one) for one in cast("list[object]", value)]
        if isinstance(value, Mapping):
            return self.packed(dict(cast("Mapping[object, object]", value)))
        return value

    def since(self, count: int) -> int:
        """Return how many characters the table has got since it had `count` texts."""
        return sum(len(text) + 3 for text in list(self._places)[count:])

    def forget_since(self, count: int) -> None:
        """Take out what was added since the table had `count` texts."""
        while len(self._places) > count:
            self._places.popitem()

    def _text(self, text: str) -> str:
        # A text that looks like a reference must be one, or it would be read as another text.
        if len(text) < _LONG and not text.startswith(REFERENCE):
            return text
        return f"{REFERENCE}{self._places.setdefault(text, len(self._places))}"
