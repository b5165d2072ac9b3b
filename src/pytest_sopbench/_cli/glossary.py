"""The glossary, as `sopbench explain` reads it; the page of the documentation is the same text."""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib.resources import files

_TERM = re.compile(r"^### (.+)\n+((?:(?!#).+\n?)+)", re.MULTILINE)


def glossary() -> Mapping[str, str]:
    """Return what each term means, by its heading: `pass all, pass^k`."""
    text = files("pytest_sopbench._cli").joinpath("glossary.md").read_text("utf-8")
    return {heading: " ".join(meaning.split()) for heading, meaning in _TERM.findall(text)}


def names_of(heading: str) -> tuple[str, ...]:
    """Return the names of a term, the usual one first."""
    return tuple(heading.split(", "))


def find_term(word: str) -> str | None:
    """Return the heading of the term that is called so; case, `_` and `-` do not matter."""
    wanted = _folded(word)
    return next(
        (one for one in glossary() if wanted in {_folded(name) for name in names_of(one)}), None
    )


def _folded(name: str) -> str:
    return " ".join(re.sub(r"[_-]", " ", name).casefold().split())
