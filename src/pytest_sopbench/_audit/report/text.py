"""An audit as text in 80 columns: errors first, the first few of each rule."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from itertools import groupby
from textwrap import wrap
from typing import Final

from pytest_sopbench._audit.model.audit import Audit
from pytest_sopbench._audit.model.finding import Finding, Severity
from pytest_sopbench._reports.text.layout import WIDTH, cut, heading, one_line

SHOWN: Final = 5
"""Findings of one rule that are told in full."""

_INDENT: Final = "  "
_LINES: Final = 8


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
    lines = wrap(one_line(text[: room * _LINES]), room, break_on_hyphens=False)
    yield from (f"{_INDENT}{line}" for line in lines[:_LINES])
