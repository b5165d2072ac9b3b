"""A domain from a table and a document: which column is what, the plan, and its preview."""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from decimal import Decimal
from functools import cached_property
from typing import Any, Final

from pytest_sopbench._audit.rules.leakage import (
    about_persons,
    is_called_as_an_answer,
    is_one_to_one,
    words_of,
)
from pytest_sopbench._core.fields.values import infer_field
from pytest_sopbench._core.model.task import FieldType
from pytest_sopbench._core.values.text import first_of, fold, is_empty
from pytest_sopbench._loading.files import nearest
from pytest_sopbench._loading.tables import ColumnType, csv_text, infer_type
from pytest_sopbench._making.place import Place, template
from pytest_sopbench._making.table import Column, Kind, Sheet
from pytest_sopbench._reports.text import (
    WIDTH,
    columns,
    counted,
    cut,
    labelled,
    one_line,
    padded,
    shell_word,
)
from pytest_sopbench.errors import LoadingError

# What the columns hold: types, examples, and the values of each output with their counts.

_DATE: Final = re.compile(r"\d{4}-\d{2}-\d{2}(T[0-9:]+)?")
_LABELS: Final = 20
_OF_EACH: Final = 2
_SHOWN: Final = 3
_SHORT: Final = 3
_CLOSE: Final = 0.5


@dataclass(frozen=True, kw_only=True)
class OutputValues:
    """The type of an output field, and each value with how often it is expected."""

    type: FieldType
    counts: Counter[str]

    @property
    def labels(self) -> tuple[str, ...]:
        """The values of an enum, the most frequent first; of spellings that count as one, one."""
        return tuple(self._spellings.values()) if self.type is FieldType.ENUM else ()

    @cached_property
    def _spellings(self) -> Mapping[str, str]:
        """Of texts that count as one, the most frequent spelling."""
        found: dict[str, str] = {}
        for text, _ in self.counts.most_common():
            found.setdefault(fold(text), text)
        return found

    def written(self, text: str) -> str:
        """Return a value as the data file has it: texts that count as one in one spelling."""
        if self.type not in (FieldType.ENUM, FieldType.TEXT):
            return text
        return self._spellings[fold(text)]

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
    for label, count in counts.items():
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
    return first_of((repr(one.name) for one in columns), _PAIRS_SHOWN)


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
    """Return a text as small letters, digits and `_`; empty if none is in it."""
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


# What each column is for, as the user says, and what is proposed if nothing is said.

_ID_WORDS: Final = re.compile(
    r"(^|_)(id|no|nr|num|number|\w*nummer|\w*nr|key|ref|reference|case|fall|dossier|ticket|claim"
    r"|order)(_|$)"
)
_ANSWER_WORDS: Final = frozenset({"result", "label", "answer", "ergebnis", "resultat", "resultado"})
"""What outputs are called as well; a column that is left may be called so and be no answer."""

_EXPECTED: Final = "expected"

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

    def in_sheet(self, sheet: Sheet) -> Roles:
        """Return the same parts of the columns of another sheet, by their names."""
        found = {one.name: one for one in sheet.columns}
        return Roles(
            id=found[self.id.name],
            inputs=tuple(found[one.name] for one in self.inputs),
            outputs=tuple(found[one.name] for one in self.outputs),
            private=tuple(found[one.name] for one in self.private),
            tools=tuple(found[one.name] for one in self.tools),
        )

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
        for other, listed in given.items():
            for one in kept:
                if one in listed:
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
    """Return the column that is called as answers are, else those `expected_...`, else the last.

    Of several one is proposed, that of the plainest name: the others may be a second answer to
    the same case. If it begins with `expected`, all that begin so are proposed with it.
    """
    found = [
        one
        for one in sheet.columns
        if is_called_as_an_answer(one.name) or not _ANSWER_WORDS.isdisjoint(words_of(one.name))
    ]
    found.sort(key=lambda one: len(words_of(one.name)))
    if found and prefix_of(found[0]) != _EXPECTED:
        return (found[0],)
    expected = tuple(one for one in sheet.columns if prefix_of(one) == _EXPECTED)
    return expected or tuple(sheet.columns[-1:])


