"""Turn the records of published files into folders of our layout, and prove it without a loss."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_sopbench._core.documents.rules import DocumentRules
from pytest_sopbench._core.documents.schema import BadSchemaError
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench.errors import LoadingError

from .parts import HEADERS, Parts, joined_prompt
from .records import MazeRecord, read_records

SCHEMA: Final = "answer.schema.json"
RESPONSES: Final = "responses.jsonl"
CASE: Final = "case"
REQUIREMENT: Final = "output_requirement"
_ORIGIN: Final = "published.json"
_CLASSES: Final = {"DFS": "deep", "BFS": "wide"}
"""What a published file name carries, and the class it stands for."""


@dataclass(frozen=True, slots=True, kw_only=True)
class BrokenTarget:
    """A record whose target breaks its own schema; `hopeless` where no answer can match it."""

    position: int
    what: str
    hopeless: bool


@dataclass(frozen=True, slots=True, kw_only=True)
class MazeDomain:
    """One folder to write: its name, its files, and what is odd about its records."""

    name: str
    source: Path
    records: int
    domain_class: str
    files: Mapping[str, str]
    broken: tuple[BrokenTarget, ...]


def class_of(path: Path) -> str:
    """Return the class that a published file name carries, or nothing."""
    return next((kind for mark, kind in _CLASSES.items() if mark in path.name), "")


def convert_file(path: Path, name: str, domain_class: str) -> tuple[MazeDomain, ...]:
    """Turn a file into one domain; into several where its records have not all one SOP and schema.

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
    sop = first.parts.sop
    for record, row in zip(records, rows, strict=True):
        _prove(path, record, row, sop, usual)
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
        "sop.txt": sop,
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


def _prove(
    path: Path, record: MazeRecord, row: Mapping[str, JsonValue], sop: str, usual: tuple[str, bool]
) -> None:
    """Put a prompt together from what is written, and hold it against the published one."""
    read = json.loads(_line(row))
    own = read["inputs"].get(REQUIREMENT)
    parts = Parts(
        # As it is read back, with one kind of line end.
        sop=sop.replace("\r\n", "\n").replace("\r", "\n"),
        case=read["inputs"][CASE],
        requirement=usual[0] if own is None else own,
        has_schema=usual[1] if own is None else False,
    )
    whole = joined_prompt(parts, json.loads(_pretty(record.schema)))
    same = whole == joined_prompt(record.parts, record.schema)
    if not same or read["expected"] != record.target:
        raise LoadingError(path, f"record {record.position} cannot be written without a loss")


def _broken(path: Path, records: Sequence[MazeRecord]) -> tuple[BrokenTarget, ...]:
    rules = DocumentRules(schema=records[0].schema, ignored=records[0].ignored)
    try:
        rules.validator.check()
    except BadSchemaError as fault:
        raise LoadingError(path, f"record {records[0].position}: {fault}") from fault
    found: list[BrokenTarget] = []
    for record in records:
        violations = rules.validator.violations(record.target)
        hopeless = [one for one in violations if not rules.ignored_patterns.match(one.about)]
        for first in (hopeless or violations)[:1]:
            what = f"{first.place} breaks {first.keyword} {first.demand}".rstrip()
            broken = BrokenTarget(
                position=record.position, what=f"{what}: {first.value}", hopeless=bool(hopeless)
            )
            found.append(broken)
    return tuple(found)


def _pretty(value: object) -> str:
    return f"{json.dumps(value, indent=2, ensure_ascii=False)}\n"


def _line(value: object) -> str:
    # ASCII, since some of their texts hold line ends that not every reader takes for text.
    return json.dumps(value)
