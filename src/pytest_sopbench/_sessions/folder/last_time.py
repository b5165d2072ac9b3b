"""What the session before this one took, read from the two ends of its file."""

from __future__ import annotations

import json
import os
from dataclasses import dataclass
from pathlib import Path
from typing import Any, BinaryIO

from pytest_sopbench._sessions.header.options import read_session_options

_BLOCK = 65_536


@dataclass(frozen=True, slots=True, kw_only=True)
class LastSession:
    """Of whom and of what the session was, and what it took.

    `concurrency` is how many runs were in flight: a number, `auto`, or `None` for one in each
    process. `cost_usd` is `None` where some run did not tell its cost: a part of it would mislead.
    """

    agent: str
    domains: frozenset[str]
    runs: int
    duration_s: float
    concurrency: int | str | None = None
    cost_usd: float | None = None
    replay: str = ""


def read_last(path: Path) -> LastSession | None:
    """Read a saved session's first and last line, however many lines lie between.

    Returns:
        `None` where there is no such file, or where it does not tell: it was cut short, its
        duration was not recorded or is that of a part of its runs, or it holds something else.
    """
    try:
        with path.open("rb") as file:
            header, summary = json.loads(file.readline()), json.loads(_last_line(file))
        totals: list[dict[str, Any]] = [*summary.get("agents", {"": summary["total"]}).values()]
        pooled = [one["pooled"] for one in totals]
        options = read_session_options(header["options"])
        if summary["type"] != "summary" or summary["duration_s"] is None or options.resumed:
            return None
        # A run that was never started has cost nothing.
        started = sum(one["runs"] - one["outcomes"].get("not_run", 0) for one in pooled)
        costs = [cost for one in pooled if (cost := one["usage"].get("cost_usd"))]
        is_whole = bool(costs) and sum(one["known"] for one in costs) == started
        return LastSession(
            agent=header["agent"],
            domains=frozenset(header["domains"]),
            runs=started,
            duration_s=summary["duration_s"],
            concurrency=options.concurrency,
            cost_usd=sum(one["total"] for one in costs) if is_whole else None,
            replay=options.replay,
        )
    except (OSError, ValueError, KeyError, TypeError, AttributeError):
        # It only serves for a remark, which can be left out.
        return None


def has_summary(path: Path) -> bool:
    """Tell whether a session's file has the line that stands at its end."""
    try:
        with path.open("rb") as file:
            return _last_line(file).startswith(b'{"type":"summary"')
    except OSError:
        return False


def _last_line(file: BinaryIO) -> bytes:
    end = file.seek(0, os.SEEK_END)
    tail = b""
    while end and tail.count(b"\n", 0, -1) == 0:
        start = max(0, end - _BLOCK)
        file.seek(start)
        tail = file.read(end - start) + tail
        end = start
    return tail.rstrip(b"\n").rpartition(b"\n")[2]
