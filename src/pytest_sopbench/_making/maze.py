"""Tool-less domains from files as SOP-Maze publishes them."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_sopbench._core.documents.schema import BadSchemaError, DocumentRules
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.files import read_json
from pytest_sopbench.errors import LoadingError

# The four headed parts of a published prompt, taken apart so that they can be put together.

HEADERS: Final = ("【Background】", "【Requirements】", "【Input】", "【Output Requirement】")
"""What the parts begin with, in this order, each once."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Parts:
    """A prompt: `sop` with both of its headers, `case`, and what is said of the output.

    `requirement` is what stands before the schema; the schema follows as Python prints it if
    `has_schema`, and else nothing.
    """

    sop: str
    case: str
    requirement: str
    has_schema: bool


def split_prompt(text: str, schema: Mapping[str, JsonValue]) -> Parts:
    """Take a prompt apart.

    Raises:
        ValueError: a header is missing, stands twice, or in another order.
    """
    places = [text.find(header) for header in HEADERS]
    for header, place in zip(HEADERS, places, strict=True):
        if text.count(header) != 1:
            msg = f"the header {header} stands {text.count(header)} times in its input"
            raise ValueError(msg)
        if place != max(places[: places.index(place) + 1]):
            msg = f"the header {header} stands in another order"
            raise ValueError(msg)
    if text[: places[0]].strip():
        msg = f"something stands before {HEADERS[0]}"
        raise ValueError(msg)
    rest = text[places[3] + len(HEADERS[3]) :]
    spelled = repr(schema)
    has_schema = rest.endswith(spelled)
    return Parts(
        sop=text[: places[2]],
        case=text[places[2] + len(HEADERS[2]) : places[3]],
        requirement=rest.removesuffix(spelled) if has_schema else rest,
        has_schema=has_schema,
    )


# A published file: a JSON list of records.

_NEEDED: Final = ("input", "target", "json_schema")
_KNOWN: Final = (*_NEEDED, "no_required_eval_acc_keys", "model_response")


@dataclass(frozen=True, slots=True, kw_only=True)
class MazeRecord:
    """One record; its `position`, from 1, is its id. `response` is there if `has_response`."""

    position: int
    parts: Parts
    target: Mapping[str, JsonValue]
    schema: Mapping[str, JsonValue]
    ignored: tuple[str, ...]
    response: JsonValue = None
    has_response: bool = False


def read_records(path: Path) -> tuple[MazeRecord, ...]:
    """Read a file.

    Raises:
        LoadingError: it is no JSON list, or one record is not as published.
    """
    content = read_json(path)
    if not isinstance(content, list) or not content:
        hint = "SOP-Maze publishes such files; a table of cases is exported as .csv"
        raise LoadingError(path, "not a JSON list of records", hint=hint)
    return tuple(_record(path, position, one) for position, one in enumerate(content, 1))


def _record(path: Path, position: int, value: JsonValue) -> MazeRecord:
    where = f"record {position}"
    if not isinstance(value, Mapping):
        raise LoadingError(path, f"{where} is no object")
    missing = [key for key in _NEEDED if key not in value]
    unknown = [key for key in value if key not in _KNOWN]
    if missing or unknown:
        what = f"lacks {missing[0]!r}" if missing else f"has the unknown key {unknown[0]!r}"
        hint = f"a record has {', '.join(_KNOWN)}; nothing of it is left out in silence"
        raise LoadingError(path, f"{where} {what}", hint=hint)
    text, target, schema = (value[key] for key in _NEEDED)
    if not isinstance(text, str):
        raise LoadingError(path, f"{where}: 'input' is no text")
    if not isinstance(target, Mapping) or not isinstance(schema, Mapping):
        raise LoadingError(path, f"{where}: 'target' and 'json_schema' must be objects")
    try:
        parts = split_prompt(text, schema)
    except ValueError as fault:
        raise LoadingError(path, f"{where}: {fault}") from fault
    return MazeRecord(
        position=position,
        parts=parts,
        target=target,
        schema=schema,
        ignored=_names(path, where, value.get("no_required_eval_acc_keys")),
        response=value.get("model_response"),
        has_response="model_response" in value,
    )


def _names(path: Path, where: str, value: JsonValue) -> tuple[str, ...]:
    if value is None:
        return ()
    if isinstance(value, Sequence) and not isinstance(value, str):
        names = tuple(dict.fromkeys(one for one in value if isinstance(one, str)))
        if len(names) == len(value):
            return names
    problem = f"{where}: 'no_required_eval_acc_keys' is neither null nor a list of names, each once"
    raise LoadingError(path, problem)


