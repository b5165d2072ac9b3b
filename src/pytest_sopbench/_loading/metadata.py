"""`metadata.json`: its keys, and how they are read."""

from __future__ import annotations

import json
import stat
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from enum import Enum
from inspect import get_annotations
from itertools import islice
from pathlib import Path
from typing import Any, ClassVar, Final, Literal, NoReturn, Self, TypeAlias, cast

from pydantic_core import ErrorDetails, PydanticCustomError, SchemaValidator, ValidationError
from pydantic_core import core_schema as cs

from pytest_sopbench._core.documents.schema import Role
from pytest_sopbench._core.model.task import Compare, FieldType
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.files.cells import (
    NAME_RULE,
    SHOWN,
    is_domain_name,
    listed,
    nearest,
    shown,
)
from pytest_sopbench._loading.files.document import read_json, read_toml, unreadable
from pytest_sopbench.errors import LoadingError

# How the types of the keys of metadata are read: one word of an annotation, one schema.

DomainName: TypeAlias = str
FileName: TypeAlias = str
Finite: TypeAlias = JsonValue
AtLeastZero: TypeAlias = float
Share: TypeAlias = float
Flag: TypeAlias = bool

Names: TypeAlias = list[str]
"""Names of columns, each once."""

Texts: TypeAlias = list[str]
"""Texts, of which some may be the same."""

SomeNames: TypeAlias = list[str]
"""The same, at least one."""

Pairs: TypeAlias = dict[str, str]
"""Names with the name that each stands for; a list where the two are the same."""

DeclaredType: TypeAlias = Literal["text", "number", "boolean", "list"]
"""What `types` may say of a column; the words are those of `ColumnType`."""

Missing: TypeAlias = Literal["error", "null"]
NotFound: TypeAlias = Literal["error", "empty"]
Grouping: TypeAlias = Literal["", ",", ".", " ", "'"]
DecimalSign: TypeAlias = Literal[".", ","]


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
    seen: set[str] = set()
    for name in names:
        if name in seen:
            kind = "twice"
            raise PydanticCustomError(kind, "{name} stands twice", {"name": repr(name)})
        seen.add(name)
    return names


def _some(names: list[str]) -> list[str]:
    if not names:
        kind = "none"
        raise PydanticCustomError(kind, "it names no column")
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


def _finite(value: JsonValue) -> JsonValue:
    try:
        json.dumps(value, allow_nan=False)
    except ValueError as fault:
        # TOML has words for what is not a finite number.
        kind = "finite"
        raise PydanticCustomError(kind, "nan and inf are no JSON values") from fault
    return value


def _kind_of(value: object) -> str:
    """Return by which type of JSON a value is read; a type of its own counts as the one below."""
    exact = type(value).__name__
    return exact if exact in _JSON else _below(value) or exact


def _below(value: object) -> str:
    kinds = (int, float, str, list, dict)
    return next((kind.__name__ for kind in kinds if isinstance(value, kind)), "")


_TEXT: Final = cs.str_schema()
_NAMES: Final = cs.no_info_after_validator_function(_once_each, cs.list_schema(_TEXT))
_TEXTS_BY_NAME: Final = cs.dict_schema(_TEXT, _TEXT)
_VALUE: Final = cs.definition_reference_schema("json-value")
_DECLARED: Final = cs.literal_schema(["text", "number", "boolean", "list"])
_JSON: Final[dict[str, cs.CoreSchema]] = {
    "list": cs.list_schema(_VALUE),
    "dict": cs.dict_schema(_TEXT, _VALUE),
    "str": _TEXT,
    "bool": cs.bool_schema(),
    "int": cs.int_schema(),
    "float": cs.float_schema(),
    "NoneType": cs.none_schema(),
}

JSON_VALUE: Final = cs.tagged_union_schema(
    _JSON,
    _kind_of,
    custom_error_type="invalid-json-value",
    custom_error_message="input was not a valid JSON value",
    ref="json-value",
)
"""What every other schema refers to as a value of JSON."""


def _enum(kind: type[FieldType | Compare | Role]) -> cs.CoreSchema:
    return cs.enum_schema(kind, list(kind), sub_type="str")


WORDS: Final[dict[str, cs.CoreSchema]] = {
    "str": _TEXT,
    "str | None": cs.nullable_schema(_TEXT),
    "Flag": cs.bool_schema(strict=True),
    "DomainName": cs.no_info_after_validator_function(_names_a_domain, _TEXT),
    "FileName": cs.no_info_after_validator_function(_names_a_file, _TEXT),
    "Texts": cs.list_schema(_TEXT),
    "Names": _NAMES,
    "dict[str, Names]": cs.dict_schema(_TEXT, _NAMES),
    "Names | None": cs.nullable_schema(_NAMES),
    "SomeNames": cs.no_info_after_validator_function(_some, _NAMES),
    "Pairs": cs.no_info_before_validator_function(_pairs, _TEXTS_BY_NAME),
    "dict[str, str]": _TEXTS_BY_NAME,
    "dict[str, DeclaredType]": cs.dict_schema(_TEXT, _DECLARED),
    "dict[str, Role]": cs.dict_schema(_TEXT, _enum(Role)),
    "FieldType | None": cs.nullable_schema(_enum(FieldType)),
    "Compare": _enum(Compare),
    "AtLeastZero": cs.float_schema(ge=0, allow_inf_nan=False),
    "Share | None": cs.nullable_schema(cs.float_schema(ge=0, le=1, allow_inf_nan=False)),
    "Grouping": cs.literal_schema(["", ",", ".", " ", "'"]),
    "DecimalSign | None": cs.nullable_schema(cs.literal_schema([".", ","])),
    "Missing": cs.literal_schema(["error", "null"]),
    "NotFound": cs.literal_schema(["error", "empty"]),
    "JsonValue": _VALUE,
    "Finite": cs.no_info_after_validator_function(_finite, _VALUE),
}
"""How a key is read, by the annotation that it has in its shape."""


