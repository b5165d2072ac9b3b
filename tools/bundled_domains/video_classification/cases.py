"""Every irregularity, in the order of the articles."""

from __future__ import annotations

from collections.abc import Iterator

from .changes import Irregularity
from .file_cases import file_cases
from .note_cases import note_cases, outcome_cases
from .people_cases import people_cases
from .record_cases import limit_cases, record_cases


def irregularities() -> Iterator[Irregularity]:
    """Yield all of them."""
    yield from file_cases()
    yield from record_cases()
    yield from limit_cases()
    yield from people_cases()
    yield from note_cases()
    yield from outcome_cases()
