"""Numbers and dates that are written as text: read where only one reading is possible.

`1.234` is a thousand in one office and one and a bit in another. It is read by what the rest of
its column shows, then by the rest of the table, and never guessed: a column that nothing settles
stays as it is written, and is told with its rows.
"""

from __future__ import annotations

import re
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from datetime import date
from decimal import Decimal
from typing import Final, NamedTuple

from pytest_sopbench._audit.measures.columns import words_of

from .columns import Column, Odd, rows_text
from .grid import Cell, Kind

POINT: Final = "."
COMMA: Final = ","

_GROUPS: Final[Mapping[str, str]] = {POINT: ",'\u2019 ", COMMA: ".'\u2019 "}
"""What stands between thousands, by the sign that stands before decimals."""

_BODY: Final[Mapping[str, re.Pattern[str]]] = {
    sign: re.compile(
        rf"(?P<whole>0|[1-9][0-9]*|[1-9][0-9]{{0,2}}(?:(?P<group>[{groups}])[0-9]{{3}})"
        rf"(?:(?P=group)[0-9]{{3}})*)(?:{re.escape(sign)}(?P<part>[0-9]+))?"
    )
    for sign, groups in _GROUPS.items()
}
_SIGNED: Final = re.compile(
    "(?P<before>[-\u2212\u2013]?) ?(?P<body>[0-9].*?)(?P<after>-?)", re.DOTALL
)
_NO_CENTS: Final = re.compile("([.,])[-\u2013\u2014]{1,2}$")
"""What prices in shops have for no cents: `45,-` and `45.-`."""

_CURRENCY: Final = (
    "[$\u20ac\u00a3\u00a5]|EUR|USD|CHF|GBP|JPY|SEK|NOK|DKK|PLN|CZK|HUF|AUD|CAD|Fr\\.|kr\\.?"
)
_AFFIXED: Final = re.compile(
    rf"(?P<left>(?:{_CURRENCY})?) ?(?P<number>[-\u2212\u2013]?[0-9].*?)"
    rf" ?(?P<right>(?:{_CURRENCY}|%)?)",
    re.DOTALL,
)
_OF_IDS: Final = frozenset(
    {"id", "no", "nr", "number", "nummer", "num", "ref", "reference", "referenz", "key", "code"}
    | {"zip", "plz", "postcode", "iban", "clause"}
)
"""Last words of the names of columns whose values only look like numbers."""

_IN_DOUBT: Final = (
    "thousands or decimals? --decimal point or comma says which; the column is left as written"
)
_MIXED: Final = "decimal points and decimal commas in one column, which is left as written"
_NO_ORDER: Final = "day or month first? No cell tells, so the column is left as written"
_LONGEST: Final = 40
_FEW: Final = 0.2
_MONTHS: Final = 12

_DATE: Final = re.compile(r"([0-9]{1,2})([./-])([0-9]{1,2})\2([0-9]{4})")
_ISO: Final = re.compile(r"[0-9]{4}-[0-9]{2}-[0-9]{2}")


class Read(NamedTuple):
    """A text as a number: by a decimal point, by a decimal comma; what stands beside it."""

    point: str | None
    comma: str | None
    group: str
    affix: str

    def by(self, sign: str) -> str | None:
        return self.point if sign == POINT else self.comma

    @property
    def shows(self) -> str:
        """The decimal sign that this text alone tells; empty where both may be."""
        if self.point is None or self.comma is None:
            return POINT if self.comma is None else COMMA
        return ""

    @property
    def is_doubtful(self) -> bool:
        return None not in (self.point, self.comma) and self.point != self.comma


@dataclass(frozen=True, slots=True, kw_only=True)
class Habits:
    """How the numbers of a table are written, as far as its cells show."""

    decimals: frozenset[str]
    groups: frozenset[str]

    @property
    def decimal(self) -> str:
        return next(iter(self.decimals)) if len(self.decimals) == 1 else ""


def with_forms(
    columns: Sequence[Column], numbers: Sequence[int], *, usual: str, asked: str
) -> list[Column]:
    """Return the columns with what their texts say in one form, and what became of them.

    Args:
        columns: the columns of one table.
        numbers: the numbers of its rows.
        usual: the decimal sign that such a file has where no cell shows one; may be empty.
        asked: the decimal sign that the user names, for what is in doubt; may be empty.
    """
    read = [_numbers(column) for column in columns]
    habits = _habits(read, usual)
    return [
        _of_numbers(column, cells, numbers, habits, asked)
        if cells is not None
        else _with_others(_of_dates(column, numbers), numbers)
        for column, cells in zip(columns, read, strict=True)
    ]


