"""`sopbench show --explain`: what a word means, or what happened to a task and why."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from difflib import get_close_matches
from importlib.resources import files
from textwrap import wrap

from pytest_sopbench._cli.app import refuse
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._reports.notices import explained
from pytest_sopbench._reports.text import WIDTH, packed


def list_terms() -> Iterator[str]:
    """Yield the names of all terms."""
    names = [names_of(heading)[0] for heading in glossary()]
    yield from packed("terms", names, gap="   ", indent=len("terms   "))


def explain_term(word: str) -> Iterator[str]:
    """Yield what a term means.

    Raises:
        SopbenchError: there is none of this name; the hint has those that are close to it.
    """
    heading = find_term(word)
    if heading is None:
        names = [name for heading in glossary() for name in names_of(heading)]
        near = get_close_matches(word, names, n=3)
        hint = f"did you mean {' or '.join(near)}? " if near else ""
        refuse(
            f"{word!r} is no term of the glossary",
            f"{hint}sopbench show --explain lists the terms; SESSION TASK --explain is of a task",
        )
    yield from _term_lines(heading)


def _term_lines(heading: str) -> Iterator[str]:
    yield heading
    yield from wrap(glossary()[heading].replace("`", ""), WIDTH, break_on_hyphens=False)


def explain_runs(records: tuple[RunRecord, ...], session: str) -> Iterator[str]:
    """Yield what happened to a task, from its runs in a session, and why."""
    yield from explained(records)
    heading = find_term(_worst(records).outcome.value)
    if heading is not None:
        yield ""
        yield from _term_lines(heading)
    first = records[0]
    yield ""
    yield f"everything that is known of it: sopbench show {session} {first.domain}/{first.task}"


def _worst(records: tuple[RunRecord, ...]) -> RunRecord:
    return next((one for one in records if one.outcome is not Outcome.CORRECT), records[0])


# The glossary that `sopbench show --explain` reads; the page of the documentation is the same text.

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
