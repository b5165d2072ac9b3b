"""Read what a domain says of itself, and say which key is wrong."""

from __future__ import annotations

import stat
from collections.abc import Mapping
from dataclasses import dataclass
from pathlib import Path

from pydantic_core import ErrorDetails, ValidationError

from pytest_sopbench._loading.files.document import read_json, read_toml, unreadable
from pytest_sopbench._loading.files.suggestions import nearest, shown
from pytest_sopbench.errors import LoadingError

from .published_layout import adapted, is_published
from .schema import COLUMN_KEYS, DOCUMENT_KEYS, DocumentMetadata, Metadata
from .unknown_keys import refuse_slips, unknown_keys

FILE_NAMES = ("metadata.json", "domain.toml")
"""What makes a folder a domain: exactly one of these."""

_SHOWN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What a domain says of itself, and the file that says it."""

    path: Path
    metadata: Metadata
    warnings: tuple[str, ...]


def is_domain_folder(folder: Path) -> bool:
    """Whether a folder says that it is a domain, or does not let us see whether it does."""
    try:
        return bool(_described_in(folder))
    except PermissionError:
        # Told when it is loaded; a listing has it among the broken ones.
        return True


def read_metadata(folder: Path) -> Described:
    """Read `metadata.json` or `domain.toml`.

    Raises:
        LoadingError: there is neither, or both; it cannot be read; a key is missing or wrong.
    """
    try:
        found = _described_in(folder)
    except PermissionError as fault:
        raise unreadable(folder, fault) from fault
    if not found:
        raise LoadingError(
            folder,
            "not a domain: it has neither metadata.json nor domain.toml",
            hint="a domain is a folder; `sopbench new` makes one",
        )
    if len(found) > 1:
        raise LoadingError(folder, "has both metadata.json and domain.toml", hint="keep one")
    path = found[0]
    content = read_toml(path) if path.suffix == ".toml" else read_json(path)
    if not isinstance(content, Mapping):
        raise LoadingError(path, "not a JSON object with keys")
    kind = _kind_of(path, content)
    published = is_published(folder)
    content, notes = adapted(content, folder) if published else (content, ())
    try:
        metadata = kind.model_validate(content)
    except ValidationError as fault:
        raise LoadingError(path, _problems(fault), hint=_hint(fault, content)) from fault
    if not published:
        refuse_slips(path, metadata)
    warnings = tuple(f"{path.name}: {text}" for text in (*notes, *unknown_keys(metadata)))
    return Described(path=path, metadata=metadata, warnings=warnings)


def _described_in(folder: Path) -> list[Path]:
    """The files that describe a domain; not `Path.is_file`, which hides a refusal since 3.14."""
    found: list[Path] = []
    for path in (folder / name for name in FILE_NAMES):
        try:
            mode = path.stat().st_mode
        except PermissionError:
            raise
        except OSError:
            continue
        if stat.S_ISREG(mode):
            found.append(path)
    return found


def _kind_of(path: Path, content: Mapping[str, object]) -> type[Metadata]:
    """Return the shape of the metadata: a domain has columns, or an answer that is a document."""
    if "output_schema" in content:
        key = next((key for key in content if key in COLUMN_KEYS), "")
        if key:
            raise LoadingError(
                path,
                f"key {key!r} is about columns and tools, and this domain has 'output_schema'",
                hint="remove it: the rows of a tool-less domain have 'inputs' and 'expected'",
            )
        return DocumentMetadata
    key = next((key for key in content if key in DOCUMENT_KEYS), "")
    if key:
        raise LoadingError(
            path,
            f"key {key!r} is for answers that are JSON documents, and 'output_schema' is missing",
            hint="name the file with the schema of the answer, or remove the key",
        )
    return Metadata


def _problems(fault: ValidationError) -> str:
    problems = [_problem(error) for error in fault.errors(include_url=False)]
    more = f"; and {len(problems) - _SHOWN} more" if len(problems) > _SHOWN else ""
    return "; ".join(problems[:_SHOWN]) + more


def _problem(error: ErrorDetails) -> str:
    key = ".".join(str(part) for part in error["loc"])
    if error["type"] == "missing":
        return f"key {key!r} is missing"
    message = error["msg"]
    text = message[:1].lower() + message[1:]
    return f"key {key!r} is {shown(error['input'])}: {text}"


def _hint(fault: ValidationError, content: Mapping[str, object]) -> str:
    missing = [str(error["loc"][0]) for error in fault.errors() if error["type"] == "missing"]
    unknown = [key for key in content if key not in Metadata.model_fields]
    found = ((key, nearest(key, unknown)) for key in missing)
    return "\n".join(f"{near!r} is there; is {key!r} meant?" for key, near in found if near)
