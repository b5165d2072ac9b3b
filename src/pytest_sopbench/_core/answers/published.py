"""Answers as the published evaluator finds them."""

from __future__ import annotations

import json
import re
from bisect import bisect_left
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, Final, TypeAlias, cast

from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.model.task import Compare
from pytest_sopbench._core.model.trace import Answer, AnswerForm, Returned, ReturnedKind
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.patterns import Dialect
from pytest_sopbench._core.values.text import read_object

# Find an answer as the scorer that was published with SOP-Bench does.
#
# It was written from the behaviour of that scorer, which takes the first form that yields
# anything: JSON in `<final_output>`, tags, the first flat JSON object, a Python dict, the text
# itself. It knows the names of the output fields only here and there, and always finds some
# answer.

UNKNOWN: Final = "unknown"
"""What stands for an answer that is not found."""

Decisions: TypeAlias = dict[str, str]
_Found: TypeAlias = "tuple[str, Decisions] | None"

_IDS: Final = frozenset({"id", "task_id", "email_id", "product_id"})
_MORE_IDS: Final = _IDS | {"aircraft_id"}
_WRAPPERS: Final = ("final_response", "final_decision", "response", "output")
_MARKERS: Final = ("======= Final Response =====", "Final Response:", "Output:")
_PREFIXES: Final = ("final answer:", "decision:", "result:", "output:")
_LONGEST: Final = 100

_FLAT_OBJECT: Final = re.compile(r"\{[^{}]*\}")
_OPENING: Final = re.compile(r"<(\w+)>")
_CLOSING: Final = re.compile(r"</(\w+)>")


def published_answer(text: str, names: Sequence[str]) -> Mapping[str, str]:
    """Return the values that the published scorer compares, by field; some may be missing.

    Of one field the value is what it takes for the decision, whatever it is called. Of several
    they are looked up by their names, in any case.
    """
    stripped = text.strip()
    found = _final_output(stripped, names)
    for find in (_tags, _flat_json, _dict) if found is None else ():
        found = find(stripped, names)
        if found is not None:
            break
    if found is None:
        found = "", {"": _plain(stripped)}
    primary, decisions = found
    if len(names) == 1:
        return {names[0]: decisions.get(primary, UNKNOWN)}
    return _by_name(decisions, names) if len(decisions) > 1 else {}


def _by_name(decisions: Decisions, names: Sequence[str]) -> Decisions:
    lower: Decisions = {}
    for key, value in decisions.items():
        lower.setdefault(key.lower(), value)
    return {name: lower[name.lower()] for name in names if name.lower() in lower}


def _final_output(text: str, names: Sequence[str]) -> _Found:
    """The last `<final_output>` that holds an object and nothing else, as JSON."""
    inside = _last_final_output(text)
    value = _json_object(inside) if inside else None
    if value is None:
        return None
    lower = {key.lower(): one for key, one in value.items()}
    decisions = {name: _written(lower[name.lower()]) for name in names if name.lower() in lower}
    return (next(iter(decisions)), decisions) if decisions else None


def _last_final_output(text: str) -> str:
    """The last span from a tag and `{` to `}` and the next end tag; spans do not overlap."""
    ends = [match.span() for match in re.finditer(r"\}\s*</final_output>", text, re.IGNORECASE)]
    starts = [span[0] for span in ends]
    last, position = "", 0
    for match in re.finditer(r"<final_output>\s*(?=\{)", text, re.IGNORECASE):
        place = bisect_left(starts, match.end())
        if match.start() >= position and place < len(ends):
            last, position = text[match.end() : starts[place] + 1], ends[place][1]
    return last


def _tags(text: str, names: Sequence[str]) -> _Found:
    """What stands in the first of the known wrappers that yields anything, else every tag."""
    for wrapper in _WRAPPERS:
        inside = _first_inside(text, wrapper)
        if inside is None:
            continue
        found = _all_tags(inside, names)
        if found is None and next(_elements(inside), None) is None:
            found = _dict_in(inside.replace("\\n", "\n").replace("\\t", "\t"), _MORE_IDS, names)
        if found is not None:
            return found
    return _all_tags(text, names)


def _first_inside(text: str, name: str) -> str | None:
    start = re.search(f"<{name}>", text, re.IGNORECASE)
    end = re.compile(f"</{name}>", re.IGNORECASE).search(text, start.end()) if start else None
    return text[start.end() : end.start()].strip() if start and end else None


