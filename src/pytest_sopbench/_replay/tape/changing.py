"""What changes with every run, and says nothing: dates and times, made-up ids, counters."""

from __future__ import annotations

import re
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Final

from pytest_sopbench._core.values.json import JsonValue

_MONTH: Final = (
    r"(?:Jan(?:uary)?|Feb(?:ruary)?|Mar(?:ch)?|Apr(?:il)?|May|June?|July?|Aug(?:ust)?"
    r"|Sep(?:t(?:ember)?)?|Oct(?:ober)?|Nov(?:ember)?|Dec(?:ember)?)\.?"
)
_DAY: Final = r"(?:(?:Mon|Tues?|Wed(?:nes)?|Thu(?:rs)?|Fri|Sat(?:ur)?|Sun)(?:day)?,? )?"

PATTERNS: Final = (
    r"\d{4}-\d{2}-\d{2}[T ]\d{2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?(?:Z|UTC|[+-]\d{2}:?\d{2}))?",
    r"\d{4}-\d{2}-\d{2}",
    rf"{_DAY}\d{{1,2}}(?:st|nd|rd|th)? {_MONTH},? \d{{4}}",
    rf"{_DAY}{_MONTH} \d{{1,2}}(?:st|nd|rd|th)?,? \d{{4}}",
    r"\d{1,2}[./]\d{1,2}[./]\d{4}",
    r"\b\d{1,2}:\d{2}(?::\d{2}(?:[.,]\d+)?)?(?: ?[AP]M)?",
    r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}",
    r"\b[0-9a-f]{16,64}\b",
    r"\b1\d{9}(?:\d{3}){0,2}\b",
)
"""Dates with a time, dates, times, uuids, hexadecimal ids, seconds since 1970; most said first."""

_DATES: Final = PATTERNS[1:5]
_TIME: Final = PATTERNS[5]
_COMPILED: Final = tuple(map(re.compile, PATTERNS))
_MARK: Final = "\0"

_NAME_OF_ID: Final = re.compile(
    r"(?:^|[_.-])(?:u?u?id|nonce|trace|span|session|request|run|conversation|correlation|thread"
    r"|invocation|event)(?:$|[_.-])|[a-z](?:Id|ID|Uuid|UUID)$"
)
_NAME_OF_COUNTER: Final = re.compile(
    r"(?:^|[_.-])(?:count(?:er)?|seq(?:uence)?|attempt|nonce|number|timestamp|time|ts|epoch|created"
    r"|request|call|run)(?:$|[_.-])|(?:_at|At|_id|Id|Time|Count|Number)$"
)
_RANDOM: Final = re.compile(r"[A-Za-z0-9]{8,}")
_LEAST_TIME: Final = 10**9
_TALK: Final = re.compile(r"^(?:messages|input|contents|prompt|system|instructions)\b")


@dataclass(frozen=True, slots=True, kw_only=True)
class Advice:
    """What to leave out of the comparison: paths in bodies, and patterns within texts."""

    ignore: str = ""
    mask: tuple[str, ...] = ()


def advice_on(path: str, recorded: JsonValue, sent: JsonValue) -> Advice | None:
    """Return how to leave out what differs; `None` where it says something.

    What is said to a model is never left out as a whole: within it, dates alone are masked.
    """
    name = re.sub(r"\[\d+\]", "", path).rpartition(".")[2]
    anywhere = re.sub(r"\[\d+\]", "[*]", path)
    can_go = _TALK.match(path) is None and not path.startswith(("query.", "path", "body", "model"))
    if isinstance(recorded, str) and isinstance(sent, str):
        kinds = _kinds(recorded, sent)
        if kinds:
            is_id = _NAME_OF_ID.search(name) is not None and " " not in recorded
            is_all = is_id or not re.sub(r"[\W_]", "", _without(recorded).replace(_MARK, ""))
            return Advice(ignore=anywhere) if can_go and is_all else Advice(mask=kinds)
        return Advice(ignore=anywhere) if can_go and _are_ids(name, recorded, sent) else None
    if can_go and _are_counts(name, recorded, sent):
        return Advice(ignore=anywhere)
    return None


def _kinds(recorded: str, sent: str) -> tuple[str, ...]:
    """Return the patterns in whose matches alone two texts differ; none where more differs."""
    if _without(recorded) != _without(sent):
        return ()
    found: list[str] = []
    before = recorded
    for pattern, source in zip(_COMPILED, PATTERNS, strict=True):
        if pattern.findall(recorded) != pattern.findall(sent):
            found.append(source)
            recorded, sent = pattern.sub(_MARK, recorded), pattern.sub(_MARK, sent)
    if _TIME in found:
        # The day of a moment changes as well, and tomorrow is no reason to be asked again.
        found += [
            one
            for one in _DATES
            if one not in found and re.search(rf"{one}[T,]? ?(?:at )?{_TIME}", before)
        ]
    return tuple(found)


def _without(text: str) -> str:
    for pattern in _COMPILED:
        text = pattern.sub(_MARK, text)
    return text


def _are_ids(name: str, recorded: str, sent: str) -> bool:
    """Tell whether two values are ids that somebody made up: alike but for a random end."""
    if _NAME_OF_ID.search(name) is None:
        return False
    bodies = [_RANDOM.sub(_MARK, one) for one in (recorded, sent)]
    randoms = [run for one in (recorded, sent) for run in _RANDOM.findall(one)]
    if bodies[0] == bodies[1] and any(map(_has_digit, randoms)):
        return True
    # A counter behind a word.
    return re.sub(r"\d+", _MARK, recorded) == re.sub(r"\d+", _MARK, sent)


def _has_digit(text: str) -> bool:
    return any(sign.isdigit() for sign in text)


def _are_counts(name: str, recorded: JsonValue, sent: JsonValue) -> bool:
    pair: Sequence[JsonValue] = (recorded, sent)
    numbers = [one for one in pair if isinstance(one, int | float) and not isinstance(one, bool)]
    if len(numbers) < len(pair):
        return False
    return _NAME_OF_COUNTER.search(name) is not None or min(numbers) >= _LEAST_TIME
