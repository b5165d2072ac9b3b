"""`metadata.json`: its keys, and how they are read."""

from __future__ import annotations

import json
import re
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Annotated, Literal, TypeAlias, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    Strict,
    ValidationError,
)
from pydantic import JsonValue as Json
from pydantic_core import ErrorDetails, PydanticCustomError

from pytest_sopbench._core.documents.schema import Role
from pytest_sopbench._core.model.task import Compare, FieldType
from pytest_sopbench.errors import LoadingError

from .files import (
    SHOWN,
    first_twice,
    nearest,
    read_json,
    read_toml,
    shown,
    unreadable,
)

# Which names a domain may have.

NAME_RULE = (
    "a domain's name has letters (a to z), digits, '.', '_' and '-', and starts with a letter"
    " or a digit"
)

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")


def is_domain_name(name: str) -> bool:
    """Whether this may be the name of a domain: nothing in it can leave a folder."""
    return _NAME.fullmatch(name) is not None


# How the values of keys are read; each alias is what a key may hold.

DeclaredType: TypeAlias = Literal["text", "number", "boolean", "list"]
"""What `types` may say of a column; the words are those of `ColumnType`."""


def _names_a_domain(name: str) -> str:
    if not is_domain_name(name):
        kind = "domain_name"
        raise PydanticCustomError(kind, NAME_RULE)
    return name


def _names_a_file(name: str) -> str:
    if not name.strip() or name in {".", ".."} or any(mark in name for mark in "/\\\0"):
        kind = "file_name"
        raise PydanticCustomError(kind, "it is the name of a file in the domain's folder")
    return name


def _once_each(names: list[str]) -> list[str]:
    twice = first_twice(names)
    if twice is not None:
        kind = "twice"
        raise PydanticCustomError(kind, "{name} stands twice", {"name": repr(twice)})
    return names


def _pairs(value: object) -> object:
    """A list of names as the object that pairs each with itself."""
    if isinstance(value, Mapping):
        return cast("object", value)
    if not isinstance(value, list) or not all(
        isinstance(name, str) for name in cast("list[object]", value)
    ):
        kind = "pairs"
        raise PydanticCustomError(kind, "a list of names is needed, or an object of names")
    return {name: name for name in _once_each(cast("list[str]", value))}


def _finite(value: Json) -> Json:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError as fault:
        # TOML has words for what is not a finite number.
        kind = "finite"
        raise PydanticCustomError(kind, "nan and inf are no JSON values") from fault
    return value


Flag: TypeAlias = Annotated[bool, Strict()]
DomainName: TypeAlias = Annotated[str, AfterValidator(_names_a_domain)]
FileName: TypeAlias = Annotated[str, AfterValidator(_names_a_file)]
AtLeastZero: TypeAlias = Annotated[float, Strict(), Field(ge=0, allow_inf_nan=False)]
Share: TypeAlias = Annotated[float, Strict(), Field(ge=0, le=1, allow_inf_nan=False)]
Finite: TypeAlias = Annotated[Json, AfterValidator(_finite)]

Names: TypeAlias = Annotated[list[str], AfterValidator(_once_each)]
"""Names of columns, each once."""

SomeNames: TypeAlias = Annotated[Names, Field(min_length=1)]
"""The same, at least one."""

Pairs: TypeAlias = Annotated[dict[str, str], BeforeValidator(_pairs)]
"""Names with the name that each stands for; a list if the two are the same."""


class Shape(BaseModel):
    """A JSON object whose unknown keys are kept, so that they can be warned of."""

    model_config = ConfigDict(extra="allow", frozen=True, coerce_numbers_to_str=True)

    def told(self) -> dict[str, object]:
        """Return what was given and is not the default, as JSON."""
        return self.model_dump(mode="json", exclude_unset=True, exclude_defaults=True)


class OutputShape(Shape):
    """What `outputs` says of one output field; what is not said is inferred.

    `may_be_empty` says that an empty expected answer is meant; so does an empty text in `values`.
    """

    type: FieldType | None = None
    values: Names = []
    aliases: dict[str, str] = {}
    tolerance: AtLeastZero = 0.0
    ordered: Flag = False
    may_be_empty: Flag = False
    compare: Compare = Compare.EXACT
    units: Names = []
    grouping: Literal["", ",", ".", " ", "'"] = ""
    decimal: Literal[".", ","] | None = None
    formats: Names = []
    key: str = ""
    ignored_paths: Names = []
    ordered_paths: Names = []
    comparer: str = ""
    rubric: str = ""
    rubric_file: str | None = None
    at_least: Share | None = None


class TableShape(Shape):
    """One table of `tables`: a file of records, and which of them belong to a task.

    `match` pairs columns of the file with columns of the data file. It is never left out, since
    an empty one gives every task all records.
    """

    file: str
    match: Pairs
    types: dict[str, DeclaredType] = {}


class LookupShape(Shape):
    """One tool of `tools`: it serves columns of the task's own row, or a constant `result`.

    With `table`, the columns are those of the task's records of that name, or of the world's table.
    `search`, `insert`, `update` and `transition` name a table of the world.
    """

    key: Pairs = {}
    check: Pairs = {}
    returns: Names = []
    value: str | None = None
    missing: Literal["error", "null"] = "error"
    result: Finite = None
    table: str | None = None
    many: Flag = False
    not_found: Literal["error", "empty"] = "error"
    search: str | None = None
    insert: str | None = None
    update: str | None = None
    transition: str | None = None
    where: Json = None
    order_by: Names = []
    set: Json = None
    column: str = ""
    from_: Json = Field(None, alias="from")
    to: Json = None
    requires: Json = None
    error: str = ""


