"""Which known name a wrong one may have meant."""

from __future__ import annotations

import difflib
from collections.abc import Iterable
from itertools import islice

from pytest_sopbench._core.hiding.masking import ready_to_cut

SHOWN = 12
"""How many names a message lists before it stops."""

SHOWN_LENGTH = 60
"""Characters of a value that a message shows."""


CUT_LENGTH = 200
"""Characters of somebody else's words that a message repeats."""

COMPARED = 1_000
"""Known names that a wrong one is compared with; among more of them a guess says little."""

COMPARED_LENGTH = 100
"""Characters from which on a name is none that somebody misspelled."""


def nearest(name: str, known: Iterable[str]) -> str:
    """The known name that is most like this one, or an empty string."""
    return next(iter(nearest_few(name, known)), "")


def nearest_few(name: str, known: Iterable[str]) -> list[str]:
    """Up to three known names that are like this one, the nearest first."""
    if len(name) > COMPARED_LENGTH:
        return []
    short = (one for one in known if len(one) <= COMPARED_LENGTH)
    return difflib.get_close_matches(name, islice(short, COMPARED), n=3, cutoff=0.6)


def did_you_mean(name: str, known: Iterable[str]) -> str:
    """A sentence with the nearest known name, or an empty string."""
    close = nearest(name, known)
    return f"did you mean {close!r}?" if close else ""


def listed(names: Iterable[str]) -> str:
    """The names with commas between them; a long list is cut, and says by how many."""
    every = list(names)
    shown = ", ".join(cut(name) for name in every[:SHOWN])
    return f"{shown} and {len(every) - SHOWN} more" if len(every) > SHOWN else shown


def shown(value: object) -> str:
    """The `repr` of a value, cut where it is long."""
    text = ready_to_cut(repr(value))
    return text if len(text) <= SHOWN_LENGTH else f"{text[: SHOWN_LENGTH - 3]}..."


def cut(text: str) -> str:
    """The text, without its middle where it is long."""
    if len(text) <= CUT_LENGTH:
        return text
    text = ready_to_cut(text)
    return f"{text[: CUT_LENGTH // 2]} ... {text[-CUT_LENGTH // 2 :]}"
