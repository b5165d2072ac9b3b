"""What each column is for, as the user says, and what is proposed where nothing is said."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pytest_sopbench._making.sheet.columns import Column, Sheet
from pytest_sopbench.errors import LoadingError

from .slugs import slug

_ID_WORDS: Final = re.compile(
    r"(^|_)(id|no|nr|num|number|nummer|key|ref|reference|case|ticket|claim|order)(_|$)"
)
_ANSWER_WORDS: Final = re.compile(
    r"(^|_)(decision|outcome|result|label|answer|verdict|resolution|entscheidung)(_|$)"
)
_PERSONAL: Final = re.compile(
    r"(^|_)(name|vorname|nachname|e_?mail|phone|telefon|mobile|iban|account_number|ssn|passport"
    r"|birth|birthday|dob|street|address|adresse|anschrift)(_|$)"
)
_MOSTLY: Final = 0.9
_HALF: Final = 0.5
_SAME: Final = 0.95


@dataclass(frozen=True, slots=True, kw_only=True)
class Roles:
    """The id, what the agent is given, the expected answer, and what nobody may see."""

    id: Column
    inputs: tuple[Column, ...]
    outputs: tuple[Column, ...]
    private: tuple[Column, ...]

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
    for one in roles.outputs:
        if one is roles.id or one in roles.inputs:
            other = "--id" if one is roles.id else "--input"
            problem = f"{one.name!r} is named by --output and by {other}"
            hint = "the agent would be given the expected answer; keep it in one of them"
            raise LoadingError(sheet.path, problem, hint=hint)
    for one in roles.private:
        if one is roles.id or one in roles.inputs:
            other = "--id" if one is roles.id else "--input"
            problem = f"{one.name!r} is named by --private and by {other}"
            hint = "no agent is given what is private; keep it in one of them"
            raise LoadingError(sheet.path, problem, hint=hint)


def proposed_id(sheet: Sheet) -> Column | None:
    """Return a column that looks like ids: called so, and with hardly a value twice."""
    named = [one for one in sheet.columns if _ID_WORDS.search(slug(one.name))]
    return next((one for one in (*named, *sheet.columns) if _distinguishes(one)), None)


def proposed_outputs(sheet: Sheet) -> tuple[Column, ...]:
    """Return the columns that are called as answers are, else the last one."""
    found = [one for one in sheet.columns if _ANSWER_WORDS.search(slug(one.name))]
    return tuple(found) or tuple(sheet.columns[-1:])


def proposed_private(sheet: Sheet, taken: Sequence[Column]) -> tuple[Column, ...]:
    """Return the columns that are called as what is told of persons."""
    return tuple(
        one for one in sheet.columns if one not in taken and _PERSONAL.search(slug(one.name))
    )


def proposed_inputs(
    sheet: Sheet, taken: Sequence[Column], outputs: Sequence[Column]
) -> tuple[Column, ...]:
    """Return the columns left that stand alone: those of one prefix are what a tool looks up.

    What stands right of the answer was often written with it, and is not proposed.
    """
    first = min(sheet.columns.index(one) for one in outputs)
    left = [one for one in sheet.columns[:first] if one not in taken]
    left = left or [one for one in sheet.columns if one not in taken]
    prefixes = [prefix_of(one) for one in left]
    alone = tuple(
        one
        for one, prefix in zip(left, prefixes, strict=True)
        if prefixes.count(prefix) == 1 and not about_the_answer(one, outputs)
    )
    return alone or tuple(left)


def prefix_of(column: Column) -> str:
    """Return the first word of a name."""
    return slug(column.name).partition("_")[0]


def about_the_answer(column: Column, outputs: Sequence[Column]) -> str:
    """Say why a column seems to speak of the answer; empty where it does not."""
    for output in outputs:
        pairs = list(zip(column.texts, output.texts, strict=True))
        full = [(one, other) for one, other in pairs if other]
        same = sum(1 for one, other in full if one.casefold() == other.casefold())
        if full and same >= _SAME * len(full):
            return f"it has the values of {output.name!r}"
        if slug(output.name) and slug(column.name).startswith(f"{slug(output.name)}_"):
            return f"its name begins with {output.name!r}"
    return ""


def _distinguishes(column: Column) -> bool:
    texts = [text for text in column.texts if text]
    return len(set(texts)) >= _MOSTLY * max(1, len(column.cells))
