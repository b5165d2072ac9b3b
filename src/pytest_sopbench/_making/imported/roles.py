"""What each column is for, as the user says, and what is proposed where nothing is said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Final

from pytest_sopbench._audit.measures.columns import (
    about_persons,
    is_called_as_an_answer,
    is_one_to_one,
    words_of,
)
from pytest_sopbench._loading.files.cells import ColumnType, infer_type
from pytest_sopbench._making.sheet.columns import Column, Sheet
from pytest_sopbench.errors import LoadingError

from .slugs import slug

_ID_WORDS: Final = re.compile(
    r"(^|_)(id|no|nr|num|number|\w*nummer|\w*nr|key|ref|reference|case|fall|dossier|ticket|claim"
    r"|order)(_|$)"
)
_ANSWER_WORDS: Final = frozenset({"result", "label", "answer", "ergebnis", "resultat", "resultado"})
"""What outputs are called as well; a column that is left may be called so and be no answer."""

_MOSTLY: Final = 0.9
_HALF: Final = 0.5
_SAME: Final = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """The id, what the agent is given, the expected answer, and what nobody may see.

    `tools` are columns that tools serve although they seem to tell the answer, or of persons.
    """

    id: Column
    inputs: tuple[Column, ...]
    outputs: tuple[Column, ...]
    private: tuple[Column, ...]
    tools: tuple[Column, ...] = ()

    @property
    def given(self) -> tuple[Column, ...]:
        """What the agent is given: the id is a part of it, since tools look up by it."""
        return (self.id, *(one for one in self.inputs if one is not self.id))


def check_roles(sheet: Sheet, roles: Roles) -> None:
    """Refuse parts that exclude each other.

    Raises:
        LoadingError: a column would be given and expected, or given and private, or the id does
            not tell rows apart.
    """
    texts = [text for text in roles.id.texts if text]
    if len(set(texts)) <= _HALF * len(texts):
        problem = f"{roles.id.name!r} has {len(set(texts))} values in {len(texts)} rows: no id"
        raise LoadingError(sheet.path, problem, hint="--id COLUMN names one that tells rows apart")
    given = {"--id": (roles.id,), "--input": roles.inputs, "--tool": roles.tools}
    for option, kept, why in (
        ("--output", roles.outputs, "the agent would be given the expected answer"),
        ("--private", roles.private, "no agent is given what is private"),
    ):
        for other, columns in given.items():
            for one in kept:
                if one in columns:
                    problem = f"{one.name!r} is named by {option} and by {other}"
                    hint = f"{why}; keep it in one of them"
                    raise LoadingError(sheet.path, problem, hint=hint)
    for one in roles.tools:
        if one is roles.id or one in roles.inputs:
            problem = f"{one.name!r} is named by --tool, and the agent is given it anyway"
            raise LoadingError(sheet.path, problem, hint="take --tool off")


def proposed_id(sheet: Sheet) -> Column | None:
    """Return a column that looks like ids: called so, and with hardly a value twice."""
    found = [one for one in sheet.columns if _distinguishes(one)]
    named = [one for one in found if _ID_WORDS.search("_".join(words_of(one.name)))]
    plain = [one for one in found if not counts_rows(one)]
    # Who is named by a mail address is a person, and the id is what the agent is given.
    unknown = [one for one in (*named, *plain, *found) if not tells_of_persons(one)]
    return next(iter((*unknown, *found)), None)


def proposed_outputs(sheet: Sheet) -> tuple[Column, ...]:
    """Return the column that is called as answers are, else the last one.

    Of several one is proposed, that of the plainest name: the others may be a second answer to
    the same case.
    """
    found = [
        one
        for one in sheet.columns
        if is_called_as_an_answer(one.name) or not _ANSWER_WORDS.isdisjoint(words_of(one.name))
    ]
    found.sort(key=lambda one: len(words_of(one.name)))
    return tuple(found[:1]) or tuple(sheet.columns[-1:])


def proposed_private(sheet: Sheet, taken: Sequence[Column]) -> tuple[Column, ...]:
    """Return the columns that seem to tell of persons."""
    return tuple(one for one in sheet.columns if one not in taken and tells_of_persons(one))


def tells_of_persons(column: Column) -> str:
    """Say what of persons a column seems to hold; empty where it seems to hold nothing."""
    return about_persons(column.name, column.texts)


def counts_rows(column: Column) -> bool:
    """Whether a column without a name of its own only numbers the rows, as indexes do."""
    if column.name not in (f"Column {column.letter}", "Unnamed: 0", "index"):
        return False
    texts = column.texts
    first = texts[0]
    return first in ("0", "1") and texts == [str(int(first) + at) for at in range(len(texts))]


def proposed_inputs(
    sheet: Sheet, taken: Sequence[Column], outputs: Sequence[Column]
) -> tuple[Column, ...]:
    """Return the columns left that stand alone: those of one prefix are what a tool looks up.

    What stands right of the answer was often written with it, and is not proposed.
    """
    first = min(sheet.columns.index(one) for one in outputs)
    free = [
        one
        for one in sheet.columns
        if one not in taken and not counts_rows(one) and not about_the_answer(one, outputs)
    ]
    left = [one for one in free if sheet.columns.index(one) < first] or free
    prefixes = [prefix_of(one) for one in left]
    alone = [one for one, prefix in zip(left, prefixes, strict=True) if prefixes.count(prefix) == 1]
    return tuple(alone or left)


def prefix_of(column: Column) -> str:
    """Return the first word of a name."""
    return slug(column.name).partition("_")[0]


def about_the_answer(column: Column, outputs: Sequence[Column]) -> str:
    """Say why a column seems to speak of the answer; empty where it does not."""
    for output in outputs:
        pairs = list(zip(column.texts, output.texts, strict=True))
        full = [(one, other) for one, other in pairs if other]
        same = sum(1 for one, other in full if _key(one) == _key(other))
        if full and same >= _SAME * len(full):
            return f"it has the values of {output.name!r}"
        if slug(output.name) and slug(column.name).startswith(f"{slug(output.name)}_"):
            return f"its name begins with {output.name!r}"
        labels = [other for _, other in full]
        if len(set(labels)) > 1 and is_one_to_one([one for one, _ in full], labels):
            return f"it tells {output.name!r} one to one"
    return "it is called as an answer" if is_called_as_an_answer(column.name) else ""


def _key(text: str) -> object:
    """Return what two cells have in common that say the same: `10.5` and `10.50` do."""
    return Decimal(text) if infer_type([text]) is ColumnType.NUMBER else text.casefold()


def _distinguishes(column: Column) -> bool:
    texts = [text for text in column.texts if text]
    return len(set(texts)) >= _MOSTLY * max(1, len(column.cells))
