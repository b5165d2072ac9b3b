"""The shape of `metadata.json` and of `domain.toml`."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, ClassVar, Final

from pytest_sopbench._core.documents.rules import Role
from pytest_sopbench._core.model.task import Compare, FieldType
from pytest_sopbench._core.values.json import JsonValue

from .shape import Shape, by_name
from .words import (
    WORDS,
    AtLeastZero,
    DecimalSign,
    DeclaredType,
    DomainName,
    FileName,
    Finite,
    Flag,
    Grouping,
    Missing,
    Names,
    NotFound,
    Pairs,
    Share,
    SomeNames,
)

NO_NAMES: Final[list[str]] = []
NOTHING: Final[dict[str, Any]] = {}


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

    With `table`, the columns are those of the task's records of that name.
    """

    key: Pairs = NOTHING
    check: Pairs = NOTHING
    returns: Names = NO_NAMES
    value: str | None = None
    missing: Missing = "error"
    result: Finite = None
    table: str | None = None
    many: Flag = False
    not_found: NotFound = "error"


WORDS["dict[str, LookupShape]"] = by_name(LookupShape)


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
    outputs: dict[str, OutputShape] = NOTHING
    tools: dict[str, LookupShape] = NOTHING
    tables: dict[str, TableShape] = NOTHING
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
