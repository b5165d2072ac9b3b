"""Read a folder that may be broken in any way; nothing that stands in it is raised."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.files.document import read_text
from pytest_sopbench._loading.load import (
    DATA_FILES,
    load_domain,
)
from pytest_sopbench._loading.metadata.read import FILE_NAMES as METADATA_FILES
from pytest_sopbench.errors import LoadingError

from .content import KNOWN, bytes_of, is_there, metadata_in, tables_of
from .material import File, Folder
from .rough_table import RoughTable, rough_csv, rough_jsonl


def read_folder(path: Path) -> Folder:
    """Read a folder; it need not be there."""
    files = {name: _file(path / name) for name in KNOWN if is_there(path / name)}
    metadata_file = next((name for name in METADATA_FILES if name in files), METADATA_FILES[0])
    described = files.get(metadata_file)
    metadata = metadata_in(metadata_file, described.text if described is not None else "")
    for name in tables_of(metadata):
        if name not in files and is_there(path / name):
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


def _file(path: Path) -> File:
    try:
        return File(name=path.name, text=read_text(path))
    except LoadingError as fault:
        data = bytes_of(path)
        return File(name=path.name, text=data.decode("utf-8", "replace"), unreadable=fault)


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