# Turn the records of published files into folders of our layout.

SCHEMA: Final = "answer.schema.json"
RESPONSES: Final = "responses.jsonl"
CASE: Final = "case"
REQUIREMENT: Final = "output_requirement"
_ORIGIN: Final = "published.json"
_CLASSES: Final = {"DFS": "deep", "BFS": "wide"}
"""What a published file name carries, and the class it stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MazeDomain:
    """One folder to write: its name, its files, and the records whose targets break their schema.

    Of each of these it has the position, what breaks, and whether no answer can match it.
    """

    name: str
    source: Path
    records: int
    domain_class: str
    files: Mapping[str, str]
    broken: Sequence[tuple[int, str, bool]]


def class_of(path: Path) -> str:
    """Return the class that a published file name carries, or nothing."""
    return next((kind for mark, kind in _CLASSES.items() if mark in path.name), "")


def convert_file(path: Path, name: str, domain_class: str) -> tuple[MazeDomain, ...]:
    """Turn a file into one domain; into several if its records have not all one SOP and schema.

    Raises:
        LoadingError: the file cannot be read, or a record of it not be put together again.
    """
    groups: dict[str, list[MazeRecord]] = {}
    for record in read_records(path):
        kind = [record.parts.sop, record.schema, list(record.ignored)]
        groups.setdefault(json.dumps(kind), []).append(record)
    return tuple(
        _domain(path, name if number == 1 else f"{name}_{number}", domain_class, records)
        for number, records in enumerate(groups.values(), 1)
    )


def _domain(path: Path, name: str, domain_class: str, records: Sequence[MazeRecord]) -> MazeDomain:
    first = records[0]
    usual = (first.parts.requirement, first.parts.has_schema)
    rows = [_row(record, usual) for record in records]
    metadata: dict[str, JsonValue] = {
        "name": name,
        "title": path.stem,
        "output_schema": SCHEMA,
        "ignored_paths": list(first.ignored),
        "class": domain_class,
    }
    origin = {
        "file": path.name,
        "prompt": ["SOP", HEADERS[2], f"inputs.{CASE}", HEADERS[3], REQUIREMENT, "the schema"],
        REQUIREMENT: usual[0],
        "schema_follows": usual[1],
    }
    files = {
        "metadata.json": _pretty(metadata),
        SCHEMA: _pretty(first.schema),
        # A text without words could not be loaded, and has none to lose.
        "sop.txt": first.parts.sop,
        "tasks.jsonl": "".join(f"{_line(row)}\n" for row in rows),
        _ORIGIN: _pretty(origin),
    }
    responses = [
        {"id": str(one.position), "model_response": one.response}
        for one in records
        if one.has_response
    ]
    if responses:
        files[RESPONSES] = "".join(f"{_line(one)}\n" for one in responses)
    return MazeDomain(
        name=name,
        source=path,
        records=len(records),
        domain_class=domain_class,
        files=files,
        broken=_broken(path, records),
    )


def _row(record: MazeRecord, usual: tuple[str, bool]) -> dict[str, JsonValue]:
    inputs: dict[str, JsonValue] = {CASE: record.parts.case}
    if (record.parts.requirement, record.parts.has_schema) != usual:
        # Rare, and a part of what the model was told.
        spelled = repr(record.schema) if record.parts.has_schema else ""
        inputs[REQUIREMENT] = f"{record.parts.requirement}{spelled}"
    return {"id": str(record.position), "inputs": inputs, "expected": record.target, "tags": []}


def _broken(path: Path, records: Sequence[MazeRecord]) -> Sequence[tuple[int, str, bool]]:
    rules = DocumentRules(schema=records[0].schema, ignored=records[0].ignored)
    try:
        rules.validator.check()
    except BadSchemaError as fault:
        raise LoadingError(path, f"record {records[0].position}: {fault}") from fault
    found: list[tuple[int, str, bool]] = []
    for record in records:
        violations = rules.validator.violations(record.target)
        hopeless = [one for one in violations if not rules.ignored_patterns.match(one.about)]
        for first in (hopeless or violations)[:1]:
            what = f"{first.place} breaks {first.keyword} {first.demand}".rstrip()
            found.append((record.position, f"{what}: {first.value}", bool(hopeless)))
    return found


def _pretty(value: object) -> str:
    return f"{json.dumps(value, indent=2, ensure_ascii=False)}\n"


def _line(value: object) -> str:
    # ASCII, since some of their texts hold line ends that not every reader takes for text.
    return json.dumps(value)
