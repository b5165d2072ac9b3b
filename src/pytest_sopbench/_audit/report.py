"""What an audit found as text, JSON, SARIF, and as a saved file."""

from __future__ import annotations

import json
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from pathlib import Path
from textwrap import wrap
from typing import Final
from urllib.parse import quote

from pytest_sopbench._audit.model import Audit, Finding, Rule, Severity
from pytest_sopbench._audit.saved import FOLDER, path_of
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._reports.text import WIDTH, cut, heading, one_line
from pytest_sopbench._sessions.atomic import replace_file

# Audits for programs: a list of objects.


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
            "change": place.change or None,
        },
        "what": finding.what,
        "do": finding.do,
    }


# Audits as SARIF 2.1.0, which code hosts show beside the lines of a pull request.

SCHEMA: Final = "https://json.schemastore.org/sarif-2.1.0.json"
VERSION: Final = "2.1.0"
HOME: Final = "https://pypi.org/project/pytest-sopbench/"


def sarif_log(
    audits: Iterable[Audit], rules: Sequence[Rule], *, root: Path, plugin: str
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


def _rule(rule: Rule) -> JsonValue:
    return {
        "id": rule.name,
        "shortDescription": {"text": rule.looks_for},
        "defaultConfiguration": {"level": rule.severity.value},
    }


def _result(audit: Audit, finding: Finding, number: int, root: Path, accepted: str) -> JsonValue:
    text = ": ".join(filter(None, (finding.place.inside, finding.what)))
    result: dict[str, JsonValue] = {
        "ruleId": finding.rule,
        "ruleIndex": number,
        "level": finding.severity.value,
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


# An audit as text in 80 columns: errors first, the first few of each rule.

SHOWN: Final = 5
"""Findings of one rule that are printed in full."""

_INDENT: Final = "  "
_LINES: Final = 8
_QUOTED: Final = re.compile(r'"[^"]*"')
_HARD: Final = "\x00"
"""A space inside a text in quotes: no line ends there, so that a rule can be pasted."""


def audit_lines(audit: Audit, *, verbosity: int = 0) -> Iterator[str]:
    """Yield the lines of one audit; with `verbosity` every finding, accepted ones, and notes."""
    yield heading(f"audit: {audit.name}")
    shown = [one for one in audit.findings if verbosity or one.severity is not Severity.NOTE]
    for (_, rule), group in groupby(shown, key=lambda one: (one.severity, one.rule)):
        yield from _group_lines(rule, list(group), every=verbosity > 0)
    yield from audit.facts
    yield from _accepted_lines(audit, every=verbosity > 0)
    notes = audit.counts[Severity.NOTE]
    more = " (-v shows them)" if notes and not verbosity else ""
    yield cut(f"{audit.name}: {audit.summary}{more}", WIDTH)


def _group_lines(rule: str, findings: Sequence[Finding], *, every: bool) -> Iterator[str]:
    shown = findings if every else findings[:SHOWN]
    for number, finding in enumerate(shown, 1):
        yield from _head(f"{finding.severity:<8}{rule}: ", finding)
        yield from _wrapped(finding.what)
        # What helps several findings alike is said once, below the last of them.
        if finding.do and finding.do not in {one.do for one in shown[number : number + 1]}:
            yield from _wrapped(f"-> {finding.do}")
    if len(findings) > len(shown):
        yield f"{'':8}{rule}: and {len(findings) - len(shown)} more (-v shows them)"


def _accepted_lines(audit: Audit, *, every: bool) -> Iterator[str]:
    if not every and audit.accepted:
        yield f"accepted {len(audit.accepted)}, with reasons in the metadata"
    for finding, reason in audit.accepted if every else ():
        yield from _head(f"accepted {finding.rule}: ", finding)
        yield from _wrapped(reason)


def _head(first: str, finding: Finding) -> Iterator[str]:
    place = one_line(str(finding.place))[: WIDTH * _LINES]
    yield from wrap(f"{first}{place}", WIDTH, subsequent_indent=" " * 8, break_on_hyphens=False)


def _wrapped(text: str) -> Iterator[str]:
    room = WIDTH - len(_INDENT)
    # Somebody's cell may be a megabyte long, and wrapping that takes minutes.
    line = _QUOTED.sub(lambda found: found[0].replace(" ", _HARD), one_line(text[: room * _LINES]))
    lines = wrap(line, room, break_on_hyphens=False, break_long_words=_HARD not in line)
    yield from (f"{_INDENT}{line.replace(_HARD, ' ')}" for line in lines[:_LINES])


# Save an audit, for the sessions that come.


def save_audit(audit: Audit, project: Path) -> bool:
    """Save what an audit found; whether the disk took it, which nobody's build depends on."""
    content = {
        "hash": audit.hash,
        "summary": audit.summary,
        "counts": {severity.value: count for severity, count in audit.counts.items()},
    }
    path = path_of(project, audit.name)
    try:
        with replace_file(path) as file:
            file.write(json.dumps(content, indent=1).encode())
        ignore = project / FOLDER.parent / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", "utf-8")
    except OSError:
        return False
    return True