class McpShape(Shape):
    """The MCP server that serves the tools: a `command` with its `env`, or a `url` with `headers`.

    A value `env:NAME` is read from the environment when the server is started or asked.
    """

    command: list[str] = []
    url: str = ""
    env: dict[str, str] = {}
    headers: dict[str, str] = {}


class Metadata(Shape):
    """Everything that `metadata.json` may say; only `name` and `output_columns` must be there.

    Besides the keys that the format promises there are some of ours. `types` maps an input or a
    tool result to `text`, `number`, `boolean` or `list` (a list or an object), if what is
    inferred from its column is not what is meant; output fields have `outputs` for that.
    `distractors` names tools that the procedure never needs, for readers.
    `reject_bad_arguments` (false) asks that tool calls which break their spec are refused, and
    not only recorded. `audit` says which findings of `sopbench audit` are accepted, and why; only
    the audit reads it.
    """

    name: DomainName
    output_columns: SomeNames
    title: str = ""
    description: str = ""
    industry: str = ""
    licence: str = ""
    version: str = ""
    id_column: str | None = None
    input_columns: Names | None = None
    columns: dict[str, str] = {}
    private_columns: Names = []
    tags_column: str | None = None
    acceptable_column: str | None = None
    known_disagreement_column: str | None = None
    world_column: str | None = None
    expected_state_column: str | None = None
    judged: Names = ["answer"]
    judged_state: dict[str, Names] = {}
    outputs: dict[str, OutputShape] = {}
    tools: dict[str, LookupShape] = {}
    tables: dict[str, TableShape] = {}
    mcp: McpShape | None = None
    types: dict[str, DeclaredType] = {}
    distractors: Names = []
    reject_bad_arguments: Flag = False
    contract: Json = None
    audit: Json = None


class DocumentMetadata(Metadata):
    """The metadata of a tool-less domain, whose answer is a JSON document.

    `output_schema` names the file with its schema. `ignored_paths` are not compared, of the lists
    at `ordered_paths` the order counts, and `roles` say what the value at a path is: names or
    dotted paths, which fit at any depth. Domains of the same `class` are summed.
    """

    output_columns: Names = []
    output_schema: FileName
    ignored_paths: Names = []
    ordered_paths: Names = []
    roles: dict[str, Role] = {}
    domain_class: str = Field("", alias="class")


DOCUMENT_KEYS = frozenset({"output_schema", "ignored_paths", "ordered_paths", "roles", "class"})
"""The keys that only a tool-less domain has."""

COLUMN_KEYS = frozenset(Metadata.model_fields) - {
    *("name", "title", "description", "industry", "licence", "version", "audit")
}
"""The keys about columns and tools, which a tool-less domain has none of."""


# Read what a domain says of itself, and say which key is wrong.

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


# The keys of `metadata.json` that the format does not have: refused, or reported.
#
# A misspelled key that decides something would switch a rule off in silence. A folder of the
# published layout has keys of its own, so that there nothing is refused for them.

DECIDING = frozenset(
    {
        "acceptable_column",
        "contract",
        "expected_state_column",
        "ignored_paths",
        "input_columns",
        "judged",
        "judged_state",
        "known_disagreement_column",
        "mcp",
        "ordered_paths",
        "outputs",
        "private_columns",
        "reject_bad_arguments",
        "roles",
        "tables",
        "tags_column",
        "tools",
        "types",
        "world_column",
    }
)
"""Keys that change what is judged, or what an agent is given."""


def refuse_slips(path: Path, metadata: Metadata) -> None:
    """Refuse an unknown key inside of another one, and one that is like a deciding key.

    Raises:
        LoadingError: with the nearest key as the hint.
    """
    for prefix, key, shape in _unknown(metadata):
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
    if metadata.mcp is not None:
        yield from (("mcp.", key, metadata.mcp) for key in metadata.mcp.model_extra or {})


def _meant(key: str, shape: Shape) -> str:
    return "contract" if key == "rules" else nearest(key, type(shape).model_fields)


FILE_NAMES = ("metadata.json", "domain.toml")
"""What describes a domain: exactly one of these."""

_SHOWN = 4


@dataclass(frozen=True, slots=True, kw_only=True)
class Described:
    """What a domain says of itself, and the file that says it."""

    path: Path
    metadata: Metadata
    warnings: tuple[str, ...]


def read_metadata(folder: Path) -> Described:
    """Read `metadata.json` or `domain.toml`.

    Raises:
        LoadingError: there is neither, or both; it cannot be read; a key is missing or wrong.
    """
    try:
        found = described_in(folder)
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
    kind = _read_kind_of(path, content)
    published = is_published(folder)
    content, notes = adapted(content, folder) if published else (content, ())
    try:
        metadata = kind.model_validate(content)
    except ValidationError as fault:
        raise LoadingError(path, problems_of(fault), hint=_hint(fault, content)) from fault
    if not published:
        refuse_slips(path, metadata)
    warnings = tuple(f"{path.name}: {text}" for text in (*notes, *unknown_keys(metadata)))
    return Described(path=path, metadata=metadata, warnings=warnings)


def described_in(folder: Path) -> list[Path]:
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


def _read_kind_of(path: Path, content: Mapping[str, object]) -> type[Metadata]:
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


def problems_of(fault: ValidationError) -> str:
    """Say which keys are wrong, and how; of many the first few."""
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