def proposed_private(sheet: Sheet, taken: Sequence[Column]) -> tuple[Column, ...]:
    """Return the columns that seem to tell of persons."""
    return tuple(one for one in sheet.columns if one not in taken and tells_of_persons(one))


def tells_of_persons(column: Column) -> str:
    """Say what of persons a column seems to hold; empty if it seems to hold nothing."""
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
    """Say why a column seems to speak of the answer; empty if it does not."""
    if why := _tells_the_same(column, outputs):
        return why
    for output in outputs:
        if slug(output.name) and slug(column.name).startswith(f"{slug(output.name)}_"):
            return f"its name begins with {output.name!r}"
        if prefix_of(output) == prefix_of(column) == _EXPECTED:
            return f"its name begins as that of {output.name!r}"
    return "it is called as an answer" if is_called_as_an_answer(column.name) else ""


def _tells_the_same(column: Column, outputs: Sequence[Column]) -> str:
    """Say why a column tells an answer once more; empty if it does not."""
    for output in outputs:
        pairs = list(zip(column.texts, output.texts, strict=True))
        full = [(one, other) for one, other in pairs if other]
        same = sum(1 for one, other in full if _key(one) == _key(other))
        if full and same >= _SAME * len(full):
            return f"it has the values of {output.name!r}"
        labels = [other for _, other in full]
        if len(set(labels)) > 1 and is_one_to_one([one for one, _ in full], labels):
            return f"it tells {output.name!r} one to one"
    return ""


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
    tool: ProposedTool, key: Column, names: Mapping[str, str], kind: str
) -> dict[str, Any]:
    """Return the spec that a model is shown; `kind` is the JSON type of the key."""
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


# Everything that is decided before a domain is written.

# Which rows become tasks; the others are left out by name, with the reason.

_ROWS_SHOWN: Final = 4
_EMPTY: Final = "is empty"
_TO_KEEP: Final = (
    "to keep a row, write its answer into the table; if an empty one is right, add the row to "
    "data.csv, and 'may_be_empty': true to the output in metadata.json"
)


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
            return f"{output.name} {why.get(cell.kind, _EMPTY)}"
    return ""


def _word_for_nothing(outputs: Sequence[Column], place: int) -> str:
    for output in outputs:
        text = output.cells[place].text
        if _says_nothing(text):
            return f"{output.name} is {text!r}, which stands for no answer"
    return ""


def _says_nothing(text: str) -> bool:
    # A table that pandas has saved says so of an empty cell, and of what is no number.
    return is_empty(text) or fold(text) == "nan"


def _twice(sheet: Sheet, places: list[int]) -> dict[int, str]:
    """Keep the first of rows that are equal; of rows that differ nobody knows which is right."""
    first, *others = places
    texts = [[column.cells[place].text for column in sheet.columns] for place in places]
    if all(one == texts[0] for one in texts):
        return dict.fromkeys(others, f"the same as row {sheet.numbers[first]}")
    numbers = [str(sheet.numbers[place]) for place in places]
    told = f"rows {first_of(numbers, _ROWS_SHOWN)} have this id and differ, so none is taken"
    return dict.fromkeys(places, told)


def kept_texts(column: Column, kept: list[int]) -> list[str]:
    """Return the texts of a column in the rows that become tasks."""
    return [column.cells[place].text for place in kept]


_PLAN_SHOWN: Final = 3
_COUNTS: Final = "it counts the rows"