def _read(text: str) -> Read | None:
    found = _AFFIXED.fullmatch(text) if len(text) <= _LONGEST else None
    number = _NO_CENTS.sub(r"\g<1>00", found["number"]) if found is not None else ""
    signed = _SIGNED.fullmatch(number)
    if found is None or signed is None or (found["left"] and found["right"]):
        return None
    if signed["before"] and signed["after"]:
        return None
    minus = "-" if signed["before"] or signed["after"] else ""
    bodies = {sign: form.fullmatch(signed["body"]) for sign, form in _BODY.items()}
    read = {
        sign: None if body is None else minus + _plain(body["whole"], body["part"])
        for sign, body in bodies.items()
    }
    if read[POINT] is None and read[COMMA] is None:
        return None
    group = next((body["group"] for body in bodies.values() if body and body["group"]), "")
    return Read(read[POINT], read[COMMA], group or "", found["left"] or found["right"])


def _plain(whole: str, part: str | None) -> str:
    digits = "".join(sign for sign in whole if sign.isdigit())
    return digits if part is None else f"{digits}.{part}"


def _numbers(column: Column) -> list[Read | None] | None:
    """Read a column of numbers; nothing where a cell is none. Cells that are no text stay out."""
    found = list[Read | None]()
    for cell in column.cells:
        if not cell.text or cell.kind in (Kind.NUMBER, Kind.PERCENT):
            found.append(None)
            continue
        read = _read(cell.text) if cell.kind is Kind.TEXT else None
        if read is None:
            return None
        found.append(read)
    return found if any(found) else None


def _habits(columns: Sequence[Sequence[Read | None] | None], usual: str) -> Habits:
    every = [one for cells in columns for one in cells or () if one is not None]
    decimals = frozenset(one.shows for one in every if one.shows)
    groups = frozenset(one.group for one in every if one.group and not one.is_doubtful)
    return Habits(decimals=decimals or frozenset(filter(None, [usual])), groups=groups)


def _of_numbers(
    column: Column,
    cells: Sequence[Read | None],
    numbers: Sequence[int],
    habits: Habits,
    asked: str,
) -> Column:
    full = [one for one in cells if one is not None]
    if all(_is_whole(one) for one in full) and not (habits.decimals and _has_groups(full)):
        # Digits alone are ids as often as not.
        return column
    if _is_of_ids(column):
        return replace(column, stays_text=True)
    if all(not one.affix and not one.group and one.shows != COMMA for one in full):
        # Plain decimal points are text in a workbook, and numbers in a file of text.
        return column
    affixes = _affixes(column, cells)
    if len(affixes) > 1:
        return _left(column, _unlike(affixes, numbers), in_doubt=False)
    sign, doubts = _decimal(cells, habits, asked)
    if doubts:
        rows = f"{_shape(column.cells[doubts[0]])} in {rows_text([numbers[at] for at in doubts])}"
        return _left(column, (_IN_DOUBT if not sign else _MIXED, rows), in_doubt=not sign)
    return _written(column, cells, sign or POINT, next(iter(affixes)))


def _is_whole(one: Read) -> bool:
    return not one.shows and not one.is_doubtful and not one.affix


def _has_groups(cells: Sequence[Read]) -> bool:
    return any(one.group for one in cells)


def _decimal(cells: Sequence[Read | None], habits: Habits, asked: str) -> tuple[str, list[int]]:
    """Return the decimal sign of a column, and the cells because of which nobody knows.

    Where there are such cells, the sign is one that the others show, and `""` if the user can say.
    """
    shown = {
        sign: [at for at, one in enumerate(cells) if one is not None and one.shows == sign]
        for sign in (POINT, COMMA)
    }
    if shown[POINT] and shown[COMMA]:
        rare = min(shown, key=lambda sign: len(shown[sign]))
        return COMMA if rare == POINT else POINT, shown[rare]
    own = next((sign for sign, places in shown.items() if places), "")
    sign = own or habits.decimal
    # No decimal sign stands between thousands. Another sign has to be seen there.
    doubts = [
        at
        for at, one in enumerate(cells)
        if one is not None
        and one.is_doubtful
        and not (sign and (one.group == sign or one.group in habits.groups))
    ]
    if not doubts:
        return sign, []
    return (asked, []) if asked and own in ("", asked) else ("", doubts)


def _affixes(column: Column, cells: Sequence[Read | None]) -> dict[str, list[int]]:
    """Where each currency sign, `%` or nothing stands beside the numbers."""
    found: dict[str, list[int]] = {}
    for at, (cell, one) in enumerate(zip(column.cells, cells, strict=True)):
        if one is not None:
            found.setdefault(one.affix, []).append(at)
        elif cell.kind is Kind.PERCENT:
            found.setdefault("%", []).append(at)
        elif cell.text:
            found.setdefault("", []).append(at)
    return found


def _unlike(affixes: Mapping[str, list[int]], numbers: Sequence[int]) -> tuple[str, str]:
    rare = min(affixes.values(), key=len)
    signs = " and ".join(repr(one) if one else "nothing" for one in affixes)
    rows = rows_text([numbers[at] for at in rare])
    return f"{signs} beside the numbers, so they are left as written", rows


