"""Audits that were saved: what they found, as long as the domain's files are the same."""

from __future__ import annotations

import json
from contextlib import suppress
from pathlib import Path

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._sessions.file.atomic import replace_file

from .model import Audit, Severity

FOLDER = Path(".sop") / "audits"
"""Where they lie, in the folder of the project."""


def save_audit(audit: Audit, project: Path) -> bool:
    """Save what an audit found; whether the disk took it, which nobody's build depends on."""
    content = {
        "hash": audit.hash,
        "summary": audit.summary,
        "counts": {severity.value: count for severity, count in audit.counts.items()},
    }
    path = _path(project, audit.name)
    try:
        with replace_file(path) as file:
            file.write(json.dumps(content, indent=1).encode())
        ignore = project / FOLDER.parent / ".gitignore"
        if not ignore.exists():
            ignore.write_text("*\n", "utf-8")
    except OSError:
        return False
    return True


def saved_summary(domain: Domain, project: Path) -> str:
    """What the saved audit of a domain says; empty where there is none of the same content."""
    path = _path(project, domain.name)
    if not path.is_file():
        return ""
    # Only where there is a saved audit need its reader be loaded.
    from .reading import content_hash  # noqa: PLC0415

    with suppress(OSError, ValueError, KeyError, TypeError):
        saved = json.loads(path.read_text("utf-8"))
        if saved["hash"] == content_hash(domain.folder):
            return str(saved["summary"])
    return ""


def has_faults(summary: str) -> bool:
    """Whether an audit has found more than notes."""
    return any(severity in summary for severity in (Severity.ERROR, Severity.WARNING))


def _path(project: Path, name: str) -> Path:
    # Whatever a folder is called, this is a name for a file.
    safe = "".join(sign if sign.isalnum() or sign in "._-" else "_" for sign in name)
    return project / FOLDER / f"{safe.lstrip('.')[:100] or 'domain'}.json"
