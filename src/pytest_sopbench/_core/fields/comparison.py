"""Compare an answer with what is expected, field by field, with the reason of each mismatch.

Two values match exactly if they are equal once they are read: containment never counts.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Mapping
from decimal import Decimal
from typing import Final

from pytest_sopbench._core.model.answer import Mismatch
from pytest_sopbench._core.model.task import Compare, FieldType, OutputField, Scoring
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.normalise import fold, is_empty
from pytest_sopbench._core.values.quantities import OFF_BY, as_words, distance

from .containers import same_container
from .kinds.keyed import keyed
from .kinds.table import KINDS
from .values import EMPTY, Key, equal_values, item_key, read_items, value_key, written

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
    """Return why the actual value is not the expected one, or `None` where it is.

    Symmetric and reflexive, but where the field asks only for a value to be present. The reason
    of a private field never tells anything of its value.
    """
    if field.compare is Compare.IGNORE:
        return None
    if field.compare is Compare.PRESENT:
        why = "empty, any value would do" if is_empty(actual) else ""
    elif scoring is Scoring.PUBLISHED:
        from .published import matches_as_published  # noqa: PLC0415 - only for published scoring

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
    """Return in what way a number is wrong, or nothing where no number was asked for.

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
        return "a value, where empty is expected"
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
