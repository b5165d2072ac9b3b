"""A session as one HTML file: words and numbers first, and a script that shows each run."""

from __future__ import annotations

import re
from base64 import b64encode
from collections.abc import Callable, Sequence
from hashlib import sha256
from pathlib import Path
from typing import TYPE_CHECKING, Final

from pytest_sopbench._core.gates.decide import SessionPage, TaskFacts
from pytest_sopbench._reports.html import parts
from pytest_sopbench._reports.html.runs import (
    GAINED,
    LOST,
    NOTHING_KNOWN,
    Rows,
    baseline_runs,
    details_of,
    escaped_sign,
    json_text,
)
from pytest_sopbench._reports.html.timeline import shortened
from pytest_sopbench._reports.terminal.comparison import words_since
from pytest_sopbench._reports.terminal.gate import page_verdict
from pytest_sopbench._reports.text import counted, report_lines

if TYPE_CHECKING:
    from jinja2 import Environment

# Text that a browser shows as it is: signs that cannot be seen are written as escapes.

_SIGNS: Final = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u00ad\u061c\u200b-\u200f\u2028-\u202e\u2060-\u2069\ufeff\ufff9-\ufffb\ud800-\udfff]"
)
"""Controls, what turns the order of letters or has no width, and halves of characters."""


def visible(text: str) -> str:
    """Return a text that neither hides anything nor turns what stands behind it."""
    return text if text.isprintable() else _SIGNS.sub(escaped_sign, text)


ROOM: Final = Path(__file__).parent

SCRIPTS: Final = (
    "dom",
    "data",
    "filters",
    "table",
    "values",
    "timeline",
    "sop",
    "task",
    "keys",
    "main",
)
"""The files of the script in their order: what one defines, those behind it may use."""

SOP_LIMIT: Final = 400_000
"""Characters of one SOP that a page shows."""

POLICY: Final = (
    "default-src 'none'; script-src '{script}'; style-src '{style}'; img-src data:; "
    "base-uri 'none'; form-action 'none'"
)


def html_page(page: SessionPage) -> str:
    """Return the page, with its last line ended.

    Raises:
        ModuleNotFoundError: jinja2 is not installed.
    """
    rows = Rows(page)
    facts = [page.sources.facts(one) if page.sources else NOTHING_KNOWN for one in page.records]
    # Whoever makes a table names its labels, so that they stand among the words of the rows.
    confusions, rules = parts.confusion_tables(page, rows), parts.rule_rows(page, rows)
    runs, details, left_out = _embedded(page, rows, facts)
    script, style = script_text(), (ROOM / "style" / "page.css").read_text("utf-8")
    masked = page.sources.masked if page.sources else str
    plain, unlisted = parts.list_lines(page, rows)
    template = _environment(masked).get_template("page.html.jinja")
    return template.render(
        page=page,
        policy=POLICY.format(script=_digest(script), style=_digest(style)),
        overview=parts,
        words_since=words_since,
        verdict=page_verdict(page),
        single=None if page.leaderboard else parts.pooled_of(page),
        pooled=page.comparison.pooled if page.comparison else None,
        groups=parts.domain_rows(page.summaries),
        fields=parts.field_rows(page.summaries),
        judge=tuple(report_lines(page.judge)),
        board=parts.board_of(page.leaderboard),
        rules=rules,
        confusions=confusions,
        numbers=parts.number_lines(page, rows),
        histograms=parts.histograms(page),
        plain=plain,
        unlisted=unlisted,
        left_out=left_out,
        counted=counted,
        heads=parts.heads_of,
        script=_markup(script),
        style=_markup(style),
        runs_json=_markup(runs),
        details_json=_markup(details),
    )


def script_text() -> str:
    """Return the script of the page, in a scope of its own."""
    files = ((ROOM / "script" / f"{name}.js").read_text("utf-8") for name in SCRIPTS)
    return f'(() => {{\n"use strict";\n{"".join(files)}}})();\n'


def _embedded(page: SessionPage, rows: Rows, facts: Sequence[TaskFacts]) -> tuple[str, str, int]:
    """Return what the script reads, as JSON: the runs, and the details of as many as find room.

    The number is that of the others.
    """
    records = page.records
    changed = {LOST, GAINED}
    first = frozenset(at for at, one in enumerate(records) if rows.change(one) in changed)
    by_agent = bool(page.comparison and page.comparison.has_agents)
    was = page.sources.baseline() if page.sources and page.comparison else ()
    before = baseline_runs(records, was, by_agent=by_agent)
    details, left_out = details_of(records, facts, page.sources, before, first)
    runs = [rows.row(one, known) for one, known in zip(records, facts, strict=True)]
    name = page.comparison.pooled.name if page.comparison else ""
    domains = dict.fromkeys(one.domain for one in records)
    sops = {rows.masked(one): _sop(page, one) for one in domains}
    data = {**rows.words(), "baseline": rows.masked(name), "runs": runs, "sops": sops}
    return json_text(data), details, left_out


def _sop(page: SessionPage, domain: str) -> str:
    return str(shortened(page.sources.sop(domain), SOP_LIMIT)) if page.sources else ""


def _environment(masked: Callable[[str], str]) -> Environment:
    # Only a session that writes this page needs the library.
    from jinja2 import Environment, FileSystemLoader, StrictUndefined  # noqa: PLC0415
    from markupsafe import Markup  # noqa: PLC0415

    def shown(value: object) -> object:
        return value if isinstance(value, Markup) else visible(masked(str(value)))

    return Environment(
        loader=FileSystemLoader(ROOM / "templates"),
        autoescape=True,
        undefined=StrictUndefined,
        finalize=shown,
        trim_blocks=True,
        lstrip_blocks=True,
        keep_trailing_newline=True,
    )


def _markup(text: str) -> str:
    """Return a text that the template writes as it stands; only our own files, and data."""
    from markupsafe import Markup  # noqa: PLC0415

    return Markup(text)  # noqa: S704 - our own files, and JSON without a `<`


def _digest(text: str) -> str:
    return f"sha256-{b64encode(sha256(text.encode()).digest()).decode()}"
