"""Which rows become tasks; the others are left out by name, with the reason."""

from __future__ import annotations

from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from typing import Final

from pytest_sopbench._core.values.normalise import is_empty
from pytest_sopbench._making.sheet.columns import Column, Sheet
from pytest_sopbench._making.sheet.grid import Kind

from .roles import Roles

_SHOWN: Final = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class LeftOut:
    """A row that becomes no task; as a text its number and its id."""

    number: int
    id: str
    reason: str

    def __str__(self) -> str:
        return f"{self.number} ({self.id})" if self.id else f"{self.number}"


def sorted_rows(
    sheet: Sheet, roles: Roles, *, texts: Sequence[Column] = ()
) -> tuple[list[int], list[LeftOut]]:
    """Return the places of the rows that become tasks, and those that do not.

    `texts` are outputs without labels of their own: a word such as `none` is no answer there.
    """
    ids = roles.id.texts
    reasons = _reasons(sheet, roles, texts)
    kept = [place for place in range(len(sheet.numbers)) if place not in reasons]
    left_out = [
        LeftOut(number=sheet.numbers[place], id=ids[place], reason=reason)
        for place, reason in sorted(reasons.items())
    ]
    return kept, left_out


def _reasons(sheet: Sheet, roles: Roles, texts: Sequence[Column]) -> Mapping[int, str]:
    reasons: dict[int, str] = {}
    places: dict[str, list[int]] = defaultdict(list)
    for place, text in enumerate(roles.id.texts):
        if not text:
            reasons[place] = f"{roles.id.name} is empty"
            continue
        if problem := _empty_output(roles, place) or _word_for_nothing(texts, place):
            reasons[place] = problem
            continue
        places[text].append(place)
    for same in places.values():
        if len(same) > 1:
            reasons |= _twice(sheet, same)
    return reasons


def _empty_output(roles: Roles, place: int) -> str:
    for output in roles.outputs:
        cell = output.cells[place]
        if not cell.text:
            why = {
                Kind.FORMULA: "holds a formula without a stored value",
                Kind.FAULT: "holds an error of Excel",
            }
            return f"{output.name} {why.get(cell.kind, 'is empty')}"
    return ""


def _word_for_nothing(outputs: Sequence[Column], place: int) -> str:
    for output in outputs:
        text = output.cells[place].text
        if is_empty(text):
            return f"{output.name} is {text!r}, which stands for no answer"
    return ""


def _twice(sheet: Sheet, places: list[int]) -> dict[int, str]:
    """Keep the first of rows that are equal; of rows that differ nobody knows which is right."""
    first, *others = places
    texts = [[column.cells[place].text for column in sheet.columns] for place in places]
    if all(one == texts[0] for one in texts):
        return dict.fromkeys(others, f"the same as row {sheet.numbers[first]}")
    numbers = [str(sheet.numbers[place]) for place in places]
    told = f"rows {_and(numbers)} have this id and differ, so none is taken"
    return dict.fromkeys(places, told)


def _and(texts: list[str]) -> str:
    if len(texts) > _SHOWN:
        return f"{', '.join(texts[:_SHOWN])} and {len(texts) - _SHOWN} more"
    return f"{', '.join(texts[:-1])} and {texts[-1]}"


def kept_texts(column: Column, kept: list[int]) -> list[str]:
    """Return the texts of a column in the rows that become tasks."""
    return [column.cells[place].text for place in kept]
