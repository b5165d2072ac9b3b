"""Prepare a text to be searched, and know where its characters came from."""

from __future__ import annotations

import re
from bisect import bisect_right
from dataclasses import dataclass
from typing import Final

from pytest_sopbench._core.values.normalise import INVISIBLE

from .escaped_tags import tags_unescaped
from .markup import without_hidden

_WIDE_SPACES: Final = re.compile("[\u00a0\u1680\u2000-\u200a\u202f\u205f\u3000]")


@dataclass(frozen=True, slots=True)
class SearchText:
    """A text as it is searched; `removed` are the offsets in it at which a character was."""

    text: str
    removed: tuple[int, ...] = ()

    def original(self, position: int) -> int:
        """Return the offset in the text as the agent said it."""
        return position + bisect_right(self.removed, position)


def search_text(text: str, fields: frozenset[str]) -> SearchText:
    """Blank out what is hidden, leave out what nobody can see, and make every space a plain one.

    Hidden are reasoning and comments. Tags that arrive escaped become tags. `fields` are the
    folded names of the output fields, whose tags are never reasoning.
    """
    if text.isascii():
        return SearchText(_shown(text, fields))
    invisible = [match.start() for match in INVISIBLE.finditer(text)]
    visible = _WIDE_SPACES.sub(" ", INVISIBLE.sub("", text) if invisible else text)
    removed = tuple(offset - before for before, offset in enumerate(invisible))
    return SearchText(_shown(visible, fields), removed)


def _shown(text: str, fields: frozenset[str]) -> str:
    return without_hidden(tags_unescaped(text, fields), fields)
