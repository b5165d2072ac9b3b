"""Audits that were saved: what they found, as long as the domain's files are the same.

Every session looks for one, so this file loads nothing of what makes an audit.
"""

from __future__ import annotations

import json
import tomllib
from collections.abc import Iterator, Mapping
from contextlib import suppress
from hashlib import sha256
from pathlib import Path
from typing import Final, cast

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.load import DATA_FILES, POLICY_FILE, SOP_FILES, TOOLS_FILE
from pytest_sopbench._loading.metadata import FILE_NAMES as METADATA_FILES
from pytest_sopbench._loading.tools import EXPECTED_CALLS_FILE as CALLS_FILE
from pytest_sopbench._loading.tools import TOOL_SPECS_FILE as SPECS_FILE

# The files that make a domain, and the hash of what stands in them.

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


def content_hash(folder: Path) -> str:
    """The hash of the files that make a domain, which a saved audit is known by."""
    content = sha256()
    tables: set[str] = set()
    for name in METADATA_FILES:
        if is_there(folder / name):
            text = bytes_of(folder / name).decode("utf-8-sig", "replace")
            tables |= set(tables_of(metadata_in(name, text)))
    for name in (*KNOWN, *sorted(tables)):
        if is_there(folder / name):
            content.update(f"{name}\n".encode())
            content.update(sha256(bytes_of(folder / name)).digest())
    return content.hexdigest()[:16]


def is_there(path: Path) -> bool:
    """Whether there is a file that can be looked into."""
    try:
        return path.is_file() and path.stat().st_size <= LARGEST
    except (OSError, ValueError):
        return False


def bytes_of(path: Path) -> bytes:
    """What stands in a file; nothing if it cannot be opened."""
    try:
        return path.read_bytes()
    except OSError:
        return b""


def metadata_in(name: str, text: str) -> Mapping[str, JsonValue]:
    """The keys of metadata; none if they cannot be read."""
    try:
        read = tomllib.loads(text) if name.endswith(".toml") else json.loads(text)
    except (ValueError, RecursionError):
        return {}
    return cast("Mapping[str, JsonValue]", read) if isinstance(read, dict) else {}


def tables_of(metadata: Mapping[str, JsonValue]) -> Iterator[str]:
    """The files of records that the metadata names, and that lie in the folder itself."""
    tables = metadata.get("tables")
    for shape in tables.values() if isinstance(tables, Mapping) else ():
        name = shape.get("file") if isinstance(shape, Mapping) else None
        if isinstance(name, str) and name and "\0" not in name and ".." not in name:
            yield name


# What was saved.

FOLDER = Path(".sop") / "audits"
"""Where they lie, in the folder of the project."""

_FAULTS: Final = ("error", "warning")


def saved_summary(domain: Domain, project: Path) -> str:
    """What the saved audit of a domain says; empty if there is none of the same content."""
    path = path_of(project, domain.name)
    if not path.is_file():
        return ""
    with suppress(OSError, ValueError, KeyError, TypeError):
        saved = json.loads(path.read_text("utf-8"))
        if saved["hash"] == content_hash(domain.folder):
            return str(saved["summary"])
    return ""


def has_faults(summary: str) -> bool:
    """Whether an audit has found more than notes."""
    return any(severity in summary for severity in _FAULTS)


def path_of(project: Path, name: str) -> Path:
    # Whatever a folder is called, this is a name for a file.
    safe = "".join(sign if sign.isalnum() or sign in "._-" else "_" for sign in name)
    return project / FOLDER / f"{safe.lstrip('.')[:100] or 'domain'}.json"
