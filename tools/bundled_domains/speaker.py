"""How a generator puts a fact into words: templates in turn, values in any of their texts."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable
from datetime import date
from typing import Any, TypeAlias

from pytest_sopbench.bundled._phrases import PhraseBook, Template

from .generator import Dice

Fits: TypeAlias = Callable[[Template], bool]


def _any(_: Template) -> bool:
    return True


class Speaker:
    """Picks the words; those used least come first, so that few are met twice."""

    def __init__(self, book: PhraseBook, dice: Dice) -> None:
        self._book = book
        self._dice = dice
        self._used: Counter[str] = Counter()

    def template(self, meaning: str, tells: Iterable[str], fits: Fits = _any) -> Template:
        """A phrase of this meaning that tells these facts and no others."""
        fitting = [
            one
            for one in self._book.templates
            if one.meaning == meaning and one.tells == frozenset(tells) and fits(one)
        ]
        least = min(self._used[one.text] for one in fitting)
        found = self._dice.pick([one for one in fitting if self._used[one.text] == least])
        self._used[found.text] += 1
        return found

    def word(self, kind: str, value: Any) -> str:
        """One of the texts that stand for a value; the value itself where no table has it."""
        known = self._book.kinds[kind]
        if isinstance(known, str):
            return str(value)
        texts = [text for text, stands_for in known.items() if stands_for == value]
        return self._dice.pick([text for text in texts if not text[0].isupper()] or texts)


def ordinal(day: date) -> str:
    """The number of a day in its month, as it is said."""
    ending = {1: "st", 2: "nd", 3: "rd"}.get(day.day % 10, "th")
    return f"{day.day}{'th' if day.day in {11, 12, 13} else ending}"