# A JSON object with keys of its own, read by pydantic's core alone.
#
# The models of `pydantic` itself are built at import, which costs a session more than all that it
# reads with them. Here a class names the type of each key, and a table says how a type is read.


@dataclass(frozen=True, slots=True)
class Key:
    """How one key is read; what is needed has no default."""

    schema: cs.CoreSchema
    needed: bool
    default: Any = None
    alias: str | None = None

    @property
    def field(self) -> cs.ModelField:
        # A default that can be changed is copied for each object.
        schema = self.schema
        if not self.needed:
            schema = cs.with_default_schema(schema, default=self.default)
        return cs.model_field(schema, validation_alias=self.alias)


class Shape:
    """A JSON object whose unknown keys are kept, so that they can be warned of.

    A subclass annotates its keys, each with one of `WORDS`. A value in the class is the default of
    a key, and a key without one is needed. `spelled` holds keys that are no names of Python.
    """

    # As pydantic's core fills them.
    __slots__ = (
        "__dict__",
        "__pydantic_extra__",
        "__pydantic_fields_set__",
        "__pydantic_private__",
    )
    __pydantic_extra__: dict[str, Any] | None
    __pydantic_fields_set__: set[str]

    spelled: ClassVar[Mapping[str, str]] = {}
    model_fields: ClassVar[Mapping[str, Key]] = {}

    def __init_subclass__(cls) -> None:
        own: Mapping[str, str] = get_annotations(cls)
        keys = {name: word for name, word in own.items() if not word.startswith("ClassVar")}
        found = {
            name: Key(
                schema=WORDS[word],
                needed=name not in cls.__dict__,
                default=cls.__dict__.get(name),
                alias=cls.spelled.get(name),
            )
            for name, word in keys.items()
        }
        cls.model_fields = {**cls.model_fields, **found}

    @classmethod
    def model_validate(cls, content: object) -> Self:
        """Read an object.

        Raises:
            pydantic_core.ValidationError: a key is missing, or its value is of another type.
        """
        found: Self = _validator(cls).validate_python(content)
        return found

    @classmethod
    def core_schema(cls) -> cs.CoreSchema:
        """Return how pydantic's core reads an object of this shape."""
        fields = {name: key.field for name, key in cls.model_fields.items()}
        return cs.model_schema(
            cls,
            cs.model_fields_schema(fields, model_name=cls.__name__),
            config=cs.CoreConfig(
                title=cls.__name__, extra_fields_behavior="allow", coerce_numbers_to_str=True
            ),
        )

    @property
    def model_extra(self) -> Mapping[str, Any]:
        """The keys that the shape does not have."""
        extra: Mapping[str, Any] | None = self.__pydantic_extra__
        return extra or {}

    @property
    def model_fields_set(self) -> frozenset[str]:
        """The keys that were given."""
        return frozenset(self.__pydantic_fields_set__)

    def told(self) -> dict[str, object]:
        """Return what was given and is not the default, as JSON."""
        given = {
            name: _as_json(value)
            for name, value in self.__dict__.items()
            if name in self.__pydantic_fields_set__ and value != self.model_fields[name].default
        }
        return given | {name: _as_json(value) for name, value in self.model_extra.items()}

    def __setattr__(self, name: str, value: object) -> NoReturn:
        msg = f"{type(self).__name__} is frozen: {name} cannot be set"
        raise AttributeError(msg)

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, Shape) or type(other) is not type(self):
            return NotImplemented
        return (self.__dict__, self.model_extra) == (other.__dict__, other.model_extra)

    def __hash__(self) -> int:
        return hash(type(self))

    def __repr__(self) -> str:
        return f"{type(self).__name__}({self.__dict__!r})"


_VALIDATORS: Final[dict[type[Shape], SchemaValidator]] = {}


def by_name(shape: type[Shape]) -> cs.CoreSchema:
    """Return how an object is read that has an object of this shape by each name."""
    return cs.dict_schema(cs.str_schema(), shape.core_schema())


def _validator(shape: type[Shape]) -> SchemaValidator:
    if shape not in _VALIDATORS:
        schema = cs.definitions_schema(shape.core_schema(), [JSON_VALUE])
        _VALIDATORS[shape] = SchemaValidator(schema)
    return _VALIDATORS[shape]


