"""Write a session that was made of others, whole and in one step."""

from __future__ import annotations

import shutil
from collections.abc import Iterable, Mapping
from itertools import chain
from pathlib import Path

from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.records.lines.run_line import to_line
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._sessions.header.header import SessionHeader
from pytest_sopbench.errors import SessionFileError

from .atomic import replace_file
from .event_logs import traces_folder
from .writer import sealed_session, summary_to_line


def store_session(
    path: Path,
    header: SessionHeader,
    records: Iterable[RunRecord],
    summaries: Mapping[str, Summary],
    *,
    logs: Iterable[Path] = (),
) -> None:
    """Write a session under a name that is free, and the event logs of others beside it.

    Args:
        path: the file.
        header: its first line.
        records: its runs, in order.
        summaries: what they came to.
        logs: sessions whose event logs are taken over; one without any is passed over.

    Raises:
        SessionFileError: the file, or its folder of event logs, exists; or the disk did not take
            them.
    """
    for one in (path, traces_folder(path)):
        if one.exists():
            msg = f"{one}: is there already"
            raise SessionFileError(msg, hint="choose another name, or move it away first")
    lines = chain(map(to_line, records), map(summary_to_line, (summaries,)))
    write_lines(path, sealed_session(header, lines))
    try:
        for session in logs:
            if traces_folder(session).is_dir():
                shutil.copytree(traces_folder(session), traces_folder(path), dirs_exist_ok=True)
    except OSError as fault:
        msg = f"{traces_folder(path)}: cannot be written: {fault.strerror or fault}"
        raise SessionFileError(msg) from fault


def write_lines(path: Path, lines: Iterable[bytes]) -> None:
    """Write the lines of a file aside and rename it, so that nobody ever reads half of it.

    The lines have their ends.

    Raises:
        SessionFileError: the disk did not take it.
    """
    try:
        with replace_file(path) as file:
            file.writelines(lines)
    except OSError as fault:
        msg = f"{path}: cannot be written: {fault.strerror or fault}"
        raise SessionFileError(msg) from fault
