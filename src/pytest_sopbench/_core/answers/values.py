"""Values of output fields in texts, the forms in which they stand, and what leads in none."""

from __future__ import annotations

import html
import re
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from enum import Enum
from functools import lru_cache
from typing import Final

from pytest_sopbench._core.fields.values import read_boolean, value_key
from pytest_sopbench._core.model.task import Compare, FieldType, OutputField
from pytest_sopbench._core.model.trace import AnswerForm
from pytest_sopbench._core.values.json import JsonValue, short_repr
from pytest_sopbench._core.values.text import fold, is_empty, read_list, read_number

from .numbers import plain_number
from .text import BLANK, HOLDERS, Element

FORMS: Final[Mapping[str, str]] = {
    AnswerForm.MAPPING: "as the mapping that was returned",
    AnswerForm.FINAL_OUTPUT: "in <final_output>",
    AnswerForm.FIELD_TAGS: "in one tag per output field",
    AnswerForm.FINAL_DECISION: "in <final_decision> or <answer>",
    AnswerForm.JSON: "in a JSON object",
    AnswerForm.PYTHON: "in a Python dict",
    AnswerForm.FIELD_LINES: "in lines such as 'field: value'",
    AnswerForm.BOXED: "in \\boxed{}",
    AnswerForm.WHOLE_TEXT: "as the whole text",
    AnswerForm.DOCUMENT: "as one JSON document",
    AnswerForm.PUBLISHED: "as the published scorer finds it",
}
"""Where an answer was found, in the report of a run."""

LONGEST_LABEL: Final = 1_000

GENERIC: Final = frozenset({"answer", "final answer", "decision", "final decision"})
"""Names under which the value of the one output field may stand in a line."""

# Read words as a value of an output field.


class Reading(Enum):
    """How words read as a value: not at all, as any words would, or as just this value."""

    NONE = 0
    ANY_WORDS = 1
    EXACT = 2


def plain_value(field: OutputField, words: str) -> tuple[str, Reading]:
    """Read words as a value: a known label, or what the field's type asks for.

    A full stop and ticks beside it are left out. If the field takes any words, any are a value.
    """
    bare = bare_value(words)
    if field.type is FieldType.LIST and fold(bare) not in labels_of(field):
        return _plain_list(bare)
    is_short = len(bare) <= LONGEST_LABEL
    for one in (bare, without_end(bare)) if is_short else ():
        value = plain_number(field, one)
        if value and _reads(field, value):
            return value, Reading.EXACT
    if (is_short and is_placeholder(field, bare)) or _UNSURE.search(bare[:LONGEST_LABEL]):
        return bare, Reading.NONE
    if field.compare is Compare.EXACT and _LEFT_OPEN.search(bare[:LONGEST_LABEL]):
        return bare, Reading.NONE
    takes_any = field.compare is not Compare.EXACT or (
        field.type in (FieldType.TEXT, FieldType.LIST)
        or (field.type is FieldType.ENUM and not field.values)
    )
    return bare, Reading.ANY_WORDS if bare and takes_any else Reading.NONE


def _plain_list(bare: str) -> tuple[str, Reading]:
    """Read a list: JSON, `[A, B]`, or items with commas; one cut off or with remarks is none."""
    value = without_end(bare)
    if value and (is_empty(value) or read_list(value) is not None):
        return value, Reading.EXACT if any(
            map(str.isalnum, value)
        ) or "[" in value else Reading.NONE
    if value.startswith("["):
        items = value[1:-1]
        is_whole = value.endswith("]") and not re.search(r"[\[\]\"'<>]| of |\.\.", items)
        return items, Reading.ANY_WORDS if is_whole and items.strip() else Reading.NONE
    # If an item was struck out, nothing is left of it.
    items = _ITEM.sub(", ", bare) if _ITEM.match(bare) else bare
    items = ", ".join(item.strip() for item in items.split(",") if item.strip())
    is_told = items and not _ASIDE.search(items) and not _OPEN_LIST.search(items)
    return items, Reading.ANY_WORDS if is_told else Reading.NONE


def is_placeholder(field: OutputField | None, value: JsonValue) -> bool:
    """Whether a value is still to be filled in: `...`, `<name>`, `[one line]`, `pay|deny`."""
    labels = labels_of(field) if field else frozenset[str]()
    if isinstance(value, list) and value:
        return all(isinstance(it, str) and _DOTS.fullmatch(it.strip()) for it in value)
    if not isinstance(value, str) or fold(value) in labels:
        return False
    choices = value[:LONGEST_LABEL].split("|")
    if len(choices) > 1 and labels.issuperset(map(fold, map(str.strip, choices))):
        return True
    may_list = field is not None and field.type is FieldType.LIST
    return (_DOTS if may_list else _PLACEHOLDER).fullmatch(value.strip()) is not None


