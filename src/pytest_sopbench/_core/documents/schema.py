"""Hold a document against a JSON schema, and say where it breaks it."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from functools import cached_property
from importlib import import_module
from typing import Any, Final, NoReturn, cast

from pytest_sopbench._core.hiding.masking import ready_to_cut
from pytest_sopbench._core.values.json import JsonValue

from .paths import ROOT, Path, path_text

_SHOWN: Final = 80
_COMBINING: Final = frozenset({"anyOf", "oneOf", "allOf", "not", "if"})
_WORDED: Final = frozenset({"required", "additionalProperties", "unevaluatedProperties"})
"""Keywords whose breach is about names, which the message tells and the value does not."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Violation:
    """One place at which a document breaks its schema.

    Attributes:
        path: where in the document.
        keyword: the keyword of the schema that is broken.
        demand: what the keyword asks for, as JSON, cut.
        value: what stands there, as JSON, cut; or which name is missing or too many.
        about: the same path, but that of the key which is missing, where one is.
    """

    path: Path
    keyword: str
    demand: str
    value: str
    about: Path = ()

    @property
    def place(self) -> str:
        return path_text(self.path) or ROOT


class BadSchemaError(ValueError):
    """A schema that is not valid itself, or that refers to something outside of it."""


class Schema:
    """A schema, compiled when it is first asked; safe to use from many threads."""

    def __init__(self, schema: Mapping[str, JsonValue]) -> None:
        self._schema = schema

    @cached_property
    def _validator(self) -> Any:
        # Heavy, and most sessions have tools instead.
        engine = import_module("jsonschema_rs")
        try:
            # Formats are notes, as the standard has them, whatever the draft.
            return engine.validator_for(
                dict(self._schema), validate_formats=False, retriever=_never_fetched
            )
        except engine.ValidationError as fault:
            place = "/".join(str(part) for part in fault.instance_path)
            where = f" at {place!r}" if place else ""
            msg = f"not a valid JSON schema{where}: {_cut(fault.message)}"
            raise BadSchemaError(msg) from fault
        except ValueError as fault:
            msg = f"not a usable JSON schema: {_cut(str(fault))}"
            raise BadSchemaError(msg) from fault

    def check(self) -> None:
        """Compile the schema.

        Raises:
            BadSchemaError: it cannot be used.
        """
        _ = self._validator

    def violations(self, document: JsonValue) -> tuple[Violation, ...]:
        """Return every place at which a document breaks the schema, the most telling first."""
        if not isinstance(document, Mapping):
            wrong = Violation(path=(), keyword="type", demand='"object"', value=_json(document))
            return (wrong,)
        if self._validator.is_valid(document):
            return ()
        found = [_violation(error) for error in self._validator.iter_errors(document)]
        return tuple(sorted(found, key=lambda one: one.keyword in _COMBINING))


def compiled(schema: Mapping[str, JsonValue]) -> Schema:
    """Return a schema that documents can be held against."""
    return Schema(schema)


def _violation(error: Any) -> Violation:
    path: Path = tuple(error.instance_path)
    keyword = str(error.kind.name)
    if keyword in _WORDED:
        missing = getattr(error.kind, "property", None)
        about = (*path, missing) if isinstance(missing, str) else path
        words = _cut(error.message)
        return Violation(path=path, keyword=keyword, demand="", value=words, about=about)
    return Violation(
        path=path,
        keyword=keyword,
        demand="" if keyword in _COMBINING else _demand(error.kind.as_dict()),
        value=_json(error.instance),
        about=path,
    )


def _demand(asked: Mapping[str, object]) -> str:
    value = next(iter(asked.values()), None)
    if value is None:
        return ""
    types = asked.get("types")
    if isinstance(types, list):
        # The engine has no order for them.
        return ", ".join(sorted(map(_json, cast("list[str]", types))))
    return _json(value)


def _never_fetched(uri: str) -> NoReturn:
    msg = f"nothing is fetched for a schema: {uri!r} lies outside of it"
    raise ValueError(msg)


def _json(value: object) -> str:
    return _cut(json.dumps(value, ensure_ascii=False, default=str))


def _cut(text: str) -> str:
    short = ready_to_cut(text)
    return short if len(short) <= _SHOWN else f"{short[: _SHOWN - 3]}..."
