"""Rules about the text of the procedure: does it say what rows and policy decide by?"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from decimal import Decimal
from typing import Final

from pytest_sopbench._audit.model import Finding, Place, note, warning
from pytest_sopbench._audit.policy_source import (
    PolicyNumber,
    every_number,
    flat_columns,
    policy_numbers,
    same_numbers,
)
from pytest_sopbench._audit.reading import SHOWN, Subject
from pytest_sopbench._audit.sop_text import SopText, cut_offs, numbers_in
from pytest_sopbench._core.model.task import FieldType
from pytest_sopbench._core.values.text import fold
from pytest_sopbench._loading.files import cut, listed, nearest
from pytest_sopbench._loading.load import POLICY_FILE, SOP_FILES

_QUOTED: Final = re.compile(r"`([^`\n]{2,40})`|\"([^\"\n]{2,40})\"")
_MANY: Final = 40


@warning(
    "unwritten-number", "Labels change when a column passes a number that the SOP does not state."
)
def _unwritten_numbers(subject: Subject) -> Iterator[Finding]:
    sop = _sop(subject)
    rows = [{**task.results, **task.inputs} for task in subject.tasks]
    columns = flat_columns(rows)
    for name, labels in subject.labels.items():
        for column, cells in columns.items():
            for below, above in cut_offs(cells, labels):
                if not any(below.last <= stated <= above.first for stated in sop.stated):
                    yield Finding(
                        place=Place(file=_sop_file(subject)),
                        what=f"{name!r} changes from {below.label!r} to {above.label!r} when"
                        f" {column!r} passes from {below.last} to {above.first}, and no such number"
                        " stands in the procedure",
                        do="write the cut-off down: an agent can only guess it",
                    )


@warning("label-not-in-sop", "Rows expect a label that the SOP never names.")
def _labels_not_in_sop(subject: Subject) -> Iterator[Finding]:
    text = fold(subject.domain.sop)
    for field in subject.compared:
        if field.type not in (FieldType.ENUM, FieldType.LIST):
            continue
        labels = _expected_words(subject, field.name)
        other = {fold(label): fold(alias) for alias, label in field.aliases.items()}
        lacking = [
            label
            for label in labels
            if fold(label) not in text and other.get(fold(label), "\0") not in text
        ]
        # If none stands there, the field holds texts and no labels.
        if lacking and len(labels) <= _MANY and (len(lacking) < len(labels) or len(labels) < SHOWN):
            yield Finding(
                place=Place(file=_sop_file(subject), column=field.name),
                what=f"rows expect {listed(map(repr, lacking))}, which the procedure never names",
                do="name every answer that there is, in the words that are expected",
            )


def _expected_words(subject: Subject, name: str) -> list[str]:
    found: dict[str, None] = {}
    for task in subject.tasks:
        value = task.expected[name]
        for word in value if isinstance(value, list) else [value]:
            if isinstance(word, str) and word.strip():
                found[word] = None
    return sorted(found)


@warning("label-without-row", "The SOP or the metadata name a label that no row expects.")
def _labels_without_rows(subject: Subject) -> Iterator[Finding]:
    for field in subject.compared:
        if field.type is not FieldType.ENUM:
            continue
        met = {subject.label(field.name, label) for label in subject.labels[field.name]}
        declared = [one for one in field.values if subject.label(field.name, one) not in met]
        for label in declared:
            yield Finding(
                place=Place(file=subject.metadata_file, column=f"outputs.{field.name}"),
                what=f"{label!r} is a value of the field, and no row expects it",
                do="add rows in which it is right, or take it off the values",
            )
        beside = " and ".join(map(repr, field.values[:2]))
        for label, line in _named_beside(subject, field.values):
            yield Finding(
                place=Place(file=_sop_file(subject), line=line),
                what=f"the procedure names {label!r} beside {beside}, and no row"
                f" expects it as {field.name!r}",
                do="add rows in which it is right, or correct the text",
            )


def _named_beside(subject: Subject, labels: Sequence[str]) -> Iterator[tuple[str, int]]:
    """What stands in a list of all labels, written as they are, and is none."""
    known = {fold(label) for label in labels}
    for number, line in enumerate(subject.domain.sop.splitlines(), 1):
        named = [one or other for one, other in _QUOTED.findall(line)]
        folded = {fold(one) for one in named}
        # Only if the procedure lists its answers, all but one of them at least.
        if len(known) < SHOWN - 2 or len(folded & known) < len(known) - 1:
            continue
        others = [fold(one) for one in _other_names(subject)]
        for one in named:
            if fold(one) not in known and fold(one) not in others and _is_like(one, labels):
                yield one, number


def _other_names(subject: Subject) -> Iterator[str]:
    yield from (field.name for field in subject.domain.fields)
    yield from subject.domain.input_columns
    for field in subject.domain.fields:
        yield from field.values
        yield from field.aliases


def _is_like(name: str, labels: Sequence[str]) -> bool:
    return any(
        name.isupper() == label.isupper()
        and name.islower() == label.islower()
        and (" " in name) == (" " in label)
        and ("_" in name) <= any("_" in one for one in labels)
        for label in labels
    )


@warning(
    "policy-number", "The policy decides by a number that its clause, or the SOP, does not state."
)
def _policy_numbers(subject: Subject) -> Iterator[Finding]:
    sop = _sop(subject)
    every = policy_numbers(subject.text(POLICY_FILE))
    claimed = {one.value for one in every}
    on_line = Counter(one.line for one in every)
    for one in every:
        cited = [number for number in one.clauses if sop.text_of(number)]
        stated = [set(numbers_in(sop.text_of(number))) for number in cited]
        if not cited:
            where, found = "no clause states it", one.is_in(sop.numbers, claimed)
        elif on_line[one.line] == 1:
            # A number alone beside several clauses stands in each of them.
            found = all(one.is_in(each, claimed) for each in stated)
            where = f"it does not stand in clause {' and in clause '.join(cited)}"
        else:
            found = one.is_in(set[Decimal]().union(*stated), claimed)
            where = f"it stands in none of the clauses {', '.join(cited)}"
        if not found:
            yield _unstated(one, where)


def _unstated(one: PolicyNumber, where: str) -> Finding:
    return Finding(
        place=Place(file=POLICY_FILE, line=one.line),
        what=f"the policy decides by {one.value}, and {where}",
        do="one of the two is wrong: correct the text, the policy, or the number of the clause",
    )


@warning("sop-number", "The SOP compares with a number that the policy does not have.")
def _sop_thresholds(subject: Subject) -> Iterator[Finding]:
    source = subject.text(POLICY_FILE)
    if not source:
        return
    known = set(every_number(source))
    for one in policy_numbers(source):
        known |= {one.value, *one.near}
    every = {other for value in known for other in same_numbers(value)}
    sop = _sop(subject)
    stated = (*sop.thresholds, *sop.cells)
    unknown = [one for one in stated if one.value not in every]
    # A policy that has few of them keeps its numbers elsewhere, or decides by something else.
    for threshold in unknown if 2 * len(unknown) <= len(stated) else ():
        yield Finding(
            place=Place(file=_sop_file(subject), line=threshold.line),
            what=f"the procedure says {cut(threshold.words)!r}, and the policy has no such number",
            do="one of the two is wrong, or the policy leaves this out",
        )


@warning("broken-range", "The ranges of a table in the SOP overlap, or leave a gap.")
def _broken_ranges(subject: Subject) -> Iterator[Finding]:
    for line, what in _sop(subject).broken_ranges:
        yield Finding(
            place=Place(file=_sop_file(subject), line=line),
            what=what,
            do="let each range of the table begin where the one before it ends",
        )


@note(
    "unexercised-number",
    "The SOP compares with a number that no column has values on both sides of.",
)
def _unexercised(subject: Subject) -> Iterator[Finding]:
    """A threshold that lies outside of all that any column of numbers holds."""
    rows = [{**task.results, **task.inputs} for task in subject.tasks]
    bounds = [_bounds(cells) for cells in flat_columns(rows).values()]
    for threshold in _sop(subject).thresholds if len(rows) > 1 else ():
        scaled = list(same_numbers(threshold.value))
        # Days and ages are counted from dates, which no column holds as numbers.
        if not any(low <= one <= high for low, high in filter(None, bounds) for one in scaled):
            yield Finding(
                place=Place(file=_sop_file(subject), line=threshold.line),
                what=f"{threshold.words!r}: no column of numbers has values on both sides",
                do="add rows on both sides of it, if it is no count or sum",
            )


def _bounds(cells: Sequence[object]) -> tuple[Decimal, Decimal] | None:
    numbers = [
        abs(Decimal(str(cell)))
        for cell in cells
        if isinstance(cell, int | float) and not isinstance(cell, bool)
    ]
    return (min(numbers), max(numbers)) if numbers else None


@warning("unknown-clause", "A rule of the contract cites a clause that the SOP does not have.")
def _clauses(subject: Subject) -> Iterator[Finding]:
    sop = _sop(subject)
    contract = subject.domain.contract
    numbering = sop.numbering
    for rule in contract.rules if contract is not None and numbering else ():
        for number in re.findall(r"[0-9]+(?:\.[0-9]+)*", rule.clause):
            if number not in numbering:
                near = nearest(number, numbering)
                yield Finding(
                    place=Place(file=subject.metadata_file, column=f"contract.{rule.id}"),
                    what=f"the rule {rule.id!r} cites clause {number}, which the procedure lacks",
                    do=f"is clause {near} meant?" if near else "cite the clause that asks for it",
                )


def _sop(subject: Subject) -> SopText:
    return SopText(subject.domain.sop)


def _sop_file(subject: Subject) -> str:
    return next((name for name in SOP_FILES if name in subject.folder.files), SOP_FILES[0])