def _all_tags(text: str, names: Sequence[str]) -> _Found:
    decisions = {
        name.lower(): inside.strip().lower()
        for name, inside in _elements(text)
        if name.lower() not in _IDS
    }
    return _with_primary(decisions, names)


def _elements(text: str) -> Iterator[tuple[str, str]]:
    """Yield each element that is closed, from left to right, and nothing inside of one."""
    closings: dict[str, list[tuple[int, int]]] = {}
    for match in _CLOSING.finditer(text):
        closings.setdefault(match[1].lower(), []).append(match.span())
    position = 0
    for match in _OPENING.finditer(text):
        if match.start() < position:
            continue
        ends = closings.get(match[1].lower(), [])
        place = bisect_left(ends, (match.end(), 0))
        if place < len(ends):
            start, position = ends[place]
            yield match[1], text[match.end() : start]


def _with_primary(decisions: Decisions, names: Sequence[str]) -> _Found:
    if not decisions:
        return None
    wanted = (name.lower() for name in names if name.lower() in decisions)
    return next(wanted, next(iter(decisions))), decisions


def _flat_json(text: str, names: Sequence[str]) -> _Found:
    """The first object without another inside, with every apostrophe taken for a quote."""
    del names
    match = _FLAT_OBJECT.search(text)
    value = _json_object(match[0].replace("'", '"')) if match else None
    return None if value is None else _of_dict(value, _IDS)


def _dict(text: str, names: Sequence[str]) -> _Found:
    """What stands between the first `{` after a known marker and the last `}`."""
    del names
    marker = next((marker for marker in _MARKERS if marker in text), "")
    return _dict_in(text[text.find(marker) + len(marker) :], _IDS, None)


def _dict_in(text: str, ids: frozenset[str], names: Sequence[str] | None) -> _Found:
    start, end = text.find("{"), text.rfind("}")
    value = read_object(text[start : end + 1], Dialect.LITERAL) if 0 <= start < end else None
    found = None if value is None else _of_dict(value, ids)
    if found is None or names is None:
        return found
    return _with_primary({key.lower(): one for key, one in found[1].items()}, names)


def _of_dict(value: Mapping[str, Any], ids: frozenset[str]) -> _Found:
    decisions = {key: _written(one) for key, one in value.items() if key.lower() not in ids}
    return (next(iter(decisions)), decisions) if decisions else None


def _plain(text: str) -> str:
    """The text itself, without the known prefixes, unless it is long."""
    words = text.lower().strip()
    for prefix in _PREFIXES:
        words = words.removeprefix(prefix).strip()
    return words if 0 < len(words) <= _LONGEST else UNKNOWN


def _written(value: object) -> str:
    try:
        return str(value).lower()
    except RecursionError:
        return UNKNOWN


def _json_object(text: str) -> dict[str, Any] | None:
    try:
        value: Any = json.loads(text)
    except (ValueError, RecursionError):
        return None
    return cast("dict[str, Any]", value) if isinstance(value, dict) else None


# Lay the answer that the published scorer finds beside ours.

NOT_FOUND: Final = "not found"


def published(rules: JudgingRules, returned: Returned, ours: Answer) -> Answer:
    """Return the answer as the published scorer finds it.

    That scorer reads texts alone, so of a mapping the fields are taken as they are. If both
    find the same, the answer is ours, which tells where it stood.
    """
    if not returned.text or (returned.kind is ReturnedKind.MAPPING and _is_mapping(ours)):
        return ours
    names = [field.name for field in rules.fields]
    found = published_answer(returned.text, names)
    if ours.complete and _same(ours.values, found):
        return ours
    missing = tuple(
        field.name
        for field in rules.fields
        if field.compare is not Compare.IGNORE and field.name not in found
    )
    return Answer(
        values=found,
        form=AnswerForm.NOT_FOUND if missing else AnswerForm.PUBLISHED,
        missing=missing,
        extra=ours.extra,
        beside=ours.beside,
        why=f"the published scorer finds no {', '.join(missing)}" if missing else "",
    )


def _is_mapping(ours: Answer) -> bool:
    return ours.form == AnswerForm.MAPPING or bool(ours.values)


def _same(ours: Mapping[str, JsonValue], found: Mapping[str, str]) -> bool:
    return {name: str(value).lower() for name, value in ours.items()} == found
