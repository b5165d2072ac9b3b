"""Audits for programs: a list of objects."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_sopbench._audit.model.audit import Audit
from pytest_sopbench._audit.model.finding import Finding
from pytest_sopbench._core.values.json import JsonValue


def audit_json(audit: Audit) -> Mapping[str, JsonValue]:
    """Return one audit as an object; keys without a value are `null`."""
    return {
        "name": audit.name,
        "folder": str(audit.folder),
        "hash": audit.hash,
        "counts": {str(severity): count for severity, count in audit.counts.items()},
        "facts": list(audit.facts),
        "findings": [finding_json(one) for one in audit.findings],
        "accepted": [{**finding_json(one), "reason": why} for one, why in audit.accepted],
    }


def finding_json(finding: Finding) -> dict[str, JsonValue]:
    """Return one finding as an object."""
    place = finding.place
    return {
        "rule": finding.rule,
        "severity": finding.severity.value,
        "place": {
            "file": place.file or None,
            "line": place.line,
            "column": place.column or None,
            "tool": place.tool or None,
        },
        "what": finding.what,
        "do": finding.do,
    }
