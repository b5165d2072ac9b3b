"""What gives an answer away: columns that are about it, tools that decide, answers easily guessed.

What a column is about, the answer or persons, is told by its name and its cells. Who imports a
table asks this as well.
"""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Callable, Collection, Hashable, Iterator, Mapping, Sequence
from itertools import pairwise
from typing import Final

from pytest_sopbench._audit.model import Finding, Place, error, note, warning
from pytest_sopbench._audit.policy_source import (
    frozen,
    right_by_category,
    right_by_one_question,
)
from pytest_sopbench._audit.reading import Subject
from pytest_sopbench._core.model.task import ToolSpec
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.text import equal_as_written, fold
from pytest_sopbench._loading.tools import parameter_names

_BETWEEN: Final = re.compile(r"(?<=[a-z0-9])(?=[A-Z])|[^A-Za-z0-9]+")
_BOTH: Final = re.compile(r"(?<=[a-z\u00e4\u00f6\u00fc])[/*:_]-?in(?:nen)?(?![A-Za-z])")
_ANSWER: Final = re.compile(
    r"(decision|outcome|verdict|resolution|approv(ed|al)|adjudication|disposition"
    r"|(end|vor)?entscheid(ung)?|genehmigt|genehmigung|bewilligt|bewilligung|freigabe|freigegeben"
    r"|bescheid|decide|accorde|approuve|reject(ed|ion)|denied|denial|granted|payout|abgelehnt"
    r"|ablehnung\w*|ablehnungsgrund|auszahlung\w*|ausgezahlt)"
)
_BEFORE: Final = re.compile(
    r"(prior|previous(ly)?|last|past|former|earlier|old|vorige[rs]?|letzte[rs]?|fruehere[rs]?"
    r"|pre|precedente?)"
)
"""First words of what was decided on another case."""

_ABOUT_THE_ANSWER: Final = re.compile(r"(required|needed|limit|level|threshold|date|time)")
"""Last words of what is known before an approval is given."""

_OF_THINGS: Final = re.compile(
    r"(product|produkt|item|article|artikel|file|datei|plan|service|tool|project|projekt|campaign"
    r"|department|abteilung|team|country|city|brand|model|category|drug|medication|medicine|school"
    r"|company|firma|firmen|vendor|supplier|merchant|hotel|course|device|machine|policy|tariff"
    r"|tarif|bank|event|store|shop|warehouse|program|programme|street|field|column|domain|app"
    r"|substance|chemical|shipping|carrier|position|job)"
)
_NAME: Final = re.compile(
    r"(sur|fore|first|last|full|\w*(?<!produkt)(?<!artikel))names?|prenom|nom"
)
_REACHED: Final = re.compile(
    r"e?mails?|e_mail|phones?|telephone|telefon\w*|tel|mobile|handy\w*|mobil(e|nummer)?|fax|iban"
    r"|ssn|ahv|passport|birth|birthday|dob|geburtsdatum|geburtstag|address|adresse|anschrift"
    r"|street|strasse|rue"
)
_CLERK: Final = re.compile(
    r"(sach)?bearbeiter(in)?|zustaendige?r?|clerk|adjuster|assignee|caseworker|handler|gestionnaire|approver"
    r"|reviewer|kuerzel|initials"
)
_PERSON: Final = re.compile(
    r"(customer|client|kunde|kundin|patient(in)?|applicant|claimant|employee|contact|owner|manager"
    r"|agent|user|member|tenant|mieter(in)?|versicherungsnehmer(in)?|versicherter?|policyholder"
    r"|insured|antragsteller(in)?|mitarbeiter(in)?|ansprechpartner(in)?|assure|salarie|guest"
    r"|passenger|student|candidate|bewerber(in)?|buyer|kaeufer(in)?|requester|person)"
)

_MAIL: Final = re.compile(r"[^\s@,;]+@[^\s@,;]+\.[A-Za-z]{2,}")
_PHONE: Final = re.compile(
    r"\+[0-9][0-9 ()/.-]{6,}|\(?0[0-9]{1,5}\)?(?: ?/ ?| )[0-9][0-9 -]{4,}"
    r"|\(?[0-9]{3}\)?[ -][0-9]{3}-[0-9]{4}"
)
_IBAN: Final = re.compile(r"[A-Z]{2}[0-9]{2}(?: ?[A-Z0-9]{4}){3,7}(?: ?[A-Z0-9]{1,3})?")
_CALLED: Final = re.compile(
    r"(?:(?:Dr|Prof|Mr|Mrs|Ms|Herr|Frau|M|Mme)\.? )?[^\W\d_a-z][\w'\u2019.-]*,?"
    r"(?: (?:van |von |de |di )?[^\W\d_a-z][\w'\u2019.-]*){1,3}"
)
_TWO_NAMES: Final = re.compile(
    r"[^\W\d_a-z][^\W\d_A-Z'\u2019-]+,? (?:(?:van|von|de|di) |[^\W\d_a-z]\. )?"
    r"[^\W\d_a-z][^\W\d_]*(?:-[^\W\d_]+)?"
)
_SAID: Final = frozenset({"yes", "no", "true", "false", "ja", "nein", "oui", "non", "x", "y", "n"})

