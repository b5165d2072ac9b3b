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
from pytest_sopbench._core.values.json import to_json_value
from pytest_sopbench._core.values.text import fold, is_empty

from .text import BLANK
from .values import (
    GENERIC,
    LONGEST_LABEL,
    Candidate,
    Reading,
    bare_value,
    is_placeholder,
    plain_value,
    settled,
    without_end,
)

RETRACTIONS: Final = (
    "above is invalid", "above is wrong", "above was wrong", "actually", "answer is invalid",
    "answer is wrong", "apologies", "apologize", "as void", "cancel that", "correction",
    "could not complete", "disregard", "do not rely on this", "do not use the above",
    "do not use these", "do not use this", "does not hold", "doesn't hold", "don't rely on this",
    "don't use the above", "don't use these", "don't use this", "forget that", "forget this",
    "have to revise", "have to take this back", "hmm", "hold on", "I made an error", "I overlooked",
    "I was wrong", "I will go on", "I will replace this", "I'll go on", "I'll replace this",
    "ignore", "in fact", "incorrect", "is not right", "is only preliminary", "is preliminary",
    "is provisional", "is void", "isn't right", "looking again", "mistake", "mistaken",
    "must not be used", "must revise", "never mind", "nevermind", "no longer",
    "not complete the task", "not final", "on second look", "on second thought",
    "only a placeholder", "only placeholders", "oops", "prompt injection", "reconsider", "retract",
    "retracting", "scratch that", "strike that", "superseded", "take it back", "take that back",
    "take this back", "that is wrong", "that was wrong", "this is wrong", "this was wrong",
    "to show the format", "unable to complete", "wait", "withdraw", "withdrawn", "wrong case",
)  # fmt: skip
"""Words after an answer that take it back."""

