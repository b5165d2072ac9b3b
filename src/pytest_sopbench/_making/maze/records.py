"""A published file: a JSON list of records."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.files.document import read_json
from pytest_sopbench.errors import LoadingError

from .parts import Parts, split_prompt

_NEEDED: Final = ("input", "target", "json_schema")
_KNOWN: Final = (*_NEEDED, "no_required_eval_acc_keys", "model_response")


@dataclass(frozen=True, slots=True, kw_only=True)
class MazeRecord:
    """One record; its `position`, from 1, is its id. `response` is there where `has_response`."""

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
        raise LoadingError(path, "not a JSON list of records", hint="SOP-Maze publishes such files")
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