def _as_json(value: object) -> object:
    match value:
        case Shape():
            return value.told()
        case Mapping():
            items = cast("Mapping[str, object]", value).items()
            return {name: _as_json(inner) for name, inner in items}
        case list():
            return [_as_json(inner) for inner in cast("list[object]", value)]
        case Enum():
            return value.value
        case _:
            return value


NO_NAMES: Final[list[str]] = []
NOTHING: Final[dict[str, Any]] = {}
ONLY_THE_ANSWER: Final[list[str]] = ["answer"]


class OutputShape(Shape):
    """What `outputs` says of one output field; what is not said is inferred.

    `may_be_empty` says that an empty expected answer is meant; so does an empty text in `values`.
    """

    type: FieldType | None = None
    values: Names = NO_NAMES
    aliases: dict[str, str] = NOTHING
    tolerance: AtLeastZero = 0.0
    ordered: Flag = False
    may_be_empty: Flag = False
    compare: Compare = Compare.EXACT
    units: Names = NO_NAMES
    grouping: Grouping = ""
    decimal: DecimalSign | None = None
    formats: Names = NO_NAMES
    key: str = ""
    ignored_paths: Names = NO_NAMES
    ordered_paths: Names = NO_NAMES
    comparer: str = ""
    rubric: str = ""
    rubric_file: str | None = None
    at_least: Share | None = None


WORDS["dict[str, OutputShape]"] = by_name(OutputShape)


class TableShape(Shape):
    """One table of `tables`: a file of records, and which of them belong to a task.

    `match` pairs columns of the file with columns of the data file. It is never left out, since
    an empty one gives every task all records.
    """

    file: str
    match: Pairs
    types: dict[str, DeclaredType] = NOTHING


WORDS["dict[str, TableShape]"] = by_name(TableShape)


class LookupShape(Shape):
    """One tool of `tools`: it serves columns of the task's own row, or a constant `result`.

    With `table`, the columns are those of the task's records of that name, or of the world's table.
    `search`, `insert`, `update` and `transition` name a table of the world.
    """

    spelled: ClassVar[Mapping[str, str]] = {"from_": "from"}

    key: Pairs = NOTHING
    check: Pairs = NOTHING
    returns: Names = NO_NAMES
    value: str | None = None
    missing: Missing = "error"
    result: Finite = None
    table: str | None = None
    many: Flag = False
    not_found: NotFound = "error"
    search: str | None = None
    insert: str | None = None
    update: str | None = None
    transition: str | None = None
    where: JsonValue = None
    order_by: Names = NO_NAMES
    set: JsonValue = None
    column: str = ""
    from_: JsonValue = None
    to: JsonValue = None
    requires: JsonValue = None
    error: str = ""


WORDS["dict[str, LookupShape]"] = by_name(LookupShape)


class McpShape(Shape):
    """The MCP server that serves the tools: a `command` with its `env`, or a `url` with `headers`.

    A value `env:NAME` is read from the environment when the server is started or asked.
    """

    command: Texts = NO_NAMES
    url: str = ""
    env: dict[str, str] = NOTHING
    headers: dict[str, str] = NOTHING


WORDS["McpShape | None"] = cs.nullable_schema(McpShape.core_schema())


class Metadata(Shape):
    """Everything that `metadata.json` may say; only `name` and `output_columns` must be there.

    Besides the keys that the format promises there are some of ours. `types` maps an input or a
    tool result to `text`, `number`, `boolean` or `list` (a list or an object), where what is
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
    columns: dict[str, str] = NOTHING
    private_columns: Names = NO_NAMES
    tags_column: str | None = None
    acceptable_column: str | None = None
    known_disagreement_column: str | None = None
    world_column: str | None = None
    expected_state_column: str | None = None
    judged: Names = ONLY_THE_ANSWER
    judged_state: dict[str, Names] = NOTHING
    outputs: dict[str, OutputShape] = NOTHING
    tools: dict[str, LookupShape] = NOTHING
    tables: dict[str, TableShape] = NOTHING
    mcp: McpShape | None = None
    types: dict[str, DeclaredType] = NOTHING
    distractors: Names = NO_NAMES
    reject_bad_arguments: Flag = False
    contract: JsonValue = None
    audit: JsonValue = None


class DocumentMetadata(Metadata):
    """The metadata of a tool-less domain, whose answer is a JSON document.

    `output_schema` names the file with its schema. `ignored_paths` are not compared, of the lists
    at `ordered_paths` the order counts, and `roles` say what the value at a path is: names or
    dotted paths, which fit at any depth. Domains of the same `class` are summed.
    """

    spelled: ClassVar[Mapping[str, str]] = {"domain_class": "class"}

    output_columns: Names = NO_NAMES
    output_schema: FileName
    ignored_paths: Names = NO_NAMES
    ordered_paths: Names = NO_NAMES
    roles: dict[str, Role] = NOTHING
    domain_class: str = ""


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
    if metadata.mcp is not None:
        yield from (("mcp.", key, metadata.mcp) for key in metadata.mcp.model_extra)


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
    kind = _read_kind_of(path, content)
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