_TAKEN_BACK: Final = re.compile(
    rf"\b(?:{'|'.join(RETRACTIONS)})\b".replace("'", "['\u2019]"), re.IGNORECASE
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
_LINE_END: Final = re.compile(r"[|<>{}\n]")
_GOES_ON: Final = re.compile(r"[ \t]*[^\W\d_]")

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


class Afterwards:
    """Knows the fields of a task, and says what in the rest of a text speaks against an answer."""

    def __init__(self, names: FieldNames, required: Sequence[OutputField]) -> None:
        self._names = names
        self._required = required
        self._fields = {one.name: one for one in required}
        self._single = required[0] if len(required) == 1 else None

    def against(self, one: Candidate, rest: str, prose: str | None) -> str:
        """Return what stands after an answer and speaks against it, or nothing.

        `prose` is the rest behind the lines among which an unmarked answer stands.
        """
        if not rest.strip(" \t\n*_`.|$\\])}\u2705"):
            return ""
        for words, field in self._named(rest):
            if self._says_otherwise(field, words, one):
                return f"after the answer stands {quoted(words)} for {field.name}"
        chosen = frozenset(
            meant(it, value)
            for it in self._required
            if isinstance(value := one.values[it.name], str)
        )
        words = (
            self.other_label(rest, chosen)
            or self._other_outcome(rest, chosen)
            or self._other_amount(rest, one)
            or _found(_TAKEN_BACK, rest)
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

    def _named(self, rest: str) -> Iterator[tuple[str, OutputField]]:
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
                is_value = plain_value(field, words)[1] is Reading.EXACT
                if not is_value or field.type is FieldType.TEXT:
                    continue
            bare = bare_value(words.strip("\"'`*_ \t|()[]"))
            if bare and not is_placeholder(field, bare) and not self._names.field_of(bare):
                yield bare, field

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

    def _other_outcome(self, rest: str, chosen: frozenset[str]) -> str:
        """Return where something is, or was, what another label asks for: `is rejected`."""
        labels = tuple(one for it in self._required for one in it.values if one.isalpha())
        pattern, forms = _outcomes(labels)
        for match in pattern.finditer(rest) if forms else ():
            before, after = _sentence(rest, *match.span())
            is_other = forms[match[1].lower()] not in chosen
            if is_other and not _SUPPOSED.search(before) and not _ONLY_IF.search(after):
                return match[0]
        return ""

    def _other_amount(self, rest: str, one: Candidate) -> str:
        """Return where the last word of a field's name has another number: `as level 2`."""
        for field in self._required:
            if field.type not in _NUMBERS:
                continue
            for match in _amounts(field.name).finditer(rest):
                before, _ = _sentence(rest, *match.span())
                is_told = not _SUPPOSED.search(before) and not _LIMITED.search(before)
                if is_told and self._says_otherwise(field, match[1], one):
                    return match[0]
        return ""


def _if_no_courtesy(polite: re.Match[str]) -> str:
    """Leave out a courtesy, but not one that tells what must not be done, or be so, by then."""
    return polite[0] if _NO_COURTESY.search(polite[0]) else " "


_QUOTE: Final = 60


def quoted(words: str) -> str:
    """Quote what an agent said in a few words."""
    line = " ".join(ready_to_cut(words[: 4 * LONGEST_LABEL]).replace(BLANK, "").split())
    return repr(line if len(line) <= _QUOTE else f"{line[: _QUOTE - 3]}...")


def takes_back(text: str) -> bool:
    """Whether a word in a text takes back what was said before."""
    return _TAKEN_BACK.search(text) is not None


def meant(field: OutputField, words: str) -> str:
    """Return the folded label that words stand for."""
    return fold(label_of(field.aliases, without_end(words)))


def _found(pattern: re.Pattern[str], text: str) -> str:
    match = pattern.search(text)
    return text[max(match.start() - 20, 0) : match.end() + 30] if match else ""


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
        r"\b(?:is|(?:(?:is|was|has been) )?set to|should be|must be|remains)\b))"
        r"(?P<words>[^\n]{0,400})",
        re.IGNORECASE,
    )


@lru_cache(maxsize=64)
def _label_pattern(
    fields: tuple[tuple[tuple[str, ...], tuple[str, ...]], ...],
) -> re.Pattern[str] | None:
    labels = {fold(one) for values, aliases in fields for one in (*values, *aliases)}
    words = [one for one in labels if not is_empty(one) and read_boolean(one) is None]
    several = "|".join(name_pattern(one) for one in sorted(words, key=len, reverse=True))
    return re.compile(rf"(?<!\w)(?:{several})(?!\w)", re.IGNORECASE) if words else None


@lru_cache(maxsize=64)
def _outcomes(labels: tuple[str, ...]) -> tuple[re.Pattern[str], Mapping[str, str]]:
    verbs = [one.lower() for one in labels if one.lower() not in _WORK]
    forms = {form: fold(verb) for verb in verbs for form in _participles(verb)}
    pattern = re.compile(
        r"\b(?:is|are|was|were|be|been|being|hereby|set to|I(?:['\u2019]ve| have)?)\s+"
        r"(?:(?:to be|being|hereby|therefore|thus|now|also|clearly)\s+){0,2}"
        rf"({'|'.join(map(re.escape, forms))})\b",
        re.IGNORECASE,
    )
    return pattern, forms


def _participles(verb: str) -> tuple[str, ...]:
    if verb.endswith("e"):
        return (f"{verb}d",)
    return (f"{verb[:-1]}ied",) if verb.endswith("y") else (f"{verb}ed", f"{verb}{verb[-1]}ed")


@lru_cache(maxsize=64)
def _amounts(name: str) -> re.Pattern[str]:
    last = re.escape(fold(name).split()[-1])
    return re.compile(
        rf"\b(?:{name_pattern(name)}|(?:as|an?|the|at|to)\s+{last})\s+"
        rf"(?:(?:is|was|of|at|to|as)\s+)?{_NUMBER}",
        re.IGNORECASE,
    )
