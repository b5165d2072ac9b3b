"""What a comparer says of one value, and how that is read."""

from __future__ import annotations

import json
from dataclasses import dataclass
from math import isfinite
from numbers import Real
from typing import Final, cast

from pytest_sopbench._core.hiding.masking import ready_to_cut
from pytest_sopbench._core.model.compared import Compared
from pytest_sopbench._core.model.keys import MASK
from pytest_sopbench._core.model.task import OutputField
from pytest_sopbench._core.values.foreign import type_name
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.normalise import INVISIBLE, normal_form, plain_dashes
from pytest_sopbench._core.values.plain import escape_surrogates

DIFFERENT: Final = "different"
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

# Taken at import: an agent may put others into the places that JSON calls.
_TEXT: Final = json.JSONEncoder(indent=1, sort_keys=True, ensure_ascii=False).encode

_ASKED_FOR: Final = "a comparer returns a Match, a bool, or a float from 0 to 1"


@dataclass(frozen=True, slots=True)
class Match:
    """What a comparer says of one field of an answer.

    Attributes:
        held: whether the value is right.
        why: what is wrong with it, in a few words; they stand in the report.
        score: how good it is, from 0 to 1. It is kept and compared with the baseline, and decides
            nothing.
        quote: the passage of the value that decides. Where it stands nowhere in the value, the
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

    A number alone holds where it is at least the `at_least` of its field. A private field keeps
    nothing that may tell its value. What is read may run code of its own, and raise.
    """
    # By its type, since a value may say that it is of another class.
    kind = type(said)
    if kind is bool:
        said = Match(cast("bool", said))
    elif issubclass(kind, Real):
        return _scored(field, place, said)
    elif not issubclass(kind, Match):
        return not_judged(field, place, f"it returned {_named(said)}; {_ASKED_FOR}")
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
        return not_judged(field, place, f"it returned {_shown(said)}; {_ASKED_FOR}")
    if field.at_least is None:
        why = f"it returned the number {score:g}, and no 'at_least' is declared for the field"
        return not_judged(field, place, why)
    held = score >= field.at_least
    why = "" if held else f"{score:.6g}, where at least {field.at_least:g} is asked"
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
    line = " ".join(escape_surrogates(ready_to_cut(words))[: 4 * WHY_LIMIT].split())
    return line if len(line) <= WHY_LIMIT else f"{line[: WHY_LIMIT - 3]}..."