@dataclass(frozen=True, slots=True, kw_only=True)
class Procedure:
    """The text of a procedure, the name of its file, and where it is from."""

    file: str
    text: str
    source: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class Plan:
    """A domain that is to be made from a table.

    `names` are ours, by those of the columns. `kept` are the places of the rows that become
    tasks. `dropped` are the columns that are left out, with the reason; of these `maybe_expected`
    may be a part of the answer.
    """

    place: Place
    sheet: Sheet
    roles: Roles
    procedure: Procedure
    names: Mapping[str, str]
    kept: Sequence[int]
    left_out: Sequence[LeftOut]
    outputs: Mapping[str, OutputValues]
    tools: Sequence[ProposedTool]
    dropped: Mapping[str, str]
    maybe_expected: tuple[Column, ...]
    texts: frozenset[str]
    notes: tuple[str, ...]

    @property
    def columns(self) -> tuple[Column, ...]:
        """The columns of the data file."""
        return tuple(one for one in self.sheet.columns if one.name not in self.dropped)

    def values(self, column: Column) -> list[str]:
        """Return the texts of a column in the rows that become tasks."""
        return kept_texts(column, list(self.kept))


def make_plan(place: Place, sheet: Sheet, roles: Roles, procedure: Procedure) -> Plan:
    """Decide everything; nothing is written.

    Raises:
        LoadingError: columns have parts that exclude each other, or no row is left.
    """
    check_roles(sheet, roles)
    kept, left_out = sorted_rows(sheet, roles)
    outputs = _outputs(roles, kept)
    unlabelled = [
        one for one in roles.outputs if one in roles.private or not outputs[one.name].labels
    ]
    if any(_says_nothing(text) for one in unlabelled for text in kept_texts(one, kept)):
        kept, left_out = sorted_rows(sheet, roles, texts=unlabelled)
        outputs = _outputs(roles, kept)
    if not kept:
        told = [f"row {one}: {one.reason}" for one in left_out[:_PLAN_SHOWN]]
        hint = f"left out: {'; '.join(told)} ..."
        raise LoadingError(sheet.path, "no row is left to become a task", hint=hint)
    if left_out:
        sheet = sheet.with_forms_of(kept)
        roles = roles.in_sheet(sheet)
        outputs = _outputs(roles, kept)
    named = (*roles.given, *roles.outputs, *roles.private)
    left = [one for one in sheet.columns if one not in named]
    asked = {one.name for one in roles.tools}
    dropped = {
        one.name: why
        for one in left
        if one.name not in asked and (why := _no_tool(one, sheet, roles))
    }
    maybe = tuple(one for one in left if one.name in dropped and _may_be_expected(one, roles, kept))
    served = [one for one in left if one.name not in dropped]
    names = field_names([one.name for one in sheet.columns if one.name not in dropped])
    return Plan(
        place=place,
        sheet=sheet,
        roles=roles,
        procedure=procedure,
        names=names,
        kept=kept,
        left_out=left_out,
        outputs=outputs,
        tools=proposed_tools(served, names, kept),
        dropped=dropped,
        maybe_expected=maybe,
        texts=frozenset(one.name for one in sheet.columns if _stays_text(sheet, roles, one, kept)),
        notes=(
            *sheet.notes,
            *procedure.notes,
            *(note for one in roles.outputs for note in _about(one, outputs[one.name], roles)),
            *_dropped(dropped, roles, maybe),
            *_leaks(roles),
            *_personal(roles, served),
        ),
    )


def _outputs(roles: Roles, kept: list[int]) -> dict[str, OutputValues]:
    return {
        one.name: output_values(kept_texts(one, kept), as_text=one.stays_text)
        for one in roles.outputs
    }


def _no_tool(column: Column, sheet: Sheet, roles: Roles) -> str:
    """Say why no tool serves a column that is left; empty if one does."""
    if counts_rows(column):
        return _COUNTS
    why = about_the_answer(column, roles.outputs)
    behind = column in _behind_the_answer(sheet, roles)
    return why or ("it stands right of the answer, as what is written with it" if behind else "")