def settled(field: OutputField, value: JsonValue) -> JsonValue:
    """Return a value without the full stop after it, if only so it is one of the field's.

    A number is written plainly, if what stands in it or beside it can mean nothing else.
    """
    if not isinstance(value, str) or len(value) > LONGEST_LABEL or fold(value) in labels_of(field):
        return value
    bare = bare_value(value)
    if without_end(value) == bare and plain_number(field, bare) == bare:
        return value
    read, reading = plain_value(field, value)
    return read if reading is Reading.EXACT else value


def labels_of(field: OutputField) -> frozenset[str]:
    """Return the folded labels of a field, and their aliases."""
    return _folded((*field.values, *field.aliases))


@lru_cache(maxsize=256)
def _folded(labels: tuple[str, ...]) -> frozenset[str]:
    return frozenset(map(fold, labels))


def is_labelled(field: OutputField) -> bool:
    return bool(labels_of(field)) or field.type is FieldType.BOOLEAN


def _reads(field: OutputField, value: str) -> bool:
    if fold(value) in labels_of(field):
        return True
    if is_empty(value):
        # A stroke where a value belongs is no word for nothing.
        return any(map(str.isalnum, value))
    if field.type is FieldType.DATE:
        return value_key(field, value)[0] == "date"
    read = _VALUE_READERS.get(field.type)
    if read is None:
        return False
    # How its numbers may be written a field may say itself.
    return read(value) is not None or (field.spelled and value_key(field, value)[0] == "number")


_VALUE_READERS: Final[Mapping[FieldType, Callable[[str], object]]] = {
    FieldType.BOOLEAN: read_boolean,
    FieldType.INTEGER: read_number,
    FieldType.NUMBER: read_number,
    FieldType.LIST: read_list,
}


_DOTS: Final = re.compile(r"\?{2,}|\.{3}|\u2026|<[^<>]*>")
_PLACEHOLDER: Final = re.compile(
    r"\?{2,}|\.{3}|\u2026|<[^<>]*>|\[[^\[\]]*\]|\{\{.*\}\}|_{2,}|tbd|to be (?:determined|decided)",
    re.IGNORECASE,
)
_UNSURE: Final = re.compile(
    r"\bnot (?:quite |entirely )?sure\b|\bunsure\b|\beither\b.*\bor\b", re.IGNORECASE
)
_LEFT_OPEN: Final = re.compile(
    r"^(?:could|might|may|will|would|to) be\b|\bdepend(?:s|ing) on\b|"
    r"\b(?:can(?:no|['\u2019])t|could(?: not|n['\u2019]t)) (?:tell|say|decide|determine)\b",
    re.IGNORECASE,
)
_ASIDE: Final = re.compile(r"\([^()\s]*\s")
_OPEN_LIST: Final = re.compile(
    r"\b(?:not sure|unsure|or|maybe|perhaps|possibly|etc|and so on|and (?:more|others)$)\b|"
    r"\?$|\.{2}|\u2026|<[^<>]*>|\[|(?:^none|\w{5})[.!?]\s+\w",
    re.IGNORECASE,
)
_ITEM: Final = re.compile(r"(?:^|\n)[ \t]*[-*][ \t]+")


@dataclass(frozen=True, slots=True, kw_only=True)
class Candidate:
    """What could be the answer, perhaps not for every field, and where it stands in the text.

    `unread` are the words that are no value where one belongs. `inside` is the element that is
    still to be read. `over` is where the lines end that the answer stands among, and
    `sentences` are those that the lines below it give to other names.
    """

    form: str
    start: int
    end: int
    values: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    beside: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    unread: str = ""
    inside: Element | None = None
    over: int = -1
    sentences: str = ""


# What an object says of the run that it comes from.


def failure_in(said: Mapping[str, JsonValue]) -> str:
    """Return what says that a run failed: an `error` that says anything, or `success` as false."""
    has_failed = False
    # Two spellings of a name are two words on it, and one of them is enough.
    for name, value in said.items():
        word = fold(name)
        if word == "error" and not _says_nothing(value):
            return value if isinstance(value, str) else short_repr(value)
        has_failed |= word == "success" and read_boolean(value) is False
    return "success is False" if has_failed else ""


def _says_nothing(words: JsonValue) -> bool:
    """Whether what is said of an error is that there is none: `none`, `false`, `{"code": 0}`."""
    if isinstance(words, str):
        return is_empty(words) or read_boolean(words) is False
    if isinstance(words, Mapping):
        return all(map(_says_nothing, words.values()))
    if isinstance(words, Sequence):
        return all(map(_says_nothing, words))
    return not words


