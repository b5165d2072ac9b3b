"""Audits as SARIF 2.1.0, which code hosts show beside the lines of a pull request."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from pathlib import Path
from typing import Any, Final
from urllib.parse import quote

from pytest_sopbench._audit.model.audit import Audit
from pytest_sopbench._audit.model.finding import Finding, Severity
from pytest_sopbench._audit.model.rule import Rule
from pytest_sopbench._core.values.json import JsonValue

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
VERSION: Final = "2.1.0"
HOME: Final = "https://pypi.org/project/pytest-sopbench/"

_LEVELS: Final[Mapping[Severity, str]] = {
    Severity.ERROR: "error",
    Severity.WARNING: "warning",
    Severity.NOTE: "note",
}


def sarif_log(
    audits: Iterable[Audit], rules: Sequence[Rule[Any]], *, root: Path, plugin: str
) -> Mapping[str, JsonValue]:
    """Return one log with one run; files below `root` are named relative to it."""
    places = {rule.name: number for number, rule in enumerate(rules)}
    results: list[JsonValue] = [
        _result(audit, finding, places[finding.rule], root, accepted)
        for audit in audits
        for finding, accepted in (
            *((one, "") for one in audit.findings),
            *audit.accepted,
        )
    ]
    driver: dict[str, JsonValue] = {
        "name": "sopbench audit",
        "version": plugin,
        "informationUri": HOME,
        "rules": [_rule(rule) for rule in rules],
    }
    return {
        "$schema": SCHEMA,
        "version": VERSION,
        "runs": [
            {"tool": {"driver": driver}, "columnKind": "unicodeCodePoints", "results": results}
        ],
    }


def _rule(rule: Rule[Any]) -> JsonValue:
    return {
        "id": rule.name,
        "shortDescription": {"text": rule.looks_for},
        "defaultConfiguration": {"level": _LEVELS[rule.severity]},
    }


def _result(audit: Audit, finding: Finding, number: int, root: Path, accepted: str) -> JsonValue:
    place = finding.place
    where = ", ".join(
        part
        for part in (
            f"column {place.column!r}" if place.column else "",
            f"tool {place.tool!r}" if place.tool else "",
        )
        if part
    )
    text = ": ".join(part for part in (where, finding.what) if part)
    result: dict[str, JsonValue] = {
        "ruleId": finding.rule,
        "ruleIndex": number,
        "level": _LEVELS[finding.severity],
        "message": {"text": f"{text}\n{finding.do}" if finding.do else text},
        "locations": [_location(audit, finding, root)],
    }
    if accepted:
        result["suppressions"] = [{"kind": "external", "justification": accepted}]
    return result


def _location(audit: Audit, finding: Finding, root: Path) -> JsonValue:
    place = finding.place
    physical: dict[str, JsonValue] = {
        "artifactLocation": {"uri": _uri(audit.folder / place.file, root)}
    }
    if place.line is not None:
        physical["region"] = {"startLine": max(1, place.line)}
    location: dict[str, JsonValue] = {"physicalLocation": physical}
    if place.tool:
        location["logicalLocations"] = [{"name": place.tool, "kind": "function"}]
    return location


def _uri(path: Path, root: Path) -> str:
    whole = path.absolute()
    if whole.is_relative_to(root.absolute()):
        return quote(whole.relative_to(root.absolute()).as_posix())
    return whole.as_uri()
