"""How the types of the keys of metadata are read: one word of an annotation, one schema."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Final, Literal, TypeAlias, cast

from pydantic_core import PydanticCustomError
from pydantic_core import core_schema as cs

from pytest_sopbench._core.documents.rules import Role
from pytest_sopbench._core.model.task import Compare, FieldType
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._loading.files.names import NAME_RULE, is_domain_name

DomainName: TypeAlias = str
FileName: TypeAlias = str
Finite: TypeAlias = JsonValue
AtLeastZero: TypeAlias = float
Share: TypeAlias = float
Flag: TypeAlias = bool

Names: TypeAlias = list[str]
"""Names of columns, each once."""

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
    "Names": _NAMES,
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
