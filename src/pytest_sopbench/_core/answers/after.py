"""What stands after an answer and speaks against it."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping, Sequence
from functools import lru_cache
from typing import Final

from pytest_sopbench._core.fields.values import (
    FieldNames,
    label_of,
    name_pattern,
    read_boolean,
    value_key,
)
from pytest_sopbench._core.hiding import ready_to_cut
from pytest_sopbench._core.model.task import FieldType, OutputField
from pytest_sopbench._core.values.json import JsonValue, to_json_value
from pytest_sopbench._core.values.text import fold, is_empty

from .numbers import is_other_measure, measures_of
from .text import BLANK
from .values import (
    GENERIC,
    LONGEST_LABEL,
    Candidate,
    Reading,
    bare_value,
    is_placeholder,
    leads_in_no_answer,
    plain_value,
    settled,
    without_end,
)

RETRACTIONS: Final = (
    "actually", "apologies", "apologize", "as void", "cancel that", "changes the picture",
    "correction", "decision is pending", "decision will follow", "disregard", "do not rely",
    "do not submit", "do not use the above", "do not use these", "do not use this", "does not hold",
    "doesn't hold", "don't rely", "don't use the above", "don't use these", "don't use this",
    "forget that", "forget this", "have to revise", "hmm", "hold on", "I guessed",
    "I made an error", "I overlooked", "I was wrong", "I will decide", "I will go on",
    "I will replace this", "I'll decide", "I'll go on", "I'll replace this", "ignore", "in fact",
    "incorrect", "is that right", "let me check", "looking again", "made this up",
    "made these values up", "maximum iterations", "mistake", "mistaken", "must revise",
    "never mind", "nevermind", "no longer", "not complete the task", "not final", "not yet decided",
    "on second look", "on second thought", "oops", "prompt injection", "re-running", "reconsider",
    "rerunning", "retract", "retracting", "scratch that", "sorry", "strike that", "superseded",
    "take it back", "take that back", "take this back", "to show the format", "unable to complete",
    "wait", "withdraw", "withdrawn", "wrong case", "wrong task",
)  # fmt: skip
"""Words after an answer that take it back."""

DRAFTS: Final = (
    "draft", "dummy", "example", "guess", "hypothetical", "interim", "not final", "not valid",
    "placeholder", "preliminary", "provisional", "retracted", "sample", "superseded", "template",
    "tentative", "void", "withdrawn",
)  # fmt: skip
"""Words beside an answer in its object or its lines that make it none."""

_DRAFT: Final = re.compile(rf"(?:{'|'.join(DRAFTS)})\b", re.IGNORECASE)

HEDGES: Final = (
    *DRAFTS,
    "another case", "another task", "be confirmed", "be determined", "cannot be", "cannot decide",
    "cannot determine", "cannot tell", "contradict", "contradicts", "correct?",
    "could not complete", "could not decide", "did not run", "illustration", "invalid", "invented",
    "isn't correct", "isn't meant", "isn't right", "last week's", "made up", "may change",
    "might change", "must not be used", "not be used", "not correct", "not meant", "not right",
    "opposite", "placeholders", "pre-fill", "pre-filled", "prefilled", "previous case",
    "shows the format", "still open", "subject to change", "tbc", "tbd", "unknown", "will change",
    "will follow", "wrong",
)  # fmt: skip
"""Words that take an answer back alone or in a sentence about it: *draft*, *this is a draft*."""

_HEDGED: Final = "|".join(
    (*map(re.escape, HEDGES), r"follows(?=[ \t*_]*(?:$|[.!:\n])|[ ](?:later|below|soon|shortly)\b)")
)
_TAKEN_BACK: Final = re.compile(
    (
        rf"\b(?:{'|'.join(RETRACTIONS)})\b|"
        # A sentence about the answer, or one of nothing else.
        r"(?:^|[.!?:;(\n\u2014])[ \t*_>#^\u2191\u2b06-]{0,9}"
        r"(?:(?:this|that|these|those|it|I|subject|"
        r"(?:the )?(?:above|(?:real |final |right )?answers?|values?|results?|outputs?))"
        rf"\b[^.!?\n]{{0,40}}?\b(?:{_HEDGED})(?!\w)|"
        rf"(?:to |is |only (?:an? )?)?(?:{_HEDGED})(?=[ \t*_]*(?:$|[.!,;:)\n])))"
    ).replace("'", "['\u2019]"),
    re.IGNORECASE,
)
_DENIED: Final = re.compile(
    r"\b(?:not|no|never|neither|nor|cannot|\w+n['\u2019]t|unless|if|provided|assuming|depend\w*|"
    r"conditional\w*|subject to|until|otherwise|but|however|although|though|except|whether|would|"
    r"as long as|once|on condition|awaiting|could|might|may|maybe|perhaps|possibly|unclear|unsure|"
    r"only|pending|alternatively|instead|"
    r"next,? I|I will now|I['\u2019]ll now|let me (?:now|check|look))\b",
    re.IGNORECASE,
)
_COURTESY: Final = re.compile(
    r"(?:please|thank|thanks|let me know|feel free|i hope|i am happy|i'm happy|happy to|have a|"
    r"best regards|kind regards|regards|sincerely|if you (?:need|have|want|would|like)|"
    r"end(?: of \w+)?$|done\b|should you (?:need|have|want|wish|require|like)|do you|"
    r"would you like|is there anything|shall i|can i help)\b[^\n.!?]*[.!?]?",
    re.IGNORECASE,
)
_NO_COURTESY: Final = re.compile(
    r"\b(?:not|\w+n['\u2019]t|until|unless|before)\b(?! hesitate)", re.IGNORECASE
)
_DIGITS: Final = re.compile(r"\d")
_REFERENCE: Final = re.compile(
    r"\b(step|section|rule|clause|article|paragraph|table|appendix|page|ticket|"
    r"(?:confirmation|reference|invoice|order|case|ticket|file) no\.) "
    r"(?:[A-Z]{1,5}-)?\d+(?:[.-]\d+)*(?![\d,]|\.\d|\w)",
    re.IGNORECASE,
)
_NUMBERS: Final = (FieldType.NUMBER, FieldType.INTEGER)
_NUMBER: Final = r"[\u20ac$\u00a3]?([+-]?\d+(?:[.,]\d+)*)(?!\w)"
_LEADING: Final = re.compile(rf"[\s\"'`*_]*(?:(true|false)\b|{_NUMBER})", re.IGNORECASE)
_VALUE_END: Final = re.compile(r"[|;<>{}\n]|,(?!\d)")
_UNDECIDED: Final = re.compile(
    r"[\s*_]*(?:not|neither|never|pending|still open|undetermined|undecided|unknown|unclear|"
    r"to be)\b",
    re.IGNORECASE,
)
_OPENING: Final = re.compile(r"[ \t]*(?:$|[|#<`]|[*_]+$)")
"""A line that only opens what stands below it: a fence, a tag, a heading, the head of a table."""

_ALONE: Final = re.compile(
    r"(?:or|so|hence|therefore|thus|(?:please )?use|make (?:that|it)|replace it by|possibly|final|"
    r"results?|conclusion|verdict|outcome|update|edit|p\.?s)\b[^\w+-]*",
    re.IGNORECASE,
)
_IN_PLACE: Final = re.compile(r" in place of (?:that|it)$", re.IGNORECASE)
_AROUND: Final = " \t.,;:!*_`()\u2192\u2013\u2014\"'"
_LINE_END: Final = re.compile(r"[|<>{}\n]")
_GOES_ON: Final = re.compile(r"[ \t]*[^\W\d_]")

_FEW: Final = 2
_NEAR: Final = 200
_SENTENCE_END: Final = re.compile(r"[.!?;\n]")
_SUPPOSED: Final = re.compile(
    r"\b(?:could|would|might|may|if|unless|when|whether|until|had)\b|"
    r"(?:^|,|\band|\bbut)\s*(?:no|none|nothing|neither|nobody)\b",
    re.IGNORECASE,
)
_WORK: Final = frozenset(
    ("assess", "check", "close", "complete", "confirm", "document", "evaluate", "examine", "file",
     "inspect", "investigate", "log", "note", "open", "process", "record", "review", "submit",
     "test", "update", "validate", "verify")
)  # fmt: skip
"""Labels that are also what is done on the way to any answer: all papers were reviewed."""
_ONLY_IF: Final = re.compile(r"\b(?:if|unless|when|only)\b", re.IGNORECASE)
_LIMITED: Final = re.compile(
    r"\b(?:not|\w+n['\u2019]t|no|never|than|below|above|under|over|from|between|instead of|"
    r"previous|earlier|first|old|limit|threshold|minimum|maximum)\b",
    re.IGNORECASE,
)


_CORRECTS: Final = re.compile(
    r"\b(?:correct\w*|revis\w*|updat\w*|re-?check\w*|instead|mistake\w*|wrong|sorry|slip|wait|"
    r"actually|again|looking (?:closer|back|twice)|be changed|should have|rather|hmm)\b|"
    r"\bno(?=\s*[:,.!;\u2014])",
    re.IGNORECASE,
)


class Afterwards:
    """Knows the fields of a task, and says what in the rest of a text speaks against an answer."""

    def __init__(self, names: FieldNames, required: Sequence[OutputField]) -> None:
        self._names = names
        self._required = required
        self._fields = {one.name: one for one in required}
        self._single = required[0] if len(required) == 1 else None

    def before(self, one: Candidate, text: str, *, is_marked: bool) -> str:
        """Return what the text before an answer concludes in its place, or nothing."""
        for words, field, match in self._named(text) if is_marked else ():
            is_mark = text[match.start() - 1 : match.start()] in [*"\"'</{"]
            if is_mark or not _is_value(field, words):
                continue
            lead = text[: match.start()].rpartition("\n")[2]
            is_told = not leads_in_no_answer(lead) and self._says_otherwise(field, words, one)
            if is_told and match.start("words") + len(words) > _corrected(text):
                return f"before the answer stands {quoted(words)} for {field.name}"
        lines = text.split("\n")
        while lines and _OPENING.match(lines[-1]):
            lines.pop()
        last = "\n".join(lines).rpartition("\n\n")[2]
        words = self._concluded(last, one) and self._concluded(last[_corrected(last) :], one)
        return f"before the answer stands {quoted(words)}" if words else ""

    def _concluded(self, last: str, one: Candidate) -> str:
        """Return what a paragraph says in place of an answer, or nothing."""
        words = self._other_alone(last.rpartition("\n")[2], one)
        words = words or self._other_outcome(last, self._chosen(one))
        return "" if words.lower().startswith(("was ", "were ")) else words

    def _chosen(self, one: Candidate) -> frozenset[str]:
        """Return the labels of an answer, and the names of what it says is true."""
        labels = [
            meant(it, value)
            for it in self._required
            if isinstance(value := one.values[it.name], str)
        ]
        true = [
            fold(it.name)
            for it in self._required
            if it.type is FieldType.BOOLEAN and read_boolean(one.values[it.name])
        ]
        return frozenset((*labels, *true))

    def against(self, one: Candidate, rest: str, prose: str | None) -> str:
        """Return what stands after an answer and speaks against it, or nothing.

        `prose` is the rest behind the lines among which an unmarked answer stands.
        """
        if not rest.strip(" \t\n*_`.|$\\])}\u2705"):
            return ""
        for words, field, _ in self._named(rest):
            if self._says_otherwise(field, words, one):
                return f"after the answer stands {quoted(words)} for {field.name}"
        chosen = self._chosen(one)
        words = (
            self.other_label(rest, chosen)
            or self._other_alone(rest, one)
            or self._other_outcome(rest, chosen)
            or self._other_amount(rest, one)
            or _taken_back(rest, chosen)
            or _found(_none_made(self._names.all), rest)
        )
        if not words and prose is not None:
            prose = self._without_references(prose)
            said = _COURTESY.sub(_if_no_courtesy, prose)
            words = _found(_DENIED, said)
            kinds = {it.type for it in self._required}
            # A courtesy may ask for another amount: please pay 250.
            if not words and kinds & {*_NUMBERS, FieldType.DATE}:
                words = _found(_DIGITS, f"{prose}\n{one.sentences}")
            if not words and FieldType.LIST in kinds:
                words = said.strip(" \t\n*_`.|-")
        return f"after the answer stands {quoted(words)}" if words else ""

    def _without_references(self, prose: str) -> str:
        """Return prose without `step 2` and the like, whose numbers are no values."""
        names = {
            word.removesuffix("s") for one in self._required for word in fold(one.name).split()
        }
        return _REFERENCE.sub(lambda it: it[0] if it[1].lower() in names else " ", prose)

    def _named(self, rest: str) -> Iterator[tuple[str, OutputField, re.Match[str]]]:
        """Yield what is said of each field by its name: `name: words`, a tag, a key, a cell."""
        for match in _naming(self._names.all, single=self._single is not None).finditer(rest):
            known = self._names.field_of(match["name"])
            field = self._fields.get(known) if known else self._single
            # A dash before a number may be a minus.
            if field is None or (match["dash"] and field.type in _NUMBERS):
                continue
            stop = _LINE_END if field.type in (FieldType.LIST, FieldType.TEXT) else _VALUE_END
            words = stop.split(match["words"], maxsplit=1)[0]
            if match["verb"]:
                plain = _LEADING.match(words)
                if plain and field.type in (FieldType.BOOLEAN, *_NUMBERS):
                    words = plain[1] or plain[2]
                is_value = _is_value(field, words)
                is_open = match["open"] or _UNDECIDED.match(words)
                if not is_open and (not is_value or field.type is FieldType.TEXT):
                    continue
            bare = bare_value(words.strip("\"'`*_ \t|()[]"))
            if bare and not is_placeholder(field, bare) and not self._names.field_of(bare):
                yield bare, field, match

    def _says_otherwise(self, field: OutputField, words: str, one: Candidate) -> bool:
        value = to_json_value(one.values[field.name])
        read, reading = plain_value(field, words)
        if reading is Reading.NONE:
            return True
        keys = {value_key(field, words), value_key(field, read)}
        return keys.isdisjoint((value_key(field, value), value_key(field, settled(field, value))))

    def other_label(self, rest: str, chosen: frozenset[str]) -> str:
        """Return a label in the rest that is none of those that were chosen, or nothing."""
        labelled = [one for one in self._required if one.type is not FieldType.BOOLEAN]
        pattern = _label_pattern(tuple((one.values, tuple(one.aliases)) for one in labelled))
        for match in pattern.finditer(rest) if pattern else ():
            words = match[0]
            short = len(words) <= 2 and words.isalpha()  # noqa: PLR2004 - `a` is a word, and `A` a label
            if short and (not words.isupper() or _GOES_ON.match(rest, match.end())):
                continue
            if not any(meant(it, words) in chosen for it in self._required):
                return words
        return ""

    def _other_alone(self, text: str, one: Candidate) -> str:
        """Return a line that is another value of the one field, and nothing more."""
        field = self._single
        if field is None or field.type is FieldType.TEXT:
            return ""
        for line in text.split("\n"):
            words = _ALONE.sub("", line[:_NEAR].strip(_AROUND), count=1)
            words = _IN_PLACE.sub("", words)
            if _is_value(field, words) and self._says_otherwise(field, words, one):
                return words
        return ""

    def _other_outcome(self, rest: str, chosen: frozenset[str]) -> str:
        """Return where something is, or was, what another label asks for: `is rejected`."""
        labels = tuple(one for it in self._required for one in it.values if one.isalpha())
        flags = tuple(
            it.name for it in self._required if it.type is FieldType.BOOLEAN and it.name.isalpha()
        )
        pattern, forms = _outcomes(labels, flags)
        for match in pattern.finditer(rest) if forms else ():
            before, after = _sentence(rest, *match.span())
            is_other = (forms[match["form"].lower()] in chosen) == (match["no"] is not None)
            if is_other and not _SUPPOSED.search(before) and not _ONLY_IF.search(after):
                return match[0]
        return ""

    def _other_amount(self, rest: str, one: Candidate) -> str:
        """Return where a number field has another number, or its number another unit."""
        for field in self._required:
            if field.type not in (*_NUMBERS, FieldType.DATE):
                continue
            amounts = _DAY if field.type is FieldType.DATE else _AMOUNT
            stated, of_field = measures_of(field.name), _about(field.name)
            for match in amounts.finditer(self._without_references(rest)):
                number = match["number"]
                signs = {it.lower() for it in match.group("sign", "unit") if it}
                before, after = _sentence(rest, *match.span())
                is_own = not self._says_otherwise(field, number, one)
                is_denied = _NOT.search(before) or any(
                    is_other_measure(field.name, it) for it in signs
                )
                if is_own and is_denied:
                    return match[0]
                said = f"{before} {after}"
                is_year = stated.isdisjoint(signs) and _YEAR.fullmatch(number)
                if is_own or is_year or (stated.isdisjoint(signs) and not of_field.search(before)):
                    continue
                is_told = not _SUPPOSED.search(before) and not _LIMITED.search(before)
                others = (it["number"] for it in amounts.finditer(said))
                if is_told and all(self._says_otherwise(field, it, one) for it in others):
                    return match[0]
        return ""


def _is_value(field: OutputField, words: str) -> bool:
    """Whether words are just a value of a field, or a list of short items."""
    few = "," in words and all(len(it.split()) <= _FEW for it in words.split(","))
    return plain_value(field, words)[1] is Reading.EXACT or (few and field.type is FieldType.LIST)


def _if_no_courtesy(polite: re.Match[str]) -> str:
    """Leave out a courtesy, but not one that tells what must not be done, or be so, by then."""
    return polite[0] if _NO_COURTESY.search(polite[0]) else " "


_QUOTE: Final = 60


def quoted(words: str) -> str:
    """Quote what an agent said in a few words."""
    line = " ".join(ready_to_cut(words[: 4 * LONGEST_LABEL]).replace(BLANK, "").split())
    return repr(line if len(line) <= _QUOTE else f"{line[: _QUOTE - 3]}...")


def _corrected(text: str) -> int:
    """Return where a text corrects last what was said before, and 0 if it never does."""
    return max((it.start() for it in corrections(text)), default=0)


def corrections(between: str) -> Iterator[re.Match[str]]:
    """Yield the words between two answers that say that the later one corrects the earlier."""
    yield from _CORRECTS.finditer(between)
    yield from _TAKEN_BACK.finditer(between)


def is_draft(name: str, value: JsonValue) -> bool:
    """Whether a name and a value beside an answer say that it is none: `status: draft`."""
    words = fold(name).removeprefix("is ")
    if isinstance(value, bool):
        return _DRAFT.fullmatch(words if value else f"not {words}") is not None
    return isinstance(value, str) and _DRAFT.match(value.strip()) is not None


def told_beside(beside: Mapping[str, JsonValue], required: Sequence[OutputField]) -> str:
    """Return what stands beside an answer and makes it a draft, or no measure of a field."""
    for name, value in beside.items():
        first, last = (words := fold(name).split())[:1], words[-1:]
        names = {"of", "time", "unit", "units", "currency"}
        is_unit = {*first, *last} & {"unit", "units", "currency"} and isinstance(value, str)
        is_other = is_unit and any(
            names.union(fold(it.name).split()).issuperset(words)
            and (stated := measures_of(it.name))
            and fold(str(value)) not in stated
            for it in required
        )
        if is_other or is_draft(name, value):
            return f"{name}: {value}"
    return ""


def meant(field: OutputField, words: str) -> str:
    """Return the folded label that words stand for."""
    return fold(label_of(field.aliases, without_end(words)))


def _found(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return text[max(match.start() - 20, 0) : match.end() + 30] if match else ""


def _taken_back(rest: str, chosen: frozenset[str]) -> str:
    """Return words that take an answer back; those of its labels do not: `draft`, `invalid`."""
    for match in _TAKEN_BACK.finditer(rest):
        said = fold(match[0])
        if not any(label in said for label in chosen if label):
            return rest[max(match.start() - 20, 0) : match.end() + 30]
    return ""


def _sentence(text: str, start: int, end: int) -> tuple[str, str]:
    """Return what stands in one sentence before and after a stretch of it."""
    before = _SENTENCE_END.split(text[max(start - _NEAR, 0) : start])[-1]
    return before, _SENTENCE_END.split(text[end : end + _NEAR], maxsplit=1)[0]


@lru_cache(maxsize=64)
def _naming(names: tuple[str, ...], *, single: bool) -> re.Pattern[str]:
    several = sorted({*names, *(GENERIC if single else ())}, key=len, reverse=True)
    return re.compile(
        rf"(?<!\w)(?P<name>{'|'.join(map(name_pattern, several))})(?!\w)"
        r"[\"'`*_ \t]*(?::|\uff1a|=>?(?!=)|->|\u2192|\||>|(?P<verb>==|"
        r"(?<=[ \t])(?P<dash>[-\u2013\u2014])(?=[ \t])|"
        r"\b(?:is|(?:(?:is|was|has been) )?set to|should be|must be|has to be|remains|"
        r"(?P<open>(?:can(?:not|['\u2019]t)|could not) be))\b))"
        r"(?P<words>[^\n]{0,400})",
        re.IGNORECASE,
    )


@lru_cache(maxsize=64)
def _none_made(names: tuple[str, ...]) -> re.Pattern[str]:
    several = "|".join(map(name_pattern, (*names, *GENERIC)))
    made = r"(?:(?:has|have|had|could|can) (?:yet )?be(?:en)?|was|were)\b"
    return re.compile(rf"\bno (?:final )?(?:{several}) {made}", re.IGNORECASE)


@lru_cache(maxsize=64)
def _label_pattern(
    fields: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...],
) -> re.Pattern[str] | None:
    labels = {fold(one) for values, aliases in fields for one in (*values, *aliases)}
    words = [one for one in labels if not is_empty(one) and read_boolean(one) is None]
    several = "|".join(name_pattern(one) for one in sorted(words, key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?:{several})(?!\w)", re.IGNORECASE) if words else None


@lru_cache(maxsize=64)
def _outcomes(
    labels: tuple[str, ...], flags: tuple[str, ...]
) -> tuple[re.Pattern[str], Mapping[str, str]]:
    verbs = [one.lower() for one in labels if one.lower() not in _WORK]
    forms = {form: fold(verb) for verb in verbs for form in _participles(verb)}
    forms.update({one.lower(): fold(one) for one in flags})
    told = [it for it in verbs if read_boolean(it) is None and len(it) >= _FEW + 1]
    forms.update({form: fold(it) for it in told for form in (it, f"{it}s", f"{it}es")})
    pattern = re.compile(
        r"\b(?:(?P<no>(?:not|never|cannot|\w+n['\u2019]t)\s+(?:(?:to )?be(?:en)?\s+)?|"
        r"(?:(?<=[.!?\n] )|(?<=\n))no\s+|in|un|non-?)|"
        r"(?:(?:is|are|was|were|be|been|being|hereby|set to|(?:I|we)(?:['\u2019]ve| have)?"
        r"(?: (?:have to|must|will))?|(?:must|has to|have to)(?: be)?|(?:the|this) \w+)\s+"
        r"(?:(?:to be|being|hereby|therefore|thus|now|also|clearly)\s+){0,2}))"
        rf"(?P<form>{'|'.join(map(re.escape, sorted(forms, key=len, reverse=True)))})\b",
        re.IGNORECASE,
    )
    return pattern, forms


def _participles(verb: str) -> tuple[str, ...]:
    if verb.endswith("e"):
        return (f"{verb}d",)
    return (f"{verb[:-1]}ied",) if verb.endswith("y") else (f"{verb}ed", f"{verb}{verb[-1]}ed")


_DAY: Final = re.compile(
    r"(?P<sign>(?!))?(?P<number>\b\d{4}-\d\d-\d\d|\b\d{1,2} [A-Z][a-z]{2,8},? \d{4}|"
    r"\b[A-Z][a-z]{2,8} \d{1,2},? \d{4})\b(?P<unit>(?!))?"
)
_NOT: Final = re.compile(r"\bnot\W*$", re.IGNORECASE)
_YEAR: Final = re.compile(r"(?:19|20)\d\d")
_AMOUNT: Final = re.compile(
    r"(?<![\w.,-])(?P<sign>[$\u20ac\u00a3]|(?:EUR|USD|GBP|CHF)\b)? ?"
    r"(?P<number>[+-]?\d+(?:[.,]\d+)*)"
    r"(?![\w.,-]*-\d) ?(?P<unit>%|[a-z]+)?",
    re.IGNORECASE,
)


@lru_cache(maxsize=64)
def _about(name: str) -> re.Pattern[str]:
    """Return a pattern for the words of a name that say what it is about, and no unit of it."""
    told = [it for it in fold(name).split() if it not in measures_of(name)]
    words = [it for it in told if it not in _VAGUE] or told
    return re.compile(
        rf"\b(?:{'|'.join(map(re.escape, words))})" if words else "(?!)", re.IGNORECASE
    )


_VAGUE: Final = frozenset(
    ("days", "total", "max", "min", "number", "amount", "date", "day", "of", "count", "rate", "per")
)
