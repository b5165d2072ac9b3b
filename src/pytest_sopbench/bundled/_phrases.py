# ruff: noqa: INP001 - what lies beside it are folders of files, not packages
"""A phrase book: what the people of a bundled domain say, and what it means.

`phrases.json` of a domain has templates by their meaning, such as `"A table for {guests:count}."`:
a slot has a name and a kind. A kind is a regular expression or a table of texts and their values.
The generator picks templates and fills them in; the reference policy reads a text as a sequence of
such phrases, and takes from each its meaning and its slots.
"""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from pathlib import Path
from typing import Any, NamedTuple, TypeAlias

SLOT = re.compile(r"\{(\w+):(\w+)\}")
OLD = "old_"
"""Begins the name of a slot that holds what somebody takes back."""

Kind: TypeAlias = str | Mapping[str, Any]


class Said(NamedTuple):
    """One phrase, understood."""

    meaning: str
    slots: Mapping[str, Any]


class Template(NamedTuple):
    """One phrase with its slots open."""

    meaning: str
    text: str
    kinds: Mapping[str, str]
    pattern: re.Pattern[str]

    @property
    def tells(self) -> frozenset[str]:
        """The facts that the slots hold: `guests_adults` is a part of `guests`, `old_` is none."""
        known = (slot for slot in self.kinds if not slot.startswith(OLD))
        return frozenset(slot.partition("_")[0] for slot in known)


class PhraseBook:
    """Reads texts that are made of the phrases of a file."""

    def __init__(self, path: Path) -> None:
        content: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
        self.kinds: dict[str, Kind] = {
            name: kind if isinstance(kind, str) else _also_capital(kind)
            for name, kind in content["kinds"].items()
        }
        self.templates = [
            self._template(meaning, text)
            for meaning, texts in content["phrases"].items()
            for text in texts
        ]
        self._read: dict[str, list[Said]] = {}

    def values(self, kind: str) -> list[str]:
        """What the texts of a table stand for, each once."""
        known = self.kinds[kind]
        return [] if isinstance(known, str) else sorted(set(known.values()))

    def read(self, text: str) -> list[Said]:
        """The phrases of a text in their order; the longest that fits is taken.

        Raises:
            ValueError: there is something in the text that no phrase stands for.
        """
        if text not in self._read:
            self._read[text] = list(self._phrases(text))
        return self._read[text]

    def _phrases(self, text: str) -> list[Said]:
        found: list[Said] = []
        at = 0
        while at < len(text):
            fitting = [(one.pattern.match(text, at), one) for one in self.templates]
            ends = [(match.end(), match, one) for match, one in fitting if match]
            if not ends:
                msg = f"no phrase for {text[at:]!r}"
                raise ValueError(msg)
            at, match, one = max(ends, key=lambda end: end[0])
            found.append(Said(one.meaning, self._values(one, match)))
        return found

    def _values(self, template: Template, match: re.Match[str]) -> dict[str, Any]:
        read: dict[str, Any] = {}
        for slot, kind in template.kinds.items():
            known = self.kinds[kind]
            read[slot] = match[slot] if isinstance(known, str) else known[match[slot]]
        return read

    def _template(self, meaning: str, text: str) -> Template:
        kinds: dict[str, str] = dict(SLOT.findall(text))
        texts = SLOT.split(text)[::3]
        slots = [f"(?P<{slot}>{self._expression(kind)})" for slot, kind in kinds.items()]
        pattern = "".join(map("".join, zip(map(re.escape, texts), [*slots, ""], strict=True)))
        return Template(meaning, text, kinds, re.compile(rf"{pattern}(?:\s|$)"))

    def _expression(self, kind: str) -> str:
        known = self.kinds[kind]
        if isinstance(known, str):
            return known
        return "|".join(re.escape(text) for text in sorted(known, key=lambda text: -len(text)))


def _also_capital(table: Mapping[str, Any]) -> dict[str, Any]:
    """A table whose texts may begin a sentence."""
    return {**table, **{capital(text): value for text, value in table.items()}}


def capital(text: str) -> str:
    return text[:1].upper() + text[1:]


def filled(template: Template, words: Callable[[str, str], str]) -> str:
    """A template as it is said; `words` gives the text of a slot by its name and kind."""
    return capital(SLOT.sub(lambda slot: words(slot[1], slot[2]), template.text))
