"""Compare texts by how similar they are, with rapidfuzz, which is an extra."""

from __future__ import annotations

from importlib import import_module
from typing import Any, Final

from pytest_sopbench._core.fields.match import Match
from pytest_sopbench._core.fields.values import written
from pytest_sopbench._core.judging.questions import Question
from pytest_sopbench._core.model.task import OutputField
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.normalise import fold
from pytest_sopbench.errors import ComparerError

from .comparer import Comparer
from .functions import Place

IDENTITY: Final = "similar version 1"
"""Counts up when the same two texts come to another score."""

LONGEST: Final = 50_000
"""Characters of a text that is compared: the work grows with the product of both."""


def similar(output: OutputField, place: Place) -> Comparer:
    """Return what says how similar two texts are, from 0 to 1.

    Raises:
        ComparerError: rapidfuzz is not installed.
    """
    try:
        fuzz: Any = import_module("rapidfuzz.fuzz")
    except ImportError:
        msg = f"domain {place.domain}, field {output.name!r}: 'similar' needs rapidfuzz"
        raise ComparerError(
            msg, hint="pip install rapidfuzz; the extra 'similar' brings it"
        ) from None

    def ask(question: Question) -> Match:
        wanted, given = (fold(_text(one)) for one in (question.expected, question.actual))
        if max(len(wanted), len(given)) > LONGEST:
            most = _best(len(wanted), len(given))
            return _match(most, question.field, "at best ") if most < _needed(output) else _long()
        return _match(fuzz.ratio(wanted, given) / 100, question.field)

    return Comparer(IDENTITY, ask)


def _match(score: float, field: OutputField, about: str = "") -> Match:
    needed = _needed(field)
    held = score >= needed
    return Match(held, "" if held else f"{about}{score:.3g} similar, {needed:g} is asked", score)


def _long() -> Match:
    msg = f"a text of more than {LONGEST:,} characters is not compared"
    raise ValueError(msg)


def _best(one: int, other: int) -> float:
    """Return how similar two texts of these lengths can be at most."""
    return 2 * min(one, other) / (one + other)


def _needed(field: OutputField) -> float:
    return 1.0 if field.at_least is None else field.at_least


def _text(value: JsonValue) -> str:
    return "" if value is None else written(value)
