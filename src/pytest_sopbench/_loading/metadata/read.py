"""Read what a domain says of itself, and say which key is wrong."""

from __future__ import annotations

import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from itertools import islice
from pathlib import Path

from pydantic_core import ErrorDetails, ValidationError

from pytest_sopbench._loading.files.cells import SHOWN, is_domain_name, listed, nearest, shown
from pytest_sopbench._loading.files.document import read_json, read_toml, unreadable
from pytest_sopbench.errors import LoadingError

from .schema import COLUMN_KEYS, DOCUMENT_KEYS, DocumentMetadata, Metadata, Shape

# Folders as SOP-Bench publishes them: they were not written for our format.
#
# Their metadata may lack what ours has, and have what ours lacks.

DATA_FILE = "test_set_with_outputs.csv"
"""The data file of SOP-Bench: it makes a folder one of the published layout."""

_TEXTS = ("title", "description", "industry", "licence", "version")


def is_published(folder: Path) -> bool:
    """Whether a folder has the published layout."""
    return (folder / DATA_FILE).is_file()


def adapted(
    content: Mapping[str, object], folder: Path
) -> tuple[Mapping[str, object], tuple[str, ...]]:
    """Return the metadata without what only describes and cannot be read, and a note of each."""
    kept, notes = dict(content), list[str]()
    for key in [key for key, value in content.items() if value is None]:
        del kept[key]
    for key in _TEXTS:
        if isinstance(kept.get(key), list | dict | bool):
            del kept[key]
            notes.append(f"key {key!r} is no text, and is left out")
    name = kept.get("name")
    if isinstance(name, str) and not is_domain_name(name) and is_domain_name(folder.name):
        kept = {"title": name, **kept, "name": folder.name}
        notes.append(f"{name!r} cannot be the name of a domain; its folder's name is")
    return kept, tuple(notes)


# The keys of `metadata.json` that the format does not have: refused, or told.
#
# A misspelled key that decides something would switch a rule off in silence. A folder of the
# published layout has keys of its own, so that there nothing is refused for them.

LIMIT = 500
"""Unknown keys from which on a file is something else than metadata."""

DECIDING = frozenset(
    {
        "acceptable_column",
        "contract",
        "ignored_paths",
        "input_columns",
        "known_disagreement_column",
        "ordered_paths",
        "outputs",
        "private_columns",
        "reject_bad_arguments",
        "roles",
        "tables",
        "tags_column",
        "tools",
        "types",
    }
)
"""Keys that change what is judged, or what an agent is given."""


def refuse_slips(path: Path, metadata: Metadata) -> None:
    """Refuse an unknown key inside `outputs`, `tables` or `tools`, and one like a deciding key.

    Raises:
        LoadingError: with the nearest key as the hint.
    """
    every = list(islice(_unknown(metadata), LIMIT + 1))
    if len(every) > LIMIT:
        names = listed(name for _, name, _ in every[:3])
        raise LoadingError(
            path,
            f"more than {LIMIT} unknown keys, the first of them {names}",
            hint="a domain says here what its columns mean; its rows stand in a file of their own",
        )
    for prefix, key, shape in every:
        near = _meant(key, shape)
        if prefix or near in DECIDING:
            hint = f"is {near!r} meant?" if near else "remove it, or see which keys there are"
            raise LoadingError(path, f"key {prefix + key!r} is unknown", hint=hint)


def unknown_keys(metadata: Metadata) -> Iterator[str]:
    """Say of each unknown key that it has no effect; of many the first few."""
    every = list(_unknown(metadata))
    for prefix, key, shape in every[:SHOWN]:
        near = _meant(key, shape)
        advice = f"; is {near!r} meant?" if near else ""
        yield f"key '{prefix}{key}' is unknown and has no effect{advice}"
    if len(every) > SHOWN:
        yield f"{len(every) - SHOWN} more keys are unknown and have no effect"


def _unknown(metadata: Metadata) -> Iterator[tuple[str, str, Shape]]:
    """Each unknown key, behind the path of where it stands, with the shape that lacks it."""
    yield from (("", key, metadata) for key in metadata.model_extra or {})
    parts: Mapping[str, Mapping[str, Shape]] = {
        "outputs": metadata.outputs,
        "tables": metadata.tables,
        "tools": metadata.tools,
    }
    for part, shapes in parts.items():
        for name, shape in shapes.items():
            yield from ((f"{part}.{name}.", key, shape) for key in shape.model_extra or {})


def _meant(key: str, shape: Shape) -> str:
    return "contract" if key == "rules" else nearest(key, type(shape).model_fields)


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
