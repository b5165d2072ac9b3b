"""The shape of `metadata.json` and of `domain.toml`, as pydantic reads it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Annotated, Literal, TypeAlias, cast

from pydantic import (
    AfterValidator,
    BaseModel,
    BeforeValidator,
    ConfigDict,
    Field,
    JsonValue,
    StrictBool,
)
from pydantic_core import PydanticCustomError

from pytest_sopbench._core.documents.rules import Role
from pytest_sopbench._core.model.task import Compare, FieldType
from pytest_sopbench._loading.files.names import NAME_RULE, is_domain_name


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


Names: TypeAlias = Annotated[list[str], AfterValidator(_once_each)]
"""Names of columns, each once."""

Pairs: TypeAlias = Annotated[dict[str, str], BeforeValidator(_pairs)]
"""Names with the name that each stands for; a list where the two are the same."""

DeclaredType: TypeAlias = Literal["text", "number", "boolean", "list"]
"""What `types` may say of a column; the words are those of `ColumnType`."""


class Shape(BaseModel):
    """A JSON object whose unknown keys are kept, so that they can be warned of."""

    model_config = ConfigDict(extra="allow", frozen=True, coerce_numbers_to_str=True)


class OutputShape(Shape):
    """What `outputs` says of one output field; what is not said is inferred.

    `may_be_empty` says that an empty expected answer is meant; so does an empty text in `values`.
    """

    type: FieldType | None = None
    values: Names = Field(default_factory=list[str])
    aliases: dict[str, str] = Field(default_factory=dict[str, str])
    tolerance: Annotated[float, Field(ge=0, allow_inf_nan=False)] = 0.0
    ordered: StrictBool = False
    may_be_empty: StrictBool = False
    compare: Compare = Compare.EXACT
    units: Names = Field(default_factory=list[str])
    grouping: Literal["", ",", ".", " ", "'"] = ""
    decimal: Literal[".", ","] | None = None
    formats: Names = Field(default_factory=list[str])
    key: str = ""
    ignored_paths: Names = Field(default_factory=list[str])
    ordered_paths: Names = Field(default_factory=list[str])
    comparer: str = ""
    rubric: str = ""
    rubric_file: str | None = None
    at_least: Annotated[float, Field(ge=0, le=1, allow_inf_nan=False)] | None = None


class TableShape(Shape):
    """One table of `tables`: a file of records, and which of them belong to a task.

    `match` pairs columns of the file with columns of the data file. It is never left out, since
    an empty one gives every task all records.
    """

    file: str
    match: Pairs
    types: dict[str, DeclaredType] = Field(default_factory=dict[str, DeclaredType])


class LookupShape(Shape):
    """One tool of `tools`: it serves columns of the task's own row, or a constant `result`.

    With `table`, the columns are those of the task's records of that name.
    """

    key: Pairs = Field(default_factory=dict[str, str])
    check: Pairs = Field(default_factory=dict[str, str])
    returns: Names = Field(default_factory=list[str])
    value: str | None = None
    missing: Literal["error", "null"] = "error"
    result: Annotated[JsonValue, AfterValidator(_finite)] = None
    table: str | None = None
    many: StrictBool = False
    not_found: Literal["error", "empty"] = "error"


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

    name: Annotated[str, AfterValidator(_names_a_domain)]
    output_columns: Annotated[Names, AfterValidator(_some)]
    title: str = ""
    description: str = ""
    industry: str = ""
    licence: str = ""
    version: str = ""
    id_column: str | None = None
    input_columns: Names | None = None
    columns: dict[str, str] = Field(default_factory=dict[str, str])
    private_columns: Names = Field(default_factory=list[str])
    tags_column: str | None = None
    acceptable_column: str | None = None
    known_disagreement_column: str | None = None
    outputs: dict[str, OutputShape] = Field(default_factory=dict[str, OutputShape])
    tools: dict[str, LookupShape] = Field(default_factory=dict[str, LookupShape])
    tables: dict[str, TableShape] = Field(default_factory=dict[str, TableShape])
    types: dict[str, DeclaredType] = Field(default_factory=dict[str, DeclaredType])
    distractors: Names = Field(default_factory=list[str])
    reject_bad_arguments: StrictBool = False
    contract: JsonValue = None
    audit: JsonValue = None


class DocumentMetadata(Metadata):
    """The metadata of a tool-less domain, whose answer is a JSON document.

    `output_schema` names the file with its schema. `ignored_paths` are not compared, of the lists
    at `ordered_paths` the order counts, and `roles` say what the value at a path is: names or
    dotted paths, which fit at any depth. Domains of the same `class` are summed.
    """

    output_columns: Names = Field(default_factory=list[str])
    output_schema: Annotated[str, AfterValidator(_names_a_file)]
    ignored_paths: Names = Field(default_factory=list[str])
    ordered_paths: Names = Field(default_factory=list[str])
    roles: dict[str, Role] = Field(default_factory=dict[str, Role])
    domain_class: Annotated[str, Field(alias="class")] = ""


DOCUMENT_KEYS = frozenset({"output_schema", "ignored_paths", "ordered_paths", "roles", "class"})
"""The keys that only a tool-less domain has."""

COLUMN_KEYS = frozenset(Metadata.model_fields) - {
    *("name", "title", "description", "industry", "licence", "version", "audit")
}
"""The keys about columns and tools, which a tool-less domain has none of."""
