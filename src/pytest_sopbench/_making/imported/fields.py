"""What each column of a table is for."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from typing import Any, Final

from pytest_sopbench._audit.measures.columns import (
    about_persons,
    is_called_as_an_answer,
    is_one_to_one,
    words_of,
)
from pytest_sopbench._core.fields.values import infer_field
from pytest_sopbench._core.model.task import FieldType
from pytest_sopbench._core.values.text import fold
from pytest_sopbench._loading.files.cells import ColumnType, infer_type, nearest
from pytest_sopbench._making.sheet.table import Column, Sheet
from pytest_sopbench._reports.text import counted
from pytest_sopbench.errors import LoadingError

# What the columns hold: types, examples, and the values of each output with their counts.

_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}(T[0-9:]+)?")
_LABELS: Final = 20
_OF_EACH: Final = 2
_SHOWN: Final = 3
_SHORT: Final = 3
_CLOSE: Final = 0.5


@dataclass(frozen=True, slots=True, kw_only=True)
class OutputValues:
    """The type of an output field, and each value with how often it is expected."""

    type: FieldType
    counts: Counter[str]

    @property
    def labels(self) -> tuple[str, ...]:
        """The values of an enum, the most frequent first; of spellings that count as one, one."""
        if self.type is not FieldType.ENUM:
            return ()
        by_key: dict[str, str] = {}
        for label, _ in self.counts.most_common():
            by_key.setdefault(fold(label), label)
        return tuple(by_key.values())

    def written(self, text: str) -> str:
        """Return a value as the data file has it: labels that count as one in one spelling."""
        if self.type is not FieldType.ENUM:
            return text
        return next(label for label in self.labels if fold(label) == fold(text))

    def declared(self, *, private: bool) -> dict[str, Any]:
        """Return the entry of `outputs` in metadata.json."""
        entry: dict[str, Any] = {"type": self.type.value}
        if self.labels and not private:
            entry["values"] = list(self.labels)
        return entry


def output_values(texts: Sequence[str], *, as_text: bool = False) -> OutputValues:
    """Return what an output column holds; few labels that come again are an enum.

    `as_text` is for texts that look like numbers, and nobody knows which.
    """
    counts = Counter(texts)
    kind = FieldType.TEXT if as_text else infer_field("", texts).type
    labels = len({fold(text) for text in counts})
    few = labels <= _LABELS and labels * _OF_EACH <= len(texts)
    if kind is FieldType.TEXT and few:
        kind = FieldType.ENUM
    return OutputValues(type=kind, counts=counts)


def output_notes(name: str, values: OutputValues) -> Iterator[str]:
    """Yield what is odd about expected values."""
    counts = values.counts
    if len(counts) == 1:
        yield f"{name}: one value in every row, so that any agent is right"
    elif values.type is FieldType.TEXT and len(counts) > max(_LABELS, _CLOSE * counts.total()):
        yield (
            f"{name}: free text, {len(counts)} values; few answers will equal it"
            ' ("compare": "present" asks only that there is one)'
        )
    for label, count in counts.items() if values.type is FieldType.ENUM else ():
        if values.written(label) != label:
            cells = counted(count, "cell")
            yield f"{name}: {label!r} is written as {values.written(label)!r} in {cells}"


def type_of(texts: Sequence[str], declared: str = "") -> str:
    """Return the type of a column in a word."""
    full = [text for text in texts if text]
    if declared:
        return declared
    if full and all(_DATE.fullmatch(text) for text in full):
        return "date"
    return infer_type(texts).value


def examples(texts: Sequence[str], secrets: Sequence[str]) -> tuple[str, ...]:
    """Return three values, the first ones that are different and have no secret in them."""
    found = list[str]()
    for text in texts:
        if text and text not in found and not any(one in text for one in secrets):
            found.append(text)
        if len(found) == _SHOWN:
            break
    return tuple(found)


def secrets_of(columns: Mapping[str, Sequence[str]]) -> tuple[str, ...]:
    """Return the values that no example may hold; very short ones stand in any text."""
    return tuple({text for texts in columns.values() for text in texts if len(text) >= _SHORT})


# Which column a user means.

_PAIRS_SHOWN = 20


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
    more = f" and {len(names) - _PAIRS_SHOWN} more" if len(names) > _PAIRS_SHOWN else ""
    return f"{', '.join(names[:_PAIRS_SHOWN])}{more}"


def _hint(sheet: Sheet, word: str) -> str:
    known = {_folded(one.name): one.name for one in sheet.columns}
    known |= {_folded(one.short): one.name for one in sheet.columns if one.short != one.name}
    near = nearest(_folded(word), known)
    if near:
        return f"did you mean {known[near]!r}?"
    return f"it has {names_of(sheet.columns)}"


def _folded(name: str) -> str:
    return " ".join(name.split()).casefold()


# Names for fields and parameters, which models and frameworks take.

_NEITHER: Final = re.compile(r"[^a-z0-9]+")
_LONGEST: Final = 48


def slug(text: str) -> str:
    """Return a text as small letters, digits and `_`; empty where none is in it."""
    plain = unicodedata.normalize("NFKD", text.casefold()).encode("ascii", "ignore").decode()
    return _NEITHER.sub("_", plain).strip("_")[:_LONGEST].rstrip("_")


def field_names(names: Sequence[str]) -> dict[str, str]:
    """Return a name for each, unlike all others: a slug, else one that counts."""
    found: dict[str, str] = {}
    for place, name in enumerate(names, 1):
        plain = slug(name) or f"column_{place}"
        plain = f"n_{plain}" if plain[0].isdigit() else plain
        unique, number = plain, 2
        while unique in found.values():
            unique, number = f"{plain}_{number}", number + 1
        found[name] = unique
    return found


# What each column is for, as the user says, and what is proposed where nothing is said.

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


# Look-up tools, proposed for the columns that are left.


@dataclass(frozen=True, slots=True, kw_only=True)
class ProposedTool:
    """A tool that serves columns of the row whose id it is given."""

    name: str
    columns: tuple[Column, ...]
    is_sometimes_empty: bool


def proposed_tools(
    columns: Sequence[Column], names: Mapping[str, str], kept: Sequence[int]
) -> tuple[ProposedTool, ...]:
    """Propose a tool for the columns of each prefix, and one for each column that stands alone."""
    groups: dict[str, list[Column]] = {}
    for column in columns:
        groups.setdefault(prefix_of(column), []).append(column)
    tools = list[ProposedTool]()
    for prefix, group in groups.items():
        plain = prefix if len(group) > 1 and prefix else names[group[0].name]
        taken = {tool.name for tool in tools}
        name = f"get_{plain}"
        if name in taken:
            name = f"get_{names[group[0].name]}"
        rows = ([column.cells[place].text for column in group] for place in kept)
        empty = any(not any(row) for row in rows)
        tools.append(ProposedTool(name=name, columns=tuple(group), is_sometimes_empty=empty))
    return tuple(tools)


def tool_spec(
    tool: ProposedTool, key: Column, names: Mapping[str, str], texts: Collection[str]
) -> dict[str, Any]:
    """Return the spec that a model is shown; `texts` are columns that are no numbers."""
    is_number = key.name not in texts and infer_type(key.texts) is ColumnType.NUMBER
    kind = "number" if is_number else "string"
    served = ", ".join(one.name for one in tool.columns)
    return {
        "name": tool.name,
        "description": f"Looks up, by {key.name}: {served}. Fails for another id.",
        "parameters": {
            "type": "object",
            "properties": {names[key.name]: {"type": kind}},
            "required": [names[key.name]],
            "additionalProperties": False,
        },
    }


def tool_entry(tool: ProposedTool, key: Column, names: Mapping[str, str]) -> dict[str, Any]:
    """Return the entry of `tools` in metadata.json."""
    return {
        "key": [names[key.name]],
        "returns": [names[one.name] for one in tool.columns],
        # An empty cell of a table is an answer: nothing is there.
        "missing": "null" if tool.is_sometimes_empty else "error",
    }
