"""What `sopbench new --from` was given: found out by what lies there, never asked."""

from __future__ import annotations

from enum import StrEnum
from pathlib import Path
from typing import Final

from pytest_sopbench._loading.metadata import DATA_FILE, is_published
from pytest_sopbench._making.documents import DOCUMENTS
from pytest_sopbench._making.sheet import TABLES
from pytest_sopbench.errors import LoadingError


class Kind(StrEnum):
    """What a domain can be made of, as messages call it."""

    TABLE = "a table"
    PUBLISHED = "a published folder"
    SCENARIOS = "a scenario file"


_SCENARIOS: Final = (".json", ".jsonl")
_OLDER: Final = {
    ".xls": "save it as .xlsx",
    ".xlsb": "save it as .xlsx",
    ".ods": "save it as .xlsx",
    ".numbers": "export it as .xlsx",
}
_TAKEN: Final = (
    "--from takes a table (.xlsx, .csv, .tsv, .parquet), a folder as SOP-Bench publishes it (with"
    f" {DATA_FILE}) or a file as SOP-Maze publishes it (.json); --sop takes a document"
)
_MOST: Final = 8


def recognise(path: Path) -> Kind:
    """Tell what a domain is to be made of.

    Raises:
        LoadingError: there is nothing, or nothing of these kinds.
    """
    suffix = path.suffix.lower()
    if path.is_dir():
        return _recognise_folder(path)
    if not path.exists():
        raise LoadingError(path, "no such file or folder", hint=_beside(path))
    if suffix in TABLES:
        return Kind.TABLE
    if suffix in _SCENARIOS:
        return Kind.SCENARIOS
    if suffix in DOCUMENTS:
        hint = "give it with --sop, and with --from a table of old cases"
        if suffix == ".txt":
            hint = f"{hint}; call it .csv if it is the table"
        raise LoadingError(path, f"is a document ({suffix}), and holds no cases", hint=hint)
    problem = f"{suffix or 'no ending'!r} is nothing that a domain is made of"
    raise LoadingError(path, problem, hint=_OLDER.get(suffix, _TAKEN))


def _recognise_folder(path: Path) -> Kind:
    if is_published(path):
        return Kind.PUBLISHED
    if (path / "metadata.json").is_file() or (path / "domain.toml").is_file():
        hint = f"a domain of this layout is used as it is: --sop-domain {path}"
        raise LoadingError(path, f"is no published folder: it has no {DATA_FILE}", hint=hint)
    held = _names(path, None)
    holds = f"it holds {held}, and no {DATA_FILE}" if held else "it is empty"
    raise LoadingError(path, f"is no published folder: {holds}", hint=_TAKEN)


def _beside(path: Path) -> str:
    """Name the tables in the folder in which something was looked for."""
    found = _names(path.parent, TABLES)
    return f"there is {found}" if found else ""


def _names(folder: Path, endings: tuple[str, ...] | None) -> str:
    try:
        found = sorted(
            one.name for one in folder.iterdir() if endings is None or one.suffix.lower() in endings
        )
    except OSError:
        return ""
    more = f" and {len(found) - _MOST} more" if len(found) > _MOST else ""
    return f"{', '.join(found[:_MOST])}{more}"