_NUMBERS: Final = re.compile("[0-9]+")
_HALF: Final = 0.5
_DIFFERENT: Final = 2
_LONGEST: Final = 200
_REPEATED: Final = 3
_MOSTLY: Final = 0.9
_FEWEST: Final = 10


def words_of(name: str) -> list[str]:
    """Return the words of the name of a column in small plain letters."""
    # `Bearbeiter/in`, `Kund*in` and `Mitarbeiter:in` are one word each.
    name = _BOTH.sub("in", name)
    plain = name.translate({ord("\u00e4"): "ae", ord("\u00f6"): "oe", ord("\u00fc"): "ue"})
    plain = unicodedata.normalize("NFKD", plain.replace("\u00df", "ss"))
    plain = plain.encode("ascii", "ignore").decode()
    return [word.lower() for word in _BETWEEN.split(plain) if word]


def is_called_as_an_answer(name: str) -> bool:
    """Whether a column is called as what is decided, and not as what was decided before."""
    words = words_of(name)
    if not words or _BEFORE.fullmatch(words[0]) or _ABOUT_THE_ANSWER.fullmatch(words[-1]):
        return False
    return any(_ANSWER.fullmatch(word) for word in words)


def about_persons(name: str, texts: Sequence[str]) -> str:
    """Say what of persons a column holds, in a word; empty if it seems to hold nothing."""
    full = [text for text in texts if text][:_LONGEST]
    if any(_MAIL.search(text) for text in full):
        return "mail addresses"
    for word, form in _FORMS.items():
        if full and sum(1 for one in full if form.fullmatch(one)) > _HALF * len(full):
            return word
    words = words_of(name)
    return next((told for told, is_so in _CALLED_SO if is_so(words, full)), "")


def _is_of_names(words: Sequence[str], _texts: Sequence[str]) -> bool:
    named = [at for at, word in enumerate(words) if _NAME.fullmatch(word)]
    things = [at for at in named if at and _OF_THINGS.fullmatch(words[at - 1])]
    return len(named) > len(things)


def _is_of_reach(words: Sequence[str], texts: Sequence[str]) -> bool:
    pairs = {f"{one}_{other}" for one, other in pairwise(words)}
    if pairs & {"account_number", "e_mail"}:
        return True
    # `Email verified` is a fact about an address, and no address.
    told = {text.casefold() for text in texts} <= _SAID if texts else False
    return not told and any(_REACHED.fullmatch(word) for word in words)


def _is_of_clerks(words: Sequence[str], texts: Sequence[str]) -> bool:
    if any(text.casefold() in _SAID for text in texts):
        return False
    by = len(words) > 1 and words[-1] in ("by", "von", "durch", "par")
    return bool(words) and (by or _CLERK.fullmatch(words[-1]) is not None)


def _is_of_named_persons(words: Sequence[str], texts: Sequence[str]) -> bool:
    if not words or not _PERSON.fullmatch(words[-1]):
        return False
    called = [text for text in texts if _CALLED.fullmatch(text)]
    few = min(_DIFFERENT, len(texts))
    return len(called) > _HALF * len(texts) and len(set(called)) >= few


def _looks_like_names(words: Sequence[str], texts: Sequence[str]) -> bool:
    """Whether nearly every cell is a first and a last name, and they hardly come again."""
    if len(texts) < _FEWEST or len(set(texts)) <= _HALF * len(texts):
        return False
    if any(_OF_THINGS.fullmatch(word) for word in words):
        return False
    return sum(1 for one in texts if _TWO_NAMES.fullmatch(one)) >= _MOSTLY * len(texts)


_FORMS: Final[Mapping[str, re.Pattern[str]]] = {"phone numbers": _PHONE, "accounts": _IBAN}
_CALLED_SO: Final[Sequence[tuple[str, Callable[[Sequence[str], Sequence[str]], bool]]]] = (
    ("names", _is_of_names),
    ("contact details", _is_of_reach),
    ("names", _is_of_clerks),
    ("names", _is_of_named_persons),
    ("names", _looks_like_names),
)


