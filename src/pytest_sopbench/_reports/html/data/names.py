"""What runs are called in the page, in its links and in what is shown."""

from __future__ import annotations

from collections.abc import Mapping
from urllib.parse import quote

from pytest_sopbench._core.gates.session_page import SessionPage
from pytest_sopbench._core.records.record import RunRecord


def agent_labels(page: SessionPage) -> Mapping[str, str]:
    """Return what each agent is called, best first; nothing where the session has one."""
    board = page.leaderboard
    return {one.agent: one.label for one in board.standings} if board else {}


def run_name(record: RunRecord, labels: Mapping[str, str]) -> str:
    """Return `DOMAIN/TASK`, with the trial where it is not the first, and one of several agents."""
    trial = f"+{record.trial}" if record.trial > 1 else ""
    agent = f"@{labels.get(record.agent, record.agent)}" if labels else ""
    return f"{record.domain}/{record.task}{trial}{agent}"


def fragment(name: str) -> str:
    """Return a name as it stands behind the `#` of a link."""
    return quote(name.encode("utf-8", "surrogatepass"), safe="/@+")
