"""Entries of a tasks file for the tasks whose runs disagree, as TOML to paste."""

from __future__ import annotations

import json
from collections.abc import Iterator, Sequence
from datetime import date

from pytest_sopbench._core.gates.flaky import FlakyTask, FlakyTasks
from pytest_sopbench._reports.text.numbers import counted


def proposal_lines(found: FlakyTasks, fresh: Sequence[FlakyTask], until: date) -> Iterator[str]:
    """Yield what was found as a comment, then an entry for each task whose answers may be forgiven.

    Args:
        found: all that disagree.
        fresh: those of them that have no entry yet.
        until: the last day of each entry.
    """
    yield f"# runs disagree on {len(found.flaky)} of {counted(found.repeated, 'repeated task')}"
    known = len(found.flaky) - len(fresh)
    if known:
        yield f"# {known} of them {'stands' if known == 1 else 'stand'} in the tasks file already"
    for one in fresh:
        others = ", ".join(f"{number} {outcome.value}" for outcome, number in one.others.items())
        if not one.may_be_forgiven:
            # As a comment it may hold no sign that ends the line.
            yield f"# {_quoted(str(one.name))}: {others}, which no entry forgives"
            continue
        yield ""
        yield f"[{_quoted(str(one.name))}]"
        yield f'may_fail = "{one.correct} of {one.runs} runs correct, {others}"'
        yield f"until = {until.isoformat()}"


def _quoted(text: str) -> str:
    # A basic string of TOML is one of JSON, but for this one sign.
    return json.dumps(text, ensure_ascii=False).replace("\x7f", "\\u007f")