def _left(column: Column, told: tuple[str, str], *, in_doubt: bool) -> Column:
    text, rows = told
    odd = Odd(column=column.name, text=text, rows=rows)
    return replace(column, stays_text=True, is_in_doubt=in_doubt, oddities=(*column.oddities, odd))


def _written(column: Column, cells: Sequence[Read | None], sign: str, affix: str) -> Column:
    changed = list[Cell]()
    for cell, one in zip(column.cells, cells, strict=True):
        text = None if one is None else one.by(sign)
        if text is None:
            changed.append(cell)
        elif affix == "%":
            fraction = format((Decimal(text) / 100).normalize(), "f")
            changed.append(cell._replace(text=fraction, kind=Kind.PERCENT))
        else:
            changed.append(cell._replace(text=text, kind=Kind.NUMBER))
    told = list[str]()
    if sign == COMMA and any(one is not None and one.shows == COMMA for one in cells):
        told.append("decimal commas became points")
    elif any(one is not None and one.group for one in cells):
        told.append("the signs between thousands are taken off")
    if affix not in ("", "%"):
        told.append(f"{affix!r} beside the numbers is taken off; the SOP should name the currency")
    odds = [Odd(column=column.name, text=one) for one in told]
    return replace(column, cells=changed, oddities=(*column.oddities, *odds))


def _with_others(column: Column, numbers: Sequence[int]) -> Column:
    """Tell of a column of numbers that a few other cells, such as `ca. 20`, turn into text."""
    full = [at for at, cell in enumerate(column.cells) if cell.text]
    others = [at for at in full if not _is_number(column.cells[at])]
    few = len(others) <= _FEW * len(full)
    if not full or not few or not others or _is_of_ids(column) or column.oddities:
        return column
    told = "numbers, and cells of another kind, so the column is text, as it is written"
    return _with_odd(column, told, [numbers[at] for at in others])


def _is_number(cell: Cell) -> bool:
    return cell.kind in (Kind.NUMBER, Kind.PERCENT) or _read(cell.text) is not None


def _is_of_ids(column: Column) -> bool:
    last = next(reversed(words_of(column.name)), "")
    return last in _OF_IDS or last.endswith(("nummer", "nr"))


def _of_dates(column: Column, numbers: Sequence[int]) -> Column:
    """Write the dates of a column in ISO, where it is known which number is the month."""
    found = {
        at: match
        for at, cell in enumerate(column.cells)
        if cell.kind is Kind.TEXT and (match := _DATE.fullmatch(cell.text))
    }
    others = [
        at
        for at, cell in enumerate(column.cells)
        if cell.text
        and at not in found
        and cell.kind is not Kind.DATE
        and not _ISO.fullmatch(cell.text)
    ]
    if not found:
        return column
    if others:
        told = "dates, and cells of another kind, so the column is left as written"
        return _with_odd(column, told, [numbers[at] for at in others])
    dotted = [at for at, match in found.items() if match[2] == "."]
    slashed = [at for at in found if at not in dotted]
    day_first = _is_day_first([found[at] for at in slashed])
    if slashed and day_first is None:
        return _with_odd(column, _NO_ORDER, [numbers[at] for at in slashed], slashed[0])
    written = {
        at: _iso(match, day_first=match[2] == "." or bool(day_first)) for at, match in found.items()
    }
    wrong = [at for at, text in written.items() if not text]
    if wrong:
        return _with_odd(
            column, "no such date, so the column is left as written", [numbers[at] for at in wrong]
        )
    cells = [
        cell._replace(text=written[at], kind=Kind.DATE) if at in written else cell
        for at, cell in enumerate(column.cells)
    ]
    order = "day" if dotted or day_first else "month"
    odd = Odd(column=column.name, text=f"dates with the {order} first are written as 2026-12-31")
    return replace(column, cells=cells, oddities=(*column.oddities, odd))


def _is_day_first(dates: Sequence[re.Match[str]]) -> bool | None:
    """Whether days stand before months; nothing where it cannot be known."""
    day = any(int(one[1]) > _MONTHS for one in dates)
    month = any(int(one[3]) > _MONTHS for one in dates)
    return None if day == month else day


def _iso(match: re.Match[str], *, day_first: bool) -> str:
    day, month = (match[1], match[3]) if day_first else (match[3], match[1])
    try:
        return date(int(match[4]), int(month), int(day)).isoformat()
    except ValueError:
        return ""


def _with_odd(column: Column, text: str, rows: Sequence[int], first: int | None = None) -> Column:
    shown = "" if first is None else f"{_shape(column.cells[first])} in "
    odd = Odd(column=column.name, text=text, rows=f"{shown}{rows_text(rows)}")
    return replace(column, oddities=(*column.oddities, odd))


def _shape(cell: Cell) -> str:
    """Show how a cell is written, and not what it holds: the column may be private."""
    return f"{re.sub('[0-9]', '9', cell.text)!r}"
