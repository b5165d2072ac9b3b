"""What an audit looks at: the files of a folder as far as they can be read."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from pathlib import Path

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench.errors import LoadingError

from .rough_table import RoughTable


@dataclass(frozen=True, slots=True, kw_only=True)
class File:
    """One file: its text, or why it has none."""

    name: str
    text: str = ""
    unreadable: LoadingError | None = None


@dataclass(frozen=True, slots=True, kw_only=True)
class Folder:
    """A folder before it is a domain.

    Attributes:
        path: the folder.
        files: the files that make a domain, by name, as far as they are there.
        metadata_file: the file that holds the metadata; the usual name where there is none.
        metadata: its keys; empty where it cannot be read.
        data_file: the file with the rows; empty where there is none.
        table: its rows, read without any demand on them; `None` where that is impossible.
        domain: the domain, where it can be loaded.
        refused: why it cannot be loaded.
    """

    path: Path
    files: Mapping[str, File]
    metadata_file: str
    metadata: Mapping[str, JsonValue] = field(default_factory=dict[str, JsonValue])
    data_file: str = ""
    table: RoughTable | None = None
    domain: Domain | None = None
    refused: LoadingError | None = None