def _may_be_expected(column: Column, roles: Roles, kept: list[int]) -> bool:
    """Whether a column that is dropped may be a part of the answer.

    What tells an answer once more is none, nor are dates and remarks, written with the answer.
    """
    texts = kept_texts(column, kept)
    full = [text for text in texts if text]
    if counts_rows(column) or _tells_the_same(column, roles.outputs):
        return False
    if len(full) < _HALF * len(texts) or type_of(full) == "date":
        return False
    return infer_type(full) is not ColumnType.TEXT or len(set(full)) < _MOSTLY * len(full)


def _stays_text(sheet: Sheet, roles: Roles, column: Column, kept: Sequence[int]) -> bool:
    """Whether a column is text in its own program, and would be read as something else.

    Ids with points in them are text in any program: `2024.010` is not 2024.01.
    """
    cells = [column.cells[place] for place in kept]
    is_text = all(cell.kind is Kind.TEXT for cell in cells if cell.text)
    is_id = column is roles.id and any("." in cell.text for cell in cells)
    if not is_id and not column.stays_text and not (sheet.typed and is_text):
        return False
    return infer_type([cell.text for cell in cells]) in (ColumnType.NUMBER, ColumnType.BOOLEAN)


def _about(output: Column, values: OutputValues, roles: Roles) -> Iterator[str]:
    """Say what is odd about an output; the values of a private one are not shown."""
    if output not in roles.private:
        yield from output_notes(output.name, values)
        yield from _nothing_or(output, values)


def _nothing_or(output: Column, values: OutputValues) -> Iterator[str]:
    """Say where a mark or nothing may mean yes or no: an empty answer is none here."""
    empty = sum(1 for cell in output.cells if not cell.text)
    if len(values.counts) == 1 and empty:
        only = next(iter(values.counts))
        yield (
            f"{output.name}: {only!r} or nothing, which is in {counted(empty, 'row')}; if nothing"
            " is an answer, write it into the table as a word"
        )


def _dropped(dropped: Mapping[str, str], roles: Roles, maybe: tuple[Column, ...]) -> Iterator[str]:
    if maybe:
        options = output_options((*roles.outputs, *maybe))
        yield f"{names_of(maybe)} is dropped and not judged; to judge it as well: {options}"
    if any(why != _COUNTS for why in dropped.values()):
        yield "--tool COLUMN serves a dropped column, if it is known before the decision"


def output_options(columns: Iterable[Column]) -> str:
    """Return what to type to have columns expected of the agent."""
    return " ".join(f"--output {shell_word(one.name)}" for one in columns)


def _leaks(roles: Roles) -> Iterator[str]:
    for one in roles.inputs:
        why = about_the_answer(one, roles.outputs)
        if why:
            yield f"{one.name} is an input, and {why}: does it give the answer away?"


def _personal(roles: Roles, served: Sequence[Column]) -> Iterator[str]:
    given = [one for one in (*roles.given, *served) if tells_of_persons(one)]
    if given:
        yield f"the agent is given {names_of(given)}, about persons as it seems"


def _behind_the_answer(sheet: Sheet, roles: Roles) -> Sequence[Column]:
    """Return the columns right of the answer; none if cases are described there."""
    places = [sheet.columns.index(one) for one in roles.outputs]
    inputs = [sheet.columns.index(one) for one in roles.inputs]
    left = [one for one in sheet.columns[: min(places)] if one is not roles.id]
    if not left or max(inputs, default=0) > max(places):
        return ()
    return sheet.columns[max(places) + 1 :]


# The files of a domain that is made from a table.

REPORT = "import.txt"


