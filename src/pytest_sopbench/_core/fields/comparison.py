"""An answer's fields, compared with those expected."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from decimal import Decimal
from math import isfinite
from numbers import Real
from typing import Final, cast

from pytest_sopbench._core.hiding import ready_to_cut, short_line
from pytest_sopbench._core.model.task import MASK, Compare, FieldType, OutputField, Scoring
from pytest_sopbench._core.model.trace import Compared, Mismatch
from pytest_sopbench._core.values.json import JsonValue, escape_surrogates, type_name
from pytest_sopbench._core.values.text import (
    INVISIBLE,
    OFF_BY,
    as_words,
    distance,
    fold,
    is_empty,
    normal_form,
    plain_dashes,
)

from .kinds import KINDS, keyed
from .values import (
    EMPTY,
    Key,
    equal_values,
    item_key,
    read_items,
    same_container,
    value_key,
    written,
)

# Compare an answer with what is expected, field by field, with the reason of each mismatch.
#
# Two values match exactly if they are equal once they are read: containment never counts.

DIFFERENT: Final = "different"
OTHER_LABEL: Final = "other known label"
UNKNOWN_LABEL: Final = "not a known label"
NOT_A_NUMBER: Final = "not a number"

_SIGN: Final = re.compile(r"[+-](?=\.?\d)|(?<=\w)[+-](?!\w)")
_PUNCTUATION: Final = re.compile(rf"(?!{_SIGN.pattern})[^\w\s]")
_ASKED_FOR: Final[Mapping[FieldType, str]] = {
    FieldType.BOOLEAN: "not true or false",
    FieldType.INTEGER: NOT_A_NUMBER,
    FieldType.NUMBER: NOT_A_NUMBER,
    FieldType.DATE: "not an ISO date",
    FieldType.LIST: "not a list",
}


def compare(
    field: OutputField,
    expected: JsonValue,
    actual: JsonValue,
    scoring: Scoring = Scoring.EXACT,
) -> Mismatch | None:
    """Return why the actual value is not the expected one, or `None` if it is.

    Symmetric and reflexive, unless the field asks only for a value to be present. The reason
    of a private field never tells anything of its value.
    """
    if field.compare is Compare.IGNORE:
        return None
    if field.compare is Compare.PRESENT:
        is_nothing = is_empty(actual) or actual in ([], {})
        why = "empty, any value would do" if is_nothing else ""
    elif scoring is Scoring.PUBLISHED:
        why = "" if matches_as_published(expected, actual) else DIFFERENT
    elif field.compare is not Compare.EXACT:
        why = KINDS[field.compare](field, expected, actual)
    elif field.key:
        why = keyed(field, expected, actual)
    elif (type(actual) is str and expected == actual) or same_container(field, expected, actual):
        # The same text needs no reading: that is what most answers are.
        why = ""
    else:
        why = _difference(field, expected, actual)
    if not why:
        return None
    return Mismatch(
        field=field.name, expected=expected, actual=actual, why=DIFFERENT if field.private else why
    )


def number_kind(mismatch: Mismatch) -> str:
    """Return in what way a number is wrong, or nothing if no number was asked for.

    A saved session has no types, so the reason tells, whose words are these.
    """
    if mismatch.why.startswith(OFF_BY):
        return "number off"
    return NOT_A_NUMBER if mismatch.why == NOT_A_NUMBER else ""


def off_by(mismatch: Mismatch) -> Decimal | None:
    """Return how far a number is off, by the reason; a saved session may hold any other."""
    if not mismatch.why.startswith(OFF_BY):
        return None
    try:
        apart = Decimal(mismatch.why.removeprefix(OFF_BY))
    except ArithmeticError:
        return None
    return apart if apart.is_finite() else None


def _difference(field: OutputField, expected: JsonValue, actual: JsonValue) -> str:
    if equal_values(field, expected, actual):
        return ""
    wanted, given = value_key(field, expected), value_key(field, actual)
    if EMPTY in (wanted, given):
        return _emptiness(field, wanted, actual)
    if isinstance(wanted[1], Decimal) and isinstance(given[1], Decimal):
        return _off_by(field, wanted[1], given[1])
    if wanted[0] != "text" and given[0] == "text":
        return _ASKED_FOR[field.type]
    return _REASONS.get(field.type, _other_text)(field, expected, actual)


def _emptiness(field: OutputField, wanted: Key, actual: JsonValue) -> str:
    if wanted == EMPTY:
        return "a value, but empty is expected"
    return OTHER_LABEL if isinstance(actual, str) and _is_known(field, actual) else "empty"


def _off_by(field: OutputField, wanted: Decimal, given: Decimal) -> str:
    apart = distance(wanted, given)
    if field.tolerance and apart <= Decimal(repr(field.tolerance)):
        return ""
    return f"{OFF_BY}{as_words(apart)}"


def _other_text(field: OutputField, expected: JsonValue, actual: JsonValue) -> str:
    if _is_known(field, written(actual)):
        return OTHER_LABEL
    wanted, given = fold(written(expected)), fold(written(actual))
    if _bare(wanted) == _bare(given) != "":
        return "near: punctuation"
    if _unsigned(wanted) == _unsigned(given) != "":
        return "near: sign"
    if wanted in given:
        return "near: more than the expected value"
    if given in wanted:
        return "near: part of the expected value"
    return UNKNOWN_LABEL if field.values else DIFFERENT


def _bare(folded: str) -> str:
    return " ".join(_PUNCTUATION.sub(" ", folded).split())


def _unsigned(folded: str) -> str:
    return " ".join(_SIGN.sub(" ", folded).split())


def _is_known(field: OutputField, text: str) -> bool:
    folded = fold(text)
    labels = (*field.values, *field.aliases)
    return any(folded == fold(label) for label in labels)


def _other_list(field: OutputField, expected: JsonValue, actual: JsonValue) -> str:
    wanted, given = (
        Counter(item_key(item, ordered=field.ordered) for item in read_items(value) or ())
        for value in (expected, actual)
    )
    lacks, extra = (wanted - given).total(), (given - wanted).total()
    if not lacks and not extra:
        return "near: order"
    return f"list lacks {lacks}, has {extra} too many"


def _other_truth(field: OutputField, expected: JsonValue, actual: JsonValue) -> str:
    del field, expected, actual
    return DIFFERENT


_REASONS: Final[Mapping[FieldType, Callable[[OutputField, JsonValue, JsonValue], str]]] = {
    FieldType.BOOLEAN: _other_truth,
    FieldType.DATE: _other_truth,
    FieldType.LIST: _other_list,
}


# What a comparer says of one value, and how that is read.

WHY_LIMIT: Final = 300
"""Characters that are kept of what a comparer says."""

MISQUOTED: Final = "it quotes what the answer does not say"

_RETYPED: Final = str.maketrans(
    {
        **dict.fromkeys("\u2018\u2019\u201a\u201b\u2032", "'"),
        **dict.fromkeys("\u201c\u201d\u201e\u201f\u2033\u00ab\u00bb", '"'),
    }
)
"""Quotation marks, which models write as the plain ones of a keyboard."""

_TEXT: Final = json.JSONEncoder(indent=1, sort_keys=True, ensure_ascii=False).encode

_COMPARER_RETURNS: Final = "a comparer returns a Match, a bool, or a float from 0 to 1"


@dataclass(frozen=True, slots=True)
class Match:
    """What a comparer says of one field of an answer.

    Attributes:
        held: whether the value is right.
        why: what is wrong with it, in a few words; they stand in the report.
        score: how good it is, from 0 to 1. It is kept and compared with the baseline, and decides
            nothing.
        quote: the passage of the value that decides. If it stands nowhere in the value, the
            comparison is not believed, and the run is not judged.
    """

    held: bool
    why: str = ""
    score: float | None = None
    quote: str = ""


def as_text(value: JsonValue) -> str:
    """Write a value as it is quoted from: a text as it is, everything else as JSON."""
    return value if isinstance(value, str) else _TEXT(value)


def stands_in(quote: str, answer: str) -> bool:
    """Tell whether a quote is a passage of an answer, and says anything.

    Models wrap lines anew, write plain quotation marks and dashes, and drop what nobody sees; that
    changes no word, so it is folded away. Case stays: it may be what the rubric is about.
    """
    wanted, held = folded(quote), folded(answer)
    has_words = any(sign.isalnum() for sign in wanted)
    return wanted in held and (has_words or not any(sign.isalnum() for sign in held))


def may_stand_in(quote: str, answer: str) -> bool:
    """Tell whether a quote that was kept may be of an answer that was kept.

    Of what is masked nobody can tell, and of a quote that is cut its beginning is looked for.
    """
    if MASK in answer:
        return True
    held = folded(answer)
    return all(folded(part) in held for part in quote.split(MASK))


def folded(text: str) -> str:
    """Return a text as quotes are compared: its normal form, plain marks, one space between words.

    The normal form is that of all comparisons: a superscript 2 stays another sign than a 2.
    """
    plain = plain_dashes(normal_form(INVISIBLE.sub("", text))).translate(_RETYPED)
    return " ".join(plain.split())


def read_match(field: OutputField, place: int, said: object, actual: JsonValue) -> Compared:
    """Read what a comparer returned; what says neither yes nor no is not judged.

    A number alone holds if it is at least the `at_least` of its field. A private field keeps
    nothing that may tell its value. What is read may run code of its own, and raise.
    """
    # By its type, since a value may say that it is of another class.
    kind = type(said)
    if kind is bool:
        said = Match(cast("bool", said))
    elif issubclass(kind, Real):
        return _scored(field, place, said)
    elif not issubclass(kind, Match):
        return not_judged(field, place, f"it returned {_named(said)}; {_COMPARER_RETURNS}")
    match = cast("Match", said)
    given = (match.held, match.why, match.score, match.quote)
    held, why, score, quote = cast("tuple[object, object, object, object]", given)
    if odd := _odd_part(held, why, quote):
        return not_judged(field, place, odd)
    # A subclass may have methods of its own.
    why = str.__str__(cast("str", why))
    quote = str.__str__(cast("str", quote))
    if quote and not stands_in(quote, as_text(actual)):
        return not_judged(field, place, MISQUOTED)
    number = None if score is None else _share(score)
    if score is not None and number is None:
        return not_judged(field, place, f"its Match has the score {_shown(score)}; 0 to 1 is asked")
    return Compared(
        field=field.name,
        place=place,
        held=cast("bool", held),
        why="" if held else _told(field, why) or DIFFERENT,
        score=number,
        quote="" if field.private else folded(ready_to_cut(quote))[:WHY_LIMIT],
    )


def _odd_part(held: object, why: object, quote: object) -> str:
    """Say which part of a match is of another type than it should be, or nothing."""
    if held is not True and held is not False:
        return f"its Match has a 'held' of type {type_name(held)}"
    texts = (("why", why), ("quote", quote))
    odd = ((name, one) for name, one in texts if not issubclass(type(one), str))
    return next((f"its Match has a {name!r} of type {type_name(one)}" for name, one in odd), "")


def not_judged(field: OutputField, place: int, why: str, *, secret: str = "") -> Compared:
    """Tell why nothing could be found out; `secret` is what may hold a value of the field."""
    told = why if field.private or not secret else f"{why}: {secret}"
    return Compared(field=field.name, place=place, why=_line(told))


def _scored(field: OutputField, place: int, said: object) -> Compared:
    score = _share(said)
    if score is None:
        return not_judged(field, place, f"it returned {_shown(said)}; {_COMPARER_RETURNS}")
    if field.at_least is None:
        why = f"it returned the number {score:g}, and no 'at_least' is declared for the field"
        return not_judged(field, place, why)
    held = score >= field.at_least
    why = "" if held else f"{score:.6g}, but at least {field.at_least:g} is asked"
    return Compared(
        field=field.name, place=place, held=held, why=why and _told(field, why), score=score
    )


def _share(value: object) -> float | None:
    """Return a number from 0 to 1; anything else is none."""
    if type(value) is bool or not issubclass(type(value), Real):
        return None
    try:
        number = float(cast("float", value))
    except (ValueError, OverflowError, ArithmeticError):
        return None
    return number if isfinite(number) and 0 <= number <= 1 else None


def _named(value: object) -> str:
    if value is None:
        return "nothing"
    return "a text" if isinstance(value, str) else f"a value of type {type_name(value)}"


def _shown(value: object) -> str:
    if type(value) is bool:
        return str(value)
    try:
        return f"{float(cast('float', value)):g}"
    except (TypeError, ValueError, OverflowError, ArithmeticError):
        return f"a {type_name(value)}"


def _told(field: OutputField, why: str) -> str:
    return DIFFERENT if field.private else _line(why)


def _line(words: str) -> str:
    return escape_surrogates(short_line(words, WHY_LIMIT))


# The rules of the scorer that was published with SOP-Bench, for numbers to lay beside its own.
#
# They are more lenient than ours: a part of the expected value is as good as the whole.

_NULLS: Final = frozenset({"", "none", "null", "nan", "n/a", "na", "unknown"})


def matches_as_published(expected: JsonValue, actual: JsonValue) -> bool:
    """Whether one value contains the other, after lower-casing and `_` and `-` as space.

    Null-like values are equal to one another, and to nothing else.
    """
    wanted, given = _lower(expected), _lower(actual)
    if wanted in _NULLS or given in _NULLS:
        return wanted in _NULLS and given in _NULLS
    wanted, given = _spaced(wanted), _spaced(given)
    return wanted in given or given in wanted


def _lower(value: JsonValue) -> str:
    text = "" if value is None else value if isinstance(value, str) else str(value)
    return text.lower().strip()


def _spaced(text: str) -> str:
    return text.replace("_", " ").replace("-", " ")
