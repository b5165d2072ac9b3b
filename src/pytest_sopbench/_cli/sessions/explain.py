"""`sopbench explain`: what a word means, or what happened to a task and why."""

from __future__ import annotations

from collections.abc import Iterator
from difflib import get_close_matches
from typing import TYPE_CHECKING, NoReturn

import click

from pytest_sopbench._cli.app import full_session, refuse, say
from pytest_sopbench._cli.glossary import find_term, glossary, names_of

if TYPE_CHECKING:
    from pytest_sopbench._core.records.record import RunRecord


@click.command()
@click.argument("word", required=False, metavar="[TASK|TERM]")
@click.option("--session", default="last", metavar="NAME|PATH", help="The session (last).")
def explain(word: str | None, session: str) -> None:
    """Explain a task or a term.

    TERM is a word of the summary, such as grounded, inconclusive or miss. TASK is DOMAIN/TASK,
    DOMAIN::TASK, or the task's id alone where only one domain has it: what happened to it in the
    last session, and why. Without either the terms are listed.
    """
    if word is None:
        for line in _list_lines():
            say(line)
        return
    heading = find_term(word)
    lines = _term_lines(heading) if heading is not None else _task_lines(word, session)
    for line in lines:
        say(line)


def _list_lines() -> Iterator[str]:
    from pytest_sopbench._reports.text import packed

    names = [names_of(heading)[0] for heading in glossary()]
    yield from packed("terms", names, gap="   ", indent=len("terms   "))


def _term_lines(heading: str) -> Iterator[str]:
    from textwrap import wrap

    from pytest_sopbench._reports.text import WIDTH

    yield heading
    yield from wrap(glossary()[heading].replace("`", ""), WIDTH, break_on_hyphens=False)


def _task_lines(word: str, session: str) -> Iterator[str]:
    from pytest_sopbench._reports.notices import explained
    from pytest_sopbench._sessions.lines import Skimmer
    from pytest_sopbench._sessions.reading.reader import is_called
    from pytest_sopbench.errors import SessionFileError

    def is_asked_for(*, domain: str, task: str, **_: object) -> bool:
        return is_called(domain, task, word)

    try:
        saved = full_session(session, Skimmer(is_asked_for))
        records = saved.runs_of(word)
    except SessionFileError as fault:
        _refuse_unknown(word, fault)
    yield from explained(records)
    heading = find_term(_worst(records).outcome.value)
    if heading is not None:
        yield ""
        yield from _term_lines(heading)
    first = records[0]
    yield ""
    yield f"everything that is known of it: sopbench show {saved.name} {first.domain}/{first.task}"


def _worst(records: tuple[RunRecord, ...]) -> RunRecord:
    from pytest_sopbench._core.verdict import Outcome

    return next((one for one in records if one.outcome is not Outcome.CORRECT), records[0])


def _refuse_unknown(word: str, fault: Exception) -> NoReturn:
    """Refuse what is neither a term nor a task, naming terms that are close to it."""
    names = [name for heading in glossary() for name in names_of(heading)]
    near = get_close_matches(word, names, n=3)
    hint = f"or the term {' or '.join(near)}?" if near else "sopbench explain lists the terms"
    refuse(f"{word!r} is no term of the glossary, and no task: {fault}", hint)
