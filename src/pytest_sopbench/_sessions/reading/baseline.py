"""Make a slim baseline of a session that was accepted."""

from __future__ import annotations

from pathlib import Path

from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._sessions.file.slim import slim_header, slim_to_line
from pytest_sopbench._sessions.file.store import write_lines
from pytest_sopbench._sessions.file.writer import sealed_session
from pytest_sopbench.errors import SessionFileError

from .planned import planned_records, shard_of
from .reader import SavedSession, read_session, refuse_doubted


def write_baseline(path: Path, saved: SavedSession, *, reason: str) -> int:
    """Write a slim baseline, over one that stands there, and return how many runs it has.

    Raises:
        SessionFileError: the session is a shard, or damaged, or a run of it never started or has
            no end; a file that is no slim baseline stands there; or the disk did not take it.
    """
    if shard_of(saved) is not None:
        msg = f"{saved.path}: a shard is a part of the tasks"
        raise SessionFileError(msg, hint="put the shards together with sopbench merge first")
    refuse_doubted(saved)
    records = planned_records(saved)
    lost = [one for one in records if one.outcome is Outcome.NOT_RUN]
    if lost or saved.unfinished or not records:
        count = len(lost) + len(saved.unfinished)
        msg = f"{saved.path}: {count} of {len(records)} planned runs did not come to an end"
        raise SessionFileError(msg, hint="a baseline is a session that is whole")
    if path.exists() and not read_session(path).slim:
        msg = f"{path}: a whole session stands there, and no slim baseline"
        raise SessionFileError(msg, hint="choose another name, or move that file away first")
    header = slim_header(saved.header, reason=reason)
    # In an order of its own, so that a diff of two baselines shows what changed and no more.
    ordered = sorted(records, key=lambda one: one.key)
    write_lines(path, sealed_session(header, map(slim_to_line, ordered)))
    return len(records)
