"""Read a folder that may be broken in any way; nothing that stands in it is raised."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from hashlib import sha256
from pathlib import Path
from typing import Final, cast

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.domain.expected_calls import FILE_NAME as CALLS_FILE
from pytest_sopbench._loading.domain.tool_specs import FILE_NAME as SPECS_FILE
from pytest_sopbench._loading.files.document import read_text
from pytest_sopbench._loading.load import (
    DATA_FILES,
    POLICY_FILE,
    SOP_FILES,
    TOOLS_FILE,
    load_domain,
)
from pytest_sopbench._loading.metadata.read import FILE_NAMES as METADATA_FILES
from pytest_sopbench.errors import LoadingError

from .material import File, Folder
from .rough_table import RoughTable, rough_csv, rough_jsonl

KNOWN: Final = (
    *METADATA_FILES,
    *SOP_FILES,
    SPECS_FILE,
    *DATA_FILES,
    TOOLS_FILE,
    POLICY_FILE,
    CALLS_FILE,
)
"""The files that make a domain; its tables are known by its metadata alone."""

LARGEST: Final = 200_000_000
"""Bytes of a file from which on it is not looked into."""


def read_folder(path: Path) -> Folder:
    """Read a folder; it need not be there."""
    files = {name: _file(path / name) for name in KNOWN if _is_there(path / name)}
    metadata_file = next((name for name in METADATA_FILES if name in files), METADATA_FILES[0])
    metadata = _metadata(files.get(metadata_file))
    for name in _tables(metadata):
        if name not in files and _is_there(path / name):
            files[name] = _file(path / name)
    data_file = next((name for name in DATA_FILES if name in files), "")
    domain, refused = _loaded(path)
    return Folder(
        path=path,
        files=files,
        metadata_file=metadata_file,
        metadata=metadata,
        data_file=data_file,
        table=_table(files.get(data_file), metadata),
        domain=domain,
        refused=refused,
    )


def content_hash(path: Path) -> str:
    """The hash of the files that make a domain, which a saved audit is known by."""
    content = sha256()
    metadata: Mapping[str, JsonValue] = {}
    for name in METADATA_FILES:
        if _is_there(path / name):
            metadata = metadata or _metadata(_file(path / name))
    for name in (*KNOWN, *sorted(_tables(metadata))):
        if _is_there(path / name):
            content.update(f"{name}\n".encode())
            content.update(sha256(_bytes(path / name)).digest())
    return content.hexdigest()[:16]


def _is_there(path: Path) -> bool:
    try:
        return path.is_file() and path.stat().st_size <= LARGEST
    except OSError:
        return False


def _bytes(path: Path) -> bytes:
    try:
        return path.read_bytes()
    except OSError:
        return b""


def _file(path: Path) -> File:
    try:
        return File(name=path.name, text=read_text(path))
    except LoadingError as fault:
        data = _bytes(path)
        return File(name=path.name, text=data.decode("utf-8", "replace"), unreadable=fault)


def _metadata(file: File | None) -> Mapping[str, JsonValue]:
    if file is None:
        return {}
    try:
        read = tomllib.loads(file.text) if file.name.endswith(".toml") else json.loads(file.text)
    except (ValueError, RecursionError):
        return {}
    return cast("Mapping[str, JsonValue]", read) if isinstance(read, dict) else {}


def _tables(metadata: Mapping[str, JsonValue]) -> Iterator[str]:
    """The files of records that the metadata names and that lie in the folder itself."""
    tables = metadata.get("tables")
    for shape in tables.values() if isinstance(tables, Mapping) else ():
        name = shape.get("file") if isinstance(shape, Mapping) else None
        if isinstance(name, str) and name and "\0" not in name and ".." not in name:
            yield name


def _table(file: File | None, metadata: Mapping[str, JsonValue]) -> RoughTable | None:
    if file is None:
        return None
    table = rough_jsonl(file.text) if file.name.endswith(".jsonl") else rough_csv(file.text)
    headers = metadata.get("columns")
    if table is None or not isinstance(headers, Mapping):
        return table
    return table.renamed(headers)


def _loaded(path: Path) -> tuple[Domain | None, LoadingError | None]:
    try:
        return load_domain(path), None
    except LoadingError as fault:
        return None, fault
    except (OSError, RecursionError, MemoryError, ValueError) as fault:
        # What nobody has thought of is said as well, and is no reason for a traceback.
        return None, LoadingError(path, f"cannot be loaded: {type(fault).__name__}: {fault}")