def is_one_to_one(cells: Sequence[Hashable], labels: Sequence[str]) -> bool:
    """Whether each value has one label and each label one value, and values come again."""
    pairs = set(zip(cells, labels, strict=True))
    distinct = len({label for _, label in pairs})
    again = distinct * _REPEATED <= len(labels)
    return again and len(pairs) == distinct == len({cell for cell, _ in pairs})


def follows(cells: Sequence[Hashable], labels: Sequence[str]) -> bool:
    """Whether a column says mostly the same as the labels, perhaps in fewer or in more words."""
    return _share(cells, labels) >= _MOSTLY or _share(labels, cells) >= _MOSTLY


def _share(one: Sequence[Hashable], other: Sequence[Hashable]) -> float:
    """Return on which share of the rows the first tells the second; none if that is usual."""
    usual = max(Counter(other).values(), default=0)
    groups: dict[Hashable, Counter[Hashable]] = {}
    for key, value in zip(one, other, strict=True):
        groups.setdefault(key, Counter())[value] += 1
    again = len(groups) * _REPEATED <= len(one)
    right = sum(max(group.values()) for group in groups.values())
    return right / len(one) if again and right > usual else 0.0


# Rules about answers that an agent is handed, or that one column gives away.

GIVEN_AWAY: Final = 0.9
"""Share of rows from which on one column gives an answer away."""

_FEWEST_ROWS: Final = 20
_GAIN: Final = 0.1

Columns = Mapping[str, Sequence[JsonValue]]


@error("answer-in-input", "An input is equal to an output, tells it one to one, or repeats it.")
def _inputs_with_answers(subject: Subject) -> Iterator[Finding]:
    for column, name, how in _leaks(subject, subject.inputs):
        yield Finding(
            place=Place(file=subject.data_file, column=column),
            what=f"this input {how} {name!r}",
            do="the agent is given the answer: take the column off 'input_columns'",
        )


@error(
    "answer-from-tool",
    "What a tool serves is equal to an output, tells it one to one, repeats or names it.",
)
def _tools_with_answers(subject: Subject) -> Iterator[Finding]:
    told = list(_leaks(subject, subject.served))
    told += _named(subject, {(column, name) for column, name, _ in told})
    for column, name, how in told:
        tool = _tool_of(subject, column)
        yield Finding(
            place=Place(file=subject.metadata_file, column=column, tool=tool),
            what=f"what this tool serves {how} {name!r}",
            do="the tool decides, and the procedure tests nothing: serve what it is decided by",
        )


@warning(
    "result-in-input",
    "An input is what a tool answers, though who calls the tool does not give it.",
)
def _results_among_inputs(subject: Subject) -> Iterator[Finding]:
    """What a tool is there to tell, and the agent is given from the start."""
    for column in subject.domain.input_columns:
        tools = [one.name for one in subject.domain.tool_specs if _tells(subject, one, column)]
        if tools and column != subject.id_column:
            yield Finding(
                place=Place(file=subject.metadata_file, column=column, tool=tools[0]),
                what="this input is what the tool answers, so that nobody needs to call it",
                do="take it off 'input_columns', or off what the tool returns",
            )


def _tells(subject: Subject, spec: ToolSpec, column: str) -> bool:
    """Whether a tool answers with this input, and is not given it by who calls it."""
    lookup, sight = subject.domain.lookups.get(spec.name), subject.observed.tools.get(spec.name)
    if column in parameter_names(spec):
        return False
    if lookup is not None:
        return column in lookup.returns and not lookup.table
    told = [
        equal_as_written(one.result[column], subject.tasks[one.position].inputs[column])
        or one.result[column] == subject.cell(column, one.position)
        for one in (sight.answers if sight is not None else ())
        if isinstance(one.result, dict) and one.result.get(column) is not None
    ]
    return len(told) >= _FEWEST_ROWS and sum(told) >= GIVEN_AWAY * len(told)


def _tool_of(subject: Subject, column: str) -> str:
    name = column.split(".", maxsplit=1)[0]
    tools = subject.domain.lookups.values()
    return next((tool.name for tool in tools if name in tool.returns), "")