def domain_files(plan: Plan, report: str) -> Mapping[str, str]:
    """Return the files of the domain by their names; `report` says what was made of the table."""
    files = {
        plan.procedure.file: plan.procedure.text,
        "metadata.json": f"{json.dumps(_metadata(plan), indent=2, ensure_ascii=False)}\n",
        "data.csv": _rows(plan),
        "agent.py": _agent(plan),
        REPORT: report,
    }
    if plan.tools:
        key = plan.roles.id
        is_number = key.name not in plan.texts and infer_type(plan.values(key)) is ColumnType.NUMBER
        kind = "number" if is_number else "string"
        specs = [tool_spec(tool, key, plan.names, kind) for tool in plan.tools]
        files["toolspecs.json"] = f"{json.dumps(specs, indent=2, ensure_ascii=False)}\n"
    else:
        files["toolspecs.json"] = "[]\n"
    return files


def _metadata(plan: Plan) -> dict[str, Any]:
    roles, names = plan.roles, plan.names
    mapped = {names[one.name]: one.name for one in plan.columns if names[one.name] != one.name}
    private = _ours(plan, roles.private)
    texts = [one for one in plan.columns if one.name in plan.texts and one not in roles.outputs]
    metadata: dict[str, Any] = {
        "name": plan.place.name,
        "id_column": names[roles.id.name],
        "input_columns": _ours(plan, roles.given),
        "output_columns": _ours(plan, roles.outputs),
        "outputs": {
            names[one.name]: plan.outputs[one.name].declared(private=one in roles.private)
            for one in roles.outputs
        },
    }
    optional: dict[str, Any] = {
        "private_columns": private,
        "types": dict.fromkeys(_ours(plan, tuple(texts)), "text"),
        "columns": mapped,
        "tools": {tool.name: tool_entry(tool, roles.id, names) for tool in plan.tools},
    }
    return metadata | {key: value for key, value in optional.items() if value}


def _ours(plan: Plan, columns: tuple[Column, ...]) -> list[str]:
    return [plan.names[one.name] for one in columns]


def _rows(plan: Plan) -> str:
    rows = ([_text(plan, one, place) for one in plan.columns] for place in plan.kept)
    return csv_text([[one.name for one in plan.columns], *rows])


def _text(plan: Plan, column: Column, place: int) -> str:
    text = column.cells[place].text
    values = plan.outputs.get(column.name)
    return text if values is None else values.written(text)


def _agent(plan: Plan) -> str:
    outputs = [one for one in plan.roles.outputs if one not in plan.roles.private]
    answers = Counter(tuple(_text(plan, one, place) for one in outputs) for place in plan.kept)
    most = answers.most_common(1)[0][0]
    frequent = {plan.names[one.name]: text for one, text in zip(outputs, most, strict=True)}
    # What JSON writes of texts, Python reads; and its quotes are those of our other files.
    answer = json.dumps(frequent, indent=4, ensure_ascii=False)
    return template("agent_from_table.py", plan.place).replace("@ANSWER@", answer)


# A plan as text: what was read, what each column becomes, and what is left out.

SHOWN: Final = 20
"""Reasons to leave rows out that the terminal lists; the report in the folder has all of them."""

_ROWS: Final = 4

_VALUES: Final = 12
_OF_MANY: Final = 4
_NAME: Final = 24
_ROLE: Final = 9
_TYPE: Final = 9
HIDDEN: Final = "(hidden)"
"""Stands for what is private."""


def preview_lines(plan: Plan, *, every: bool) -> Iterator[str]:
    """Yield a plan; `every` lists each row that is left out, however many they are."""
    yield from _read_lines(plan)
    yield ""
    yield from _column_lines(plan)
    yield ""
    for output in plan.roles.outputs:
        yield from _output_lines(plan, output)
    yield ""
    yield from _tool_lines(plan)
    yield from _dropped_lines(plan)
    yield from _left_out_lines(plan, every=every)
    for number, note in enumerate(plan.notes):
        yield from labelled("" if number else "notes", f"- {one_line(note)}")


