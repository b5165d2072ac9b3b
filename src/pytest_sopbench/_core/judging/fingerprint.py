"""Know whether two sessions were judged alike."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from dataclasses import fields, is_dataclass
from functools import lru_cache
from hashlib import sha256
from importlib.metadata import version
from typing import Any, Final, cast

from pytest_sopbench._core.contract.conditions import ValueCondition
from pytest_sopbench._core.contract.rules import Contract, Rule
from pytest_sopbench._core.documents.schema import DocumentRules
from pytest_sopbench._core.domain import JudgingRules, StateRules
from pytest_sopbench._core.model.task import ASKED_OF_OTHERS, Compare, OutputField

# Made at import, as what hangs on it must not hang on what an agent puts into `json`.
_ENCODER: Final = json.JSONEncoder(sort_keys=True, separators=(",", ":"), ensure_ascii=True)

_NAMES: Final[Mapping[type, str]] = {ValueCondition: "Comparison"}
"""Types that had another name once; by the new one no older baseline would be comparable."""

VERSION = 4
"""Counts up when the judge itself decides otherwise than before for the same rules."""


def rules_fingerprint(rules: Mapping[str, JudgingRules]) -> str:
    """Hash what decides whether an answer matches, or a contract holds.

    That is types, aliases, tolerances, scoring, the versions of the functions that compare, the
    rules without the clauses they cite, and, if answers are read out of texts, the major version
    of what reads their Markdown.

    The known labels of a field are no part of it: they come from the rows, word reasons and
    decide nothing, and a row that is added must not make a baseline incomparable.

    Args:
        rules: by the name of their domain; the order of domains and of fields means nothing.
    """
    material = {
        "version": VERSION,
        "domains": {
            name: {
                "scoring": one.scoring.value,
                **({"markdown": _markdown_version()} if one.document is None else {}),
                **_document(one.document),
                **_state(one.state),
                "fields": {
                    field.name: {**_field(field), **_compared(field, one)} for field in one.fields
                },
                "rules": _rules(one.contract),
            }
            for name, one in rules.items()
        },
    }
    return sha256(_ENCODER.encode(material).encode()).hexdigest()


def contract_fingerprint(contract: Contract | None) -> str:
    """Hash what the rules of a contract demand, without the clauses they cite."""
    return sha256(_ENCODER.encode(_rules(contract)).encode()).hexdigest()


def _rules(contract: Contract | None) -> dict[str, Any]:
    return {rule.id: _rule(rule) for rule in contract.rules} if contract else {}


@lru_cache(maxsize=1)
def _markdown_version() -> str:
    # Known without loading it, which only a text without any mark asks for.
    return version("markdown-it-py").partition(".")[0]


def _field(field: OutputField) -> dict[str, Any]:
    return {
        "type": field.type.value,
        "aliases": dict(field.aliases),
        "tolerance": field.tolerance,
        "ordered": field.ordered,
        "compare": field.compare.value,
    }


def _document(rules: DocumentRules | None) -> dict[str, Any]:
    # Left out where there is none, so that what was judged before keeps its hash.
    if rules is None:
        return {}
    return {
        "schema": rules.schema,
        "ignored": sorted(rules.ignored),
        "ordered": sorted(rules.ordered),
    }


def _state(rules: StateRules | None) -> dict[str, Any]:
    if rules is None:
        return {}
    columns = {name: sorted(one) for name, one in rules.columns.items()}
    return {"state": {"columns": columns, "by": rules.digest}}


def _compared(field: OutputField, rules: JudgingRules) -> dict[str, Any]:
    # Said only where there is something to say, so that other baselines keep their hash.
    said: dict[str, Any] = {}
    if field.spelled:
        said |= {"units": field.units, "grouping": field.grouping, "decimal": field.decimal}
    if field.formats:
        said["formats"] = field.formats
    if field.key:
        said["key"] = field.key
    if field.compare is Compare.JSON:
        ignored, ordered = sorted(field.ignored_paths), sorted(field.ordered_paths)
        said |= {"ignored": ignored, "ordered_paths": ordered}
    if field.compare in ASKED_OF_OTHERS:
        said |= {"comparer": rules.comparers.get(field.name, ""), "at_least": field.at_least}
    return said


def _rule(rule: Rule) -> dict[str, Any]:
    return {
        "demand": _spelled(rule.demand),
        "severity": rule.severity.value,
        "when": _spelled(rule.when),
    }


def _spelled(value: object) -> Any:
    """Write a value of a rule with the name of its type, since `all` and `any` look alike."""
    if is_dataclass(value) and not isinstance(value, type):
        named = {one.name: _spelled(getattr(value, one.name)) for one in fields(value)}
        return {_NAMES.get(type(value), type(value).__name__): named}
    if isinstance(value, Mapping):
        return {name: _spelled(one) for name, one in cast("Mapping[str, object]", value).items()}
    if isinstance(value, list | tuple):
        return [_spelled(one) for one in cast("Sequence[object]", value)]
    return value
