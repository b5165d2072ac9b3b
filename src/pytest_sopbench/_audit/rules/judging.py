"""Rules about judging: can the judge tell right answers from wrong ones, and can a reader?

First labels that are compared as values, then fields that are compared in another way.
"""

from __future__ import annotations

import json
import re
import unicodedata
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from decimal import Decimal
from itertools import combinations
from operator import itemgetter
from pathlib import Path
from typing import Final

from pytest_sopbench._audit.model import Finding, Place, error, note, warning
from pytest_sopbench._audit.reading import SHOWN, Subject
from pytest_sopbench._core.fields.comparison import compare
from pytest_sopbench._core.fields.kinds import KINDS, several
from pytest_sopbench._core.fields.values import colliding_labels, known_labels, number_of, written
from pytest_sopbench._core.hiding import shortened
from pytest_sopbench._core.judging import Question, candidates
from pytest_sopbench._core.metrics.summary import SEPARATOR
from pytest_sopbench._core.model.task import (
    ASKED_OF_OTHERS,
    Compare,
    FieldType,
    OutputField,
    Task,
)
from pytest_sopbench._core.model.trace import Answer
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.text import first_of, fold
from pytest_sopbench._loading.tables import ColumnType, infer_type
from pytest_sopbench._running.comparing import Comparer, ask, similar
from pytest_sopbench._running.comparing import Place as Whereabouts
from pytest_sopbench.errors import ComparerError

CHANCE: Final = 0.6
"""Share of the most frequent answer above which numbers say little."""

MOSTLY: Final = 0.9
"""Share of numbers from which on a column of text was meant to be one of numbers."""

_FEWEST: Final = 10
_FEWEST_ROWS: Final = 2
_LONGEST: Final = 80
_OF_TEXTS: Final = (Compare.CONTAINS_ALL, Compare.MATCHES, Compare.ONE_OF)
_WORDS: Final = re.compile(r"[^\W_][\w -]*")
_ASK_NOTHING: Final = (Compare.PRESENT, Compare.IGNORE)
_NULLS: Final = frozenset({"none", "null", "nan", "nil", "na", "n/a", "undefined", "-", "?"})
_SCRIPTS: Final = ("LATIN", "CYRILLIC", "GREEK", "FULLWIDTH", "MATHEMATICAL", "CHEROKEE")
_NUMBERED: Final = re.compile(r"[0-9]+")


@error(
    "equal-labels", "Two labels of a field are written differently and count as the same answer."
)
def _equal_labels(subject: Subject) -> Iterator[Finding]:
    for field in subject.compared:
        for one, other in colliding_labels(field, _cells(subject, field)):
            yield Finding(
                place=Place(file=subject.data_file, column=field.name),
                what=f"the labels {one!r} and {other!r} count as the same answer",
                do="write them in one way, or give them names that differ by a word",
            )


@error("mixed-script-label", "A label mixes the letters of two scripts that look alike.")
def _look_alikes(subject: Subject) -> Iterator[Finding]:
    for field in subject.compared:
        for label in _labels(subject, field):
            scripts = {script for sign in label if (script := _script(sign))}
            if len(scripts) > 1:
                yield Finding(
                    place=Place(file=subject.data_file, column=field.name),
                    what=f"the label {label!r} mixes letters of {' and '.join(sorted(scripts))}",
                    do="type it anew: nobody sees the difference, and the judge does",
                )


def _script(sign: str) -> str:
    if not sign.isalpha() or sign.isascii():
        return "LATIN" if sign.isalpha() else ""
    first = unicodedata.name(sign, "").split(" ")[0]
    return first if first in _SCRIPTS else ""


@note("contained-label", "A label stands inside of another, as `valid` in `invalid`.")
def _contained(subject: Subject) -> Iterator[Finding]:
    for field in subject.compared:
        labels = [fold(label) for label in _labels(subject, field)]
        pairs = [
            (one, other)
            for short, long in combinations(sorted(set(labels), key=len), 2)
            for one, other in [(short, long)]
            if one and one in other and not _NUMBERED.fullmatch(one)
        ]
        if pairs and field.type in (FieldType.ENUM, FieldType.BOOLEAN):
            shown = ", ".join(f"{one!r} in {other!r}" for one, other in pairs[:SHOWN])
            yield Finding(
                place=Place(file=subject.data_file, column=field.name),
                what=f"a label stands inside of another: {shown}",
                do="comparison is exact here; scorers that look for a part of a text confuse them",
            )