def _read_lines(plan: Plan) -> Iterator[str]:
    sheet = plan.sheet
    where = f", sheet {sheet.title}" if sheet.title else ""
    rows = f"{counted(len(sheet.numbers), 'row')} under the header in row {sheet.header}"
    yield from labelled("cases", f"{sheet.path}{where}: {rows}")
    left_out = len(plan.left_out)
    rest = f"{counted(left_out, 'row')} left out" if left_out else "no row left out"
    yield from labelled("tasks", f"{len(plan.kept)}, {rest}")
    words = counted(len(plan.procedure.text.split()), "word")
    yield from labelled("sop", f"{plan.procedure.source}: {words} -> {plan.procedure.file}")


def _column_lines(plan: Plan) -> Iterator[str]:
    yield f"{'column':<{_NAME}} {'part':<{_ROLE}}{'type':<{_TYPE}}three examples"
    secrets = secrets_of({one.name: plan.values(one) for one in plan.roles.private})
    for column in plan.columns:
        texts = plan.values(column)
        declared = "text" if column.name in plan.texts else ""
        kind = type_of(texts, declared)
        if column.name in plan.outputs:
            kind = plan.outputs[column.name].type.value
        found = examples(texts, secrets)
        shown = HIDDEN if column in plan.roles.private else ", ".join(found) or "(none)"
        head = (
            f"{padded(one_line(column.name), _NAME)} {_part(plan, column):<{_ROLE}}{kind:<{_TYPE}}"
        )
        yield f"{head}{cut(one_line(shown), WIDTH - columns(head))}"


def _part(plan: Plan, column: Column) -> str:
    roles = plan.roles
    if column is roles.id:
        return "id"
    if column in roles.outputs:
        return "output"
    if column in roles.private:
        return "private"
    return "input" if column in roles.inputs else "tool"


def _output_lines(plan: Plan, output: Column) -> Iterator[str]:
    values: OutputValues = plan.outputs[output.name]
    counts = values.counts.most_common()
    if output in plan.roles.private:
        told = f"{len(counts)} values {HIDDEN}"
    else:
        shown = _VALUES if values.labels or len(counts) <= _VALUES else _OF_MANY
        told = ", ".join(f"{one_line(value)} {count}" for value, count in counts[:shown])
        more = len(counts) - shown
        told = f"{told} and {more} more values" if more > 0 else told
    yield from labelled("values", f"{output.name} ({values.type.value}): {told}")


def _tool_lines(plan: Plan) -> Iterator[str]:
    names = plan.names
    key = names[plan.roles.id.name]
    for number, tool in enumerate(plan.tools):
        served = ", ".join(names[one.name] for one in tool.columns)
        yield from labelled("" if number else "tools", f"{tool.name}({key}) -> {served}")
    if not plan.tools:
        yield from labelled("tools", "none: no column is left for them")


def _dropped_lines(plan: Plan) -> Iterator[str]:
    """Name the columns that are dropped, those with one reason together."""
    groups: dict[str, list[str]] = {}
    for name, why in plan.dropped.items():
        groups.setdefault(why, []).append(name)
    for number, (why, names) in enumerate(groups.items()):
        yield from labelled("" if number else "dropped", one_line(f"{', '.join(names)}: {why}"))


def _left_out_lines(plan: Plan, *, every: bool) -> Iterator[str]:
    """Name the rows that are left out, those with one reason together."""
    groups: dict[str, list[LeftOut]] = {}
    for row in plan.left_out:
        groups.setdefault(row.reason, []).append(row)
    shown = list(groups.items())[: None if every else SHOWN]
    for number, (reason, rows) in enumerate(shown):
        named = first_of(map(str, rows), len(rows) if every else _ROWS)
        text = f"row{'s' if len(rows) > 1 else ''} {named}: {reason}"
        yield from labelled("" if number else "left out", one_line(text))
    told = sum(len(rows) if every else min(len(rows), _ROWS) for _, rows in shown)
    if len(plan.left_out) > told:
        yield from labelled("", f"{REPORT} has all {len(plan.left_out)} rows")
    if not groups.keys().isdisjoint(f"{one.name} {_EMPTY}" for one in plan.roles.outputs):
        yield from labelled("", _TO_KEEP)