def _leaks(subject: Subject, columns: Columns) -> Iterator[tuple[str, str, str]]:
    if len(subject.tasks) < _FEWEST_ROWS:
        return
    for name, labels in subject.labels.items():
        if len(set(labels)) < 2:  # noqa: PLR2004 - one label is told by nothing
            continue
        for column, cells in columns.items():
            if all(cell is not None for cell in cells) and _is_equal(subject, name, cells, labels):
                yield column, name, "is equal to the output"
                continue
            if _tells_one_to_one(cells, labels):
                yield column, name, "tells one to one the output"
            elif is_called_as_an_answer(column) and follows([*map(frozen, cells)], labels):
                yield column, name, "is called as an answer, and follows the output"


def _tells_one_to_one(cells: Sequence[JsonValue], labels: Sequence[str]) -> bool:
    """Whether cells do, as they are or without digits: `RF9-101` and `RF9-102` say the same."""
    codes = [_NUMBERS.sub("", cell) if isinstance(cell, str) else frozen(cell) for cell in cells]
    return is_one_to_one([*map(frozen, cells)], labels) or is_one_to_one(codes, labels)


def _named(subject: Subject, told: Collection[tuple[str, str]]) -> Iterator[tuple[str, str, str]]:
    """What tools serve that names the label, but for columns that tell it in another way."""
    rows = len(subject.tasks)
    for name, labels in subject.labels.items() if rows >= _FEWEST_ROWS else ():
        usual = max(Counter(labels).values(), default=0)
        for column, cells in subject.served.items():
            right = 0 if (column, name) in told else _right_by_name(cells, labels)
            if right >= _MOSTLY * rows and right > usual:
                yield column, name, f"names, in {right} of {rows} rows, the label of the output"


def _right_by_name(cells: Sequence[JsonValue], labels: Sequence[str]) -> int:
    """Rows whose cell is a text with their label as a word, and with no other label."""
    known = {fold(label): label for label in labels if label}
    if not known or len(known) * _REPEATED > len(labels):
        return 0
    # The longest first: who reads `not valid` has not read `valid`.
    words = "|".join(map(re.escape, sorted(known, key=len, reverse=True)))
    word = re.compile(rf"(?<!\w)(?:{words})(?!\w)")
    named = [set[str](word.findall(fold(cell)) if isinstance(cell, str) else ()) for cell in cells]
    return sum(
        [label] == [known[one] for one in found] for found, label in zip(named, labels, strict=True)
    )


def _is_equal(
    subject: Subject, name: str, cells: Sequence[JsonValue], labels: Sequence[str]
) -> bool:
    pairs = zip(cells, labels, strict=True)
    return all(subject.label(name, cell) == label for cell, label in pairs)


@note("personal-data", "Agents are given names, mail addresses or phone numbers of persons.")
def _persons(subject: Subject) -> Iterator[Finding]:
    found: dict[str, str] = {}
    for leaf, cells in {**subject.inputs, **subject.served}.items():
        texts = [cell for cell in cells if isinstance(cell, str)]
        column = leaf.split(".", maxsplit=1)[0]
        held = about_persons(column, texts) if texts else ""
        if held and column not in subject.domain.private_columns:
            found.setdefault(column, held)
    for column, held in found.items():
        yield Finding(
            place=Place(file=subject.data_file, column=column),
            what=f"this column seems to hold {held} of persons, and agents are given it",
            do="name it in 'private_columns', or take it away, unless the persons are made up",
        )


@warning(
    "one-column-tells",
    "One question about one column gives an output on more than 90 % of the rows.",
)
def _one_column_tells(subject: Subject) -> Iterator[Finding]:
    rows = len(subject.tasks)
    columns = {**subject.inputs, **subject.served} if rows >= _FEWEST_ROWS else {}
    for name, labels in subject.labels.items():
        usual = max(Counter(labels).values(), default=0)
        told = Counter(
            {
                column: right
                for column, cells in columns.items()
                if (right := _right(cells, labels)) > GIVEN_AWAY * rows
                and right - usual > _GAIN * rows
            }
        )
        for column, right in told.most_common(1):
            others = f" (others that do: {len(told) - 1})" if len(told) > 1 else ""
            yield Finding(
                place=Place(file=subject.data_file, column=column),
                what=f"one question about it gives {name!r} on {right} of {rows} rows{others}",
                do="few rows test the rest of the procedure; add rows in which it decides",
            )


def _right(cells: Sequence[JsonValue], labels: Sequence[str]) -> int:
    if _tells_one_to_one(cells, labels):
        return 0
    # If texts are cut in two by their letters, nobody asks a question.
    if any(isinstance(cell, str) for cell in cells):
        return max(right_by_category(cells, labels), _right_by_name(cells, labels))
    return right_by_one_question(cells, labels)