@error("compares-nothing", "No output field asks for a certain value: any answer is right.")
def _compares_nothing(subject: Subject) -> Iterator[Finding]:
    changed = any(task.expected_state is not None for task in subject.tasks)
    if subject.domain.document is None and not (_asking(subject) or changed):
        yield Finding(
            place=Place(file=subject.metadata_file),
            what="no output field is compared with what a row expects: any answer is right",
            do="compare a field, or say in 'expected_state_column' what a right run changes",
        )


def _asking(subject: Subject) -> list[OutputField]:
    return [field for field in subject.domain.fields if field.compare not in _ASK_NOTHING]


@warning("chance", "One answer, given to every row, is right for more than 60 % of them.")
def _chance(subject: Subject) -> Iterator[Finding]:
    if not _asking(subject) or len(subject.tasks) < _FEWEST_ROWS:
        return
    if _is_lenient(subject):
        answer, rows = _right_most_often(subject)
    else:
        answer, rows = Counter(subject.answers).most_common(1)[0]
        if rows == len(subject.tasks):
            return  # `one-label` says it
    share = rows / len(subject.tasks)
    if share > CHANCE:
        yield Finding(
            place=Place(file=subject.data_file),
            what=f"{answer!r} is right for {rows} of {len(subject.tasks)} rows ({share:.0%})",
            do="an agent that always says so has this TSR; add rows with other answers",
        )


def _is_lenient(subject: Subject) -> bool:
    """Whether an answer may be right that is not the expected one."""
    return any(task.acceptable for task in subject.tasks) or any(
        one.tolerance or one.compare is not Compare.EXACT for one in _asking(subject)
    )


def _right_most_often(subject: Subject) -> tuple[str, int]:
    """Return the answer that is right for most rows, of those that are tried, and for how many."""
    fields = _asking(subject)
    expected = [right for task in subject.tasks for right in candidates(task)]
    alike = {
        field.name: _for_every_row(field, [right[field.name] for right in expected])
        for field in fields
        if field.compare in _OF_TEXTS
    }
    tried: Counter[str] = Counter()
    for right in expected:
        said = {
            field.name: alike.get(field.name, _highest(field, right[field.name]))
            for field in fields
        }
        tried[json.dumps(said, default=str)] += 1
    found = ("", 0)
    for text, _ in tried.most_common(_MOST):
        rows = sum(_fits(fields, task, json.loads(text)) for task in subject.tasks)
        found = max(found, (text, rows), key=itemgetter(1))
    shown = SEPARATOR.join(map(written, json.loads(found[0] or "{}").values()))
    return shortened(shown, _LONGEST), found[1]


def _for_every_row(field: OutputField, cells: Sequence[JsonValue]) -> str:
    """Return the text that is right for most cells: all phrases in one, or words of a pattern."""
    parts = [part for cell in cells for part in dict.fromkeys(several(cell))]
    if field.compare is Compare.CONTAINS_ALL:
        return "\n".join(dict.fromkeys(parts))
    words = Counter(word for part in parts for word in {part, *_WORDS.findall(part)})
    tried = [word for word, _ in words.most_common(_MOST)]
    rows = [sum(compare(field, cell, word) is None for cell in cells) for word in tried]
    return tried[rows.index(max(rows))] if tried else ""


def _highest(field: OutputField, value: JsonValue) -> JsonValue:
    """The highest number that is still right: some such number is right for most rows."""
    number = number_of(field, value) if field.tolerance else None
    return value if number is None else float(number + Decimal(repr(field.tolerance)))


def _fits(fields: Sequence[OutputField], task: Task, said: Mapping[str, JsonValue]) -> bool:
    return any(
        all(_is_right(field, right[field.name], said[field.name]) for field in fields)
        for right in candidates(task)
    )


def _is_right(field: OutputField, expected: JsonValue, said: JsonValue) -> bool:
    # What a function or a model compares is right here if it is equal.
    if field.compare in ASKED_OF_OTHERS:
        return expected == said
    return compare(field, expected, said) is None


@warning("null-label", "A label reads as a missing value, as `None` does, and is not declared.")
def _null_labels(subject: Subject) -> Iterator[Finding]:
    for field in subject.compared:
        declared = {fold(value) for value in field.values} if field.declared else set[str]()
        cells = _cells(subject, field)
        found = Counter(
            cell
            for cell in cells
            if isinstance(cell, str)
            and cell.strip().lower() in _NULLS
            and fold(cell) not in declared
        )
        for label, rows in found.items():
            yield Finding(
                place=Place(file=subject.data_file, column=field.name),
                what=f"{label!r} is expected on {rows} rows, and reads as a missing value",
                do=f'declare it: "outputs": {{"{field.name}": {{"values": [...]}}}}',
            )


