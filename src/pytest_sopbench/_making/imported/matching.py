"""Which column a user means."""

from __future__ import annotations

from collections.abc import Sequence

from pytest_sopbench._loading.files.suggestions import nearest
from pytest_sopbench._making.sheet.columns import Column, Sheet
from pytest_sopbench.errors import LoadingError

_SHOWN = 20


def find_columns(sheet: Sheet, words: Sequence[str], option: str) -> tuple[Column, ...]:
    """Return the columns that an option names, each once.

    Raises:
        LoadingError: there is no such column, a word may mean two, or two words mean one.
    """
    found = list[Column]()
    for word in words:
        column = find_column(sheet, word, option)
        if column in found:
            raise LoadingError(sheet.path, f"{option} {word!r}: the column is named twice")
        found.append(column)
    return tuple(found)


def find_column(sheet: Sheet, word: str, option: str) -> Column:
    """Return the column of a name: as it stands, else but for case and blanks, else its end.

    Raises:
        LoadingError: there is no such column, or the word may mean two.
    """
    wanted = _folded(word)
    if not wanted:
        raise LoadingError(sheet.path, f"{option}: the name of a column is empty")
    for found in (
        [one for one in sheet.columns if one.name == word],
        [one for one in sheet.columns if _folded(one.name) == wanted],
        [one for one in sheet.columns if _folded(one.short) == wanted],
    ):
        if len(found) == 1:
            return found[0]
        if found:
            names = " or ".join(f"{one.name!r} ({one.letter})" for one in found)
            raise LoadingError(sheet.path, f"{option} {word!r} may mean {names}", hint="name one")
    raise LoadingError(
        sheet.path, f"{option}: there is no column {word!r}", hint=_hint(sheet, word)
    )


def names_of(columns: Sequence[Column]) -> str:
    """Return the names of columns, with commas between them."""
    names = [repr(one.name) for one in columns]
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def _hint(sheet: Sheet, word: str) -> str:
    known = {_folded(one.name): one.name for one in sheet.columns}
    known |= {_folded(one.short): one.name for one in sheet.columns if one.short != one.name}
    near = nearest(_folded(word), known)
    if near:
        return f"did you mean {known[near]!r}?"
    return f"it has {names_of(sheet.columns)}"


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()