# What leads in something that is no answer.
_NO_ANSWER: Final = re.compile(
    r"\b(?:examples?|e\.g\.|for instance|samples?|templates?|placeholders?|skeleton|drafts?|"
    r"previous(?:ly)?|prior|earlier|initial(?:ly)?|rejected|hypothetical(?:ly)?|observations?|"
    r"alternatives?|options?|scenarios?|would|if|unless|wrong|incorrect|not|never|old|before|could|"
    r"might|quote[sd]?|wrote|says|said|notes?|suppose|instead of|similar|assuming|should the|"
    r"preliminary|tentative(?:ly)?|(?:another|other|second|first) (?:reviewer|reader)|"
    r"currently (?:shows|says|reads)|guess\w*|interim|provisional\w*|in progress|illustrat\w*|"
    r"dummy|mock|imagin\w*|assume|invented|made up|may|can still|opinion|mistakes?|still|"
    r"looks? like(?:$| (?:this|that|so$|the following))|pre-?fill\w*|"
    r"which I (?:repeat|copy)|(?:should|must|has to) look|"
    r"tells?|told|asks? me|wants|claims|ticket stands|another case|was$|say$|then$|"
    r"per (?!the sop|sop|section|step|rule|policy)|"
    r"according to (?:the |my |a )?(?:customer|user|client|caller|night|day|old|other|colleague)|"
    r"(?:recorded|filed|entered|decided) by)\b|"
    # What somebody else has found is no answer of who speaks.
    r"\b(?:colleagues?|co-?workers?|predecessors?|supervisors?|managers?|reviewers?|officers?|"
    r"analysts?|clerks?|moderators?|agent \w|shift)\b.{0,99}\b(?:take|answered|decided|chose|"
    r"proposed|suggested|recommended|entered|filed|recorded|submitted|thought|concluded)\W*$",
    re.IGNORECASE,
)
_TOOLS: Final = re.compile(
    r"\b(?:tools?|inputs?|log|logs|records?|database|system|users?|customers?|request|lookup|"
    r"api|query|already (?:filed|closed|decided|settled|answered|submitted)|"
    r"last (?:week|month|year|time)|noted|reported|returned|answered|replied|responded|ended|"
    r"colleagues?|appendix)\b",
    re.IGNORECASE,
)
_STILL_ANSWER: Final = re.compile(
    r"\b(?:final|corrected|revised|updated|based on|after|therefore|thus|hence|given|using|"
    r"according to|decision|answer|my|here is|here's|as requested|requested|required)\b",
    re.IGNORECASE,
)
_FORMAT: Final = re.compile(
    r"\b(?:formats?|schema|syntax|structure|(?:following|this) form|possible answers?|"
    r"hypothes[ei]s|ha(?:s|ve) to (?:answer|reply|respond) with)\b",
    re.IGNORECASE,
)
_IN_FORMAT: Final = re.compile(
    r"(?:\b(?:in|per|using|matching)\b|^following\b).{0,60}\b(?:formats?|schema|syntax|structure|form)\b",
    re.IGNORECASE,
)
_EXAMPLE: Final = re.compile(
    r"\be\.g\.|\b(?:for (?:example|instance)|examples?|such as|as in|looks? like|typical(?:ly)?|"
    r"hypothetical(?:ly)?|remember(?:ed)?|of the form|format is|placeholders?|(?:should|shall) I|"
    r"if\b[^.!?\n]{0,200}\bwould|last (?:week|month|year|time)|"
    r"(?:similar|another|other|previous|earlier|last) (?:one|cases?|tickets?|requests?|orders?))\b",
    re.IGNORECASE,
)
_PROMISE: Final = re.compile(
    r"\b(?:once|when|as soon as|after you)\b.{0,200}(?:\bwill|['\u2019]ll)\b|"
    r"\bwill (?:have|look)\b",
    re.IGNORECASE,
)
_TOOL_NAME: Final = re.compile(r"\b[a-z]+(?:_[a-z]+)+\b")
_OF_ANSWERS: Final = frozenset(
    (
        *" ".join(HOLDERS).split(),
        "outputs",
        "results",
        "outcome",
        "verdict",
        "json",
        "task",
        "agent",
    )
)
"""Words of a name that is no tool's: `final_answer`, `json_output`."""

_TO_TOOL: Final = re.compile(r">>>|\W*(?:tool|function)[_ ]?calls?\b", re.IGNORECASE)
_RETURNED: Final = re.compile(r"\b(?:returned|returns|got|gave|said)$", re.IGNORECASE)
_TITLE: Final = re.compile(
    r"(?:(?:draft|example|template)(?: (?:answer|version|response|output|only))?|"
    r"sample (?:answer|response|output))(?:\W*|\s*[-\u2013\u2014(,][^.!?]{0,80})",
    re.IGNORECASE,
)
_CALL: Final = re.compile(r"(?:calling|invoking|querying)\b.{0,200}(?:\.{3}|\u2026)", re.IGNORECASE)
_CLAUSE: Final = re.compile(r"(?<=[.!?])(?<!\be\.g\.)(?<!\bi\.e\.)\s")