@warning("mixed-column", "A few cells make text of a column whose other cells are numbers.")
def _mixed_columns(subject: Subject) -> Iterator[Finding]:
    table = subject.folder.table
    declared = subject.folder.metadata.get("types")
    known = declared if isinstance(declared, dict) else {}
    if table is None or subject.data_file.endswith(".jsonl"):
        return
    read = {*subject.domain.input_columns, *(subject.tasks[0].results if subject.tasks else ())}
    for name in table.columns:
        if name not in read or name in known or name == subject.id_column:
            continue
        odd = _odd_ones(table.cells(name))
        if odd:
            words = first_of(map(repr, odd), SHOWN)
            yield Finding(
                place=Place(file=subject.data_file, column=name),
                what=f"most cells are numbers, and {words} make it a column of text",
                do=f'correct them, or declare it: "types": {{"{name}": "text"}}',
            )


@note("inferred-type", "The type of an output field is not declared; says what was assumed.")
def _inferred(subject: Subject) -> Iterator[Finding]:
    for field in subject.compared:
        if not field.declared:
            values = f": {', '.join(map(repr, field.values[:SHOWN]))}" if field.values else ""
            more = " ..." if len(field.values) > SHOWN else ""
            yield Finding(
                place=Place(file=subject.metadata_file, column=f"outputs.{field.name}"),
                what=f"the type is not declared, and taken for {field.type.value}{values}{more}",
                do=f'"outputs": {{"{field.name}": {{"type": "{field.type.value}"}}}}',
            )


def _odd_ones(cells: Sequence[JsonValue]) -> list[str]:
    texts = [cell for cell in cells if isinstance(cell, str) and cell.strip()]
    odd = [text for text in texts if infer_type([text]) is not ColumnType.NUMBER]
    numbers = len(texts) - len(odd)
    # Codes such as 02134 are text on purpose.
    codes = any(_NUMBERED.fullmatch(text) for text in odd)
    enough = numbers >= _FEWEST and numbers >= MOSTLY * len(texts)
    return sorted(set(odd)) if odd and enough and not codes else []


def _labels(subject: Subject, field: OutputField) -> tuple[str, ...]:
    return known_labels([*field.values, *_cells(subject, field)])


def _cells(subject: Subject, field: OutputField) -> list[JsonValue]:
    return [task.expected_as_written[field.name] for task in subject.tasks]


# Fields that are compared otherwise than by equal values: do they tell anything?

NOTHING_SAID: Final = ("x", "Unknown 7", "I cannot say.")
"""Answers that have nothing in common, and are right nowhere."""

_MOST: Final = 100
"""Different texts of a field that are held against one another."""


@error("takes-anything", "A pattern or a list of phrases takes answers that say nothing.")
def _takes_anything(subject: Subject) -> Iterator[Finding]:
    for field in subject.domain.fields:
        if field.compare not in KINDS:
            continue
        for position, task in enumerate(subject.tasks):
            expected = task.expected_as_written[field.name]
            if not any(compare(field, expected, said) for said in NOTHING_SAID):
                yield Finding(
                    place=Place(
                        file=subject.data_file, line=subject.line(position), column=field.name
                    ),
                    what=f"{field.compare.value!r} takes any answer there: {NOTHING_SAID[-1]!r}",
                    do="ask for something that a wrong answer does not say",
                )


@warning(
    "takes-another", "By `similar`, the text that one row expects is right for another row as well."
)
def _takes_another(subject: Subject) -> Iterator[Finding]:
    for field in subject.domain.fields:
        comparer = _similar(subject, field) if field.compare is Compare.SIMILAR else None
        if comparer is None:
            continue
        different: dict[str, tuple[int, Task]] = {}
        for position, task in enumerate(subject.tasks):
            different.setdefault(str(task.expected[field.name]), (position, task))
        for one, other in combinations([*different][:_MOST], 2):
            (first, task), (second, _) = different[one], different[other]
            if ask(comparer, _question(field, task, one, other), None).held:
                yield Finding(
                    place=Place(
                        file=subject.data_file, line=subject.line(second), column=field.name
                    ),
                    what=f"the text is right for row {subject.line(first)} as well, which expects "
                    "another",
                    do="raise 'at_least', or compare by what tells the two apart",
                )
                break


def _similar(subject: Subject, field: OutputField) -> Comparer | None:
    place = Whereabouts(
        domain=subject.domain.name, folder=subject.domain.folder, trusted=False, path=Path()
    )
    try:
        return similar(field, place)
    except ComparerError:
        # Without the library nobody can tell; the session that needs it says so.
        return None


def _question(field: OutputField, task: Task, expected: str, actual: str) -> Question:
    answer = Answer(values={field.name: actual}, form="mapping")
    return Question(
        field=field, place=0, expected=expected, actual=actual, task=task, answer=answer
    )
