"""What a page on a saved session tells beside its runs."""

from __future__ import annotations

from collections.abc import Mapping

from pytest_sopbench._sessions.reading.planned import selection_of
from pytest_sopbench._sessions.reading.reader import SavedSession


def facts_of(saved: SavedSession) -> Mapping[str, str]:
    """Return what a reader may need to find a session again, by name; unknown is empty."""
    header = saved.header
    scoring = str(header.options.get("scoring", ""))
    commit = (
        f"{header.git.commit[:12]}{' and changes' if header.git.dirty else ''}"
        if header.git
        else ""
    )
    return {
        "started": header.started,
        "commit": commit,
        "pytest-sopbench": header.plugin,
        "selected by": " ".join(selection_of(saved)),
        "scoring": "" if scoring == "exact" else scoring,
    }


def remarks_of(saved: SavedSession) -> tuple[str, ...]:
    """Return what must not go unsaid of a session."""
    published = str(saved.header.options.get("scoring", "")) == "published"
    remark = "judged by the published scorer's rules, not by ours"
    return (*((remark,) if published else ()), *saved.problems)