def is_example(line: str) -> bool:
    """Whether what a sentence goes on with is an example, a format or another case."""
    return _EXAMPLE.search(_CLAUSE.split(line)[-1]) is not None


def is_title(line: str) -> bool:
    """Whether a line is no sentence and begins by saying that what is below it is a draft."""
    return _TITLE.fullmatch(line.strip("*_#([ \t")) is not None


def is_of_tool(line: str) -> bool:
    """Whether a line without the names of fields names a tool, of which it tells the result."""
    if _TO_TOOL.match(line):
        return True
    is_result = line.rstrip().endswith((":", "->", "\u2192")) or _RETURNED.search(line)
    if not is_result or _STILL_ANSWER.search(line):
        return False
    return any(not _OF_ANSWERS.issuperset(one.split("_")) for one in _TOOL_NAME.findall(line))


def is_call(line: str) -> bool:
    """Whether a line says that a tool is called: what stands below it is what the tool said."""
    return _CALL.fullmatch(line.strip("*_# \t")) is not None


def leads_in_no_answer(line: str) -> bool:
    """Whether a line that stands before an answer says that it is none: an example, a draft."""
    phrase = _CLAUSE.split(line.strip("*_# \t"))[-1].rstrip("*_:\uff1a ")
    if _NO_ANSWER.search(phrase) or _PROMISE.search(phrase) or is_call(line):
        return True
    # A line with a mark in it shows the format itself.
    if "<" not in phrase and _FORMAT.search(phrase) and not _IN_FORMAT.search(phrase):
        return True
    return _TOOLS.search(phrase) is not None and _STILL_ANSWER.search(phrase) is None


# Take off what stands around a value: fences, quotes, emphasis, entities, ticks, a full stop.

_ENTITY: Final = re.compile(r"&(?:#[0-9]{1,7}|#[xX][0-9a-fA-F]{1,6}|[A-Za-z][A-Za-z0-9]{1,30});")
_LANGUAGE: Final = re.compile(r"[\w+.#-]{0,20}[ \t]*\r?\n")
_LONGEST_RUN: Final = 3
_PAIRS: Final = {
    '"': '"', "'": "'", "`": "`", "*": "*", "_": "_",
    "\u201c": "\u201d", "\u201e": "\u201c", "\u2018": "\u2019", "\u00ab": "\u00bb",
}  # fmt: skip
_TICKS: Final = re.compile(
    "[\u2705\u2713\u2714\u2611\U0001f5f8\U0001f389\U0001f38a\U0001f393\U0001f3c5]\ufe0f?"
)


def bare_value(text: str) -> str:
    """Return a value without code fences, quotes, backticks and emphasis around it."""
    value = text.replace(BLANK, "").strip()
    if len(value) >= 2 * 3 and value.startswith("```") and value.endswith("```"):
        inside = value[3:-3]
        language = _LANGUAGE.match(inside)
        value = (inside[language.end() :] if language else inside).strip()
    # A mark that wraps is nowhere inside, so there are no more layers than kinds of marks.
    while width := _wrapping_width(value):
        value = value[width:-width].strip()
    return value


def without_end(value: str) -> str:
    """Return a bare value without one full stop, and without ticks beside it."""
    value = bare_value(_TICKS.sub("", value))
    return (
        bare_value(value[:-1]) if value[-1:] in (".", "!", "\u3002", "\uff0e", "\uff01") else value
    )


def decoded(text: str) -> str:
    """Return the text that markup stands for: entities decoded, CDATA as it is."""
    first, *others = text.split("<![CDATA[")
    parts = [_entities(first)]
    for other in others:
        inside, end, after = other.partition("]]>")
        parts += (inside, _entities(after)) if end else ("<![CDATA[", _entities(other))
    return "".join(parts)


def _entities(text: str) -> str:
    # One entity after the other: left to itself `html.unescape` also takes `&lt` without its end.
    return _ENTITY.sub(lambda match: html.unescape(match[0]), text) if "&" in text else text


def _wrapping_width(text: str) -> int:
    """How many characters at each end only wrap what is between them."""
    if len(text) < 2 or _PAIRS.get(text[0]) != text[-1]:  # noqa: PLR2004 - one at each end
        return 0
    mark, end = text[0], text[-1]
    width = 1
    while mark in "*`_" and width < _LONGEST_RUN and text[width : width + 1] == mark:
        width += 1
    if len(text) < 2 * width or not text.endswith(end * width):
        return 0
    # `"A", "B"` is two quoted values, and not one.
    inside = text[width:-width]
    return 0 if mark != "_" and (end in inside or mark in inside) else width
