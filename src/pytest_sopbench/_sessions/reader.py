"""Read a saved session: its first line, what stands below it, and what is odd about the file."""

from __future__ import annotations

import json
import os
import re
from collections.abc import Iterable, Mapping
from dataclasses import replace
from difflib import get_close_matches
from pathlib import Path
from typing import Any, Final, cast

from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._core.records.record import RunRecord, record_from_json
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._sessions.folder import followed, session_path
from pytest_sopbench._sessions.header import SCHEMA, SessionHeader, header_from_json
from pytest_sopbench._sessions.journal import unmerged_journal
from pytest_sopbench._sessions.lines import (
    CHANGED,
    UNSEALED,
    DamagedLine,
    damage_lines,
    is_intact,
    is_sealed,
    read_json,
    read_line,
    run_name,
    seed_of,
    some_runs,
)
from pytest_sopbench._sessions.saved import (
    SavedSession,
    Signs,
    never_started,
    outcomes_of,
    planned_records,
    signs_of,
    unplanned,
)
from pytest_sopbench._sessions.writer import TYPE as SLIM
from pytest_sopbench._sessions.writer import (
    require_plain_file,
    sealed_session,
    slim_from_json,
    slim_header,
    slim_to_line,
    write_lines,
)
from pytest_sopbench._settings.extensions import load_metrics, missing_metrics
from pytest_sopbench._settings.project_file import read_project
from pytest_sopbench.errors import SessionFileError

# What stands below the header of a saved session, taken line by line.

_STRING: Final = rb'"((?:[^"\\]|\\.)*)"'
_RUN: Final = re.compile(
    rb'"domain":%b,"task":%b,"trial":(\d+),"agent":%b' % (_STRING, _STRING, _STRING)
)


class Content:
    """Lines that were read so far.

    `records` hold each key once, its last line. `begun` are runs of which a start was written.
    `stored` is what the last line counts, `finished` whether it is there and nothing of the session
    behind it. `differing` are runs with two lines that say different things. `cut` is the number of
    a last line that has no end, or 0.

    `seed` is that of the checksums.
    """

    def __init__(self, seed: int) -> None:
        self._seed = seed
        self.records: dict[RunKey, RunRecord] = {}
        self.begun: dict[RunKey, None] = {}
        self.stored: Mapping[str, Summary] | None = None
        self.finished = False
        self.damaged: list[DamagedLine] = []
        self.differing: dict[RunKey, None] = {}
        self.cut = 0

    def take(self, number: int, line: bytes) -> None:
        """Take one line with its end, if it has one."""
        bare = line.rstrip(b"\r\n")
        fault = self._fault(bare)
        if not fault:
            try:
                self._add(read_json(bare))
            except (ValueError, RecursionError) as broken:
                # A header that stands in the middle, and whatever else no session has there.
                fault = str(broken) or type(broken).__name__
        # A power failure may leave a block of zeros where the last line should be.
        if not fault or not bare.strip(b"\0 \t"):
            return
        if not line.endswith(b"\n"):
            self.cut = number
        else:
            self.damaged.append(DamagedLine(number=number, why=fault, run=_run_in(bare)))

    def _fault(self, line: bytes) -> str:
        if is_intact(line, self._seed):
            return ""
        return CHANGED if is_sealed(line) else UNSEALED

    def _add(self, data: object) -> None:
        told = cast("dict[str, Any]", data) if isinstance(data, dict) else {}
        kind = told.pop("type", None)
        told.pop("crc", None)
        entry = read_line(kind, told)
        if kind == "run":
            self._add_run(record_from_json(entry))
        elif kind == SLIM:
            self._add_run(slim_from_json(entry))
        elif kind == "start":
            self.begun[RunKey.read(entry)] = None
        elif kind == "summary":
            self.stored = {name: Summary(**one) for name, one in entry["domains"].items()}
            self.finished = True
        else:
            msg = "neither a run nor a summary"
            raise ValueError(msg)

    def _add_run(self, record: RunRecord) -> None:
        key = record.key
        before = self.records.setdefault(key, record)
        if before is not record:
            if before != record:
                self.differing[key] = None
            self.records[key] = record
        # A summary counts what stands above it, and nothing that was appended after it.
        self.finished = False


def _run_in(line: bytes) -> RunKey | None:
    """Return of which run a damaged line seems to have been."""
    found = _RUN.search(line[:2_000])
    if found is None:
        return None
    domain, task, trial, agent = found.groups()
    return RunKey(_text(domain), _text(task), int(trial[:9]), _text(agent))


def _text(literal: bytes) -> str:
    try:
        text: str = json.loads(b'"%b"' % literal)
    except ValueError:
        return literal.decode("ascii", "backslashreplace")
    return text


# Read a saved session, whole or left behind by a process that died.


def read_session(path: Path) -> SavedSession:
    """Read a saved session, line by line. A missing or truncated last line is no error.

    A line that is not what was written is left out and named, and its run counts as one that
    was planned and left no line.

    Args:
        path: the file.

    Raises:
        SessionFileError: the file cannot be read, is no saved session, was written by another
            version, or its header is damaged.
    """
    # Once, since a session that ends meanwhile moves the pointer.
    called, path = path.stem, followed(path)
    try:
        require_plain_file(path)
        with path.open("rb") as file:
            header = read_header(path, file.readline())
            content = Content(seed_of(header.identity))
            for number, line in enumerate(file, start=2):
                content.take(number, line)
    except OSError as fault:
        msg = f"{path}: cannot be read: {fault.strerror or fault}"
        raise SessionFileError(msg, hint=_nearest(path)) from fault
    left = [] if content.finished else _add_leftovers(path, header, content)
    return _judged(path, called, header, content, left)


def load_session(session: str | os.PathLike[str]) -> SavedSession:
    """Read a saved session, which may still be written or left behind by a process that died.

    Args:
        session: a path, or the name of a session in `sop_dir`, such as `"last"`. A text
            with a separator, or one that ends in `.jsonl`, is a path.

    Returns:
        The session with all of its runs. Its summaries and its table have the metrics of the
        packages that are installed.

    Raises:
        ExtensionError: a metric of a package cannot be used.
        SessionFileError: it cannot be read, is no saved session, was written by another version,
            or is damaged elsewhere than at its end.
    """
    load_metrics()
    if not isinstance(session, str):
        return read_session(Path(session))
    return read_session(session_path(session, read_project(Path.cwd()).sessions_dir))


def refuse_doubted(saved: SavedSession) -> None:
    """Refuse a session of which nothing may be concluded, before another is made of it.

    Raises:
        SessionFileError: the session is damaged.
    """
    if saved.doubts:
        msg = f"{saved.path}: {saved.doubts[0]}"
        raise SessionFileError(msg, hint="resume it, or run it again: damaged runs are lost")


def _judged(
    path: Path, called: str, header: SessionHeader, content: Content, problems: list[str]
) -> SavedSession:
    """Return the session, with what is to be told of it."""
    lost = {one.run for one in content.damaged}
    unfinished = tuple(
        key for key in content.begun if key not in content.records and key not in lost
    )
    saved = SavedSession(
        path=path,
        called=called,
        header=header,
        records=tuple(content.records.values()),
        unfinished=unfinished,
        finished=content.finished,
        reruns={name: one.reruns for name, one in (content.stored or {}).items()},
        absent=(),  # found out below
        damaged=tuple(content.damaged),
    )
    seen = signs_of(saved)
    saved = replace(saved, absent=tuple(never_started(saved, seen)))
    doubts = tuple(_doubts(saved, content, seen))
    if content.cut:
        problems.append(f"{path}, line {content.cut}: cut short, and left out")
    problems += damage_lines(path, content.damaged)
    problems += [
        f"{path}: a metric of {package} is left out, since it is not installed here"
        for package in missing_metrics(header.options.metrics)
    ]
    problems += [f"{path}: while it ran, {one}" for one in header.options.broken]
    # That lines are damaged, each of them has said.
    problems += [f"{path}: {one}" for one in doubts[bool(content.damaged) :]]
    problems += [
        f"{path}: the run of {run_name(key)} was begun and has no end: its process died"
        for key in unfinished
    ]
    return replace(saved, doubts=doubts, problems=tuple(problems))


def _doubts(saved: SavedSession, content: Content, seen: Signs) -> Iterable[str]:
    """Say why nothing may be concluded from a file, damaged lines first."""
    if content.damaged:
        count = len(content.damaged)
        yield f"{count} damaged lines" if count > 1 else "1 damaged line"
    # A slim baseline is written at once; runs of a session that was killed may stand there twice.
    if content.differing and (content.finished or saved.slim):
        yield f"runs that stand there twice, and differ: {some_runs([*content.differing])}"
    if saved.slim and saved.absent:
        # None is made of a session that lacks a run.
        yield f"lines of a slim baseline are missing: {some_runs(saved.absent)}"
    others = list(unplanned(saved, seen))
    if others:
        yield f"runs that the session did not plan: {some_runs(others)}"
    if not content.finished or content.stored is None or content.damaged:
        return
    if _outcomes(content.stored) != _outcomes(outcomes_of(saved)):
        runs = sum(one.runs for one in content.stored.values())
        yield (
            f"its last line counts other outcomes of {runs} runs than its lines come to; "
            f"the {len(saved.records)} lines of runs count"
        )


def _outcomes(summaries: Mapping[str, Summary]) -> Mapping[str, object]:
    return {name: {**one.outcomes} for name, one in summaries.items() if one.runs}


def _add_leftovers(path: Path, header: SessionHeader, content: Content) -> list[str]:
    """Add what stands in the session's journals alone; return what is to be told of them."""
    try:
        left = unmerged_journal(path, header)
    except SessionFileError as fault:
        return [str(fault)]
    for key, run in left.finished.items():
        content.records.setdefault(key, run.record)
    content.begun.update(dict.fromkeys(left.unfinished))
    return list(left.problems)


def _nearest(path: Path) -> str:
    names = [one.stem for one in path.parent.glob("*.jsonl")]
    near = get_close_matches(path.stem, names, n=3, cutoff=0.5) or sorted(names)[:5]
    return f"sessions in {path.parent}: {', '.join(near)}" if near else ""


# The first line of a file that somebody calls a saved session: is it one, and whole?


def read_header(path: Path, line: bytes) -> SessionHeader:
    """Read the first line of a file, given with its end.

    Raises:
        SessionFileError: the file is no saved session, was written by another version, or its
            header is damaged.
    """
    if not line.strip(b"\0 \t\r\n"):
        raise _foreign(path, "it is empty")
    if not line.isascii():
        raise _foreign(path, "it holds bytes that no saved session holds")
    try:
        data = read_json(line)
    except (ValueError, RecursionError) as fault:
        raise _foreign(path, "its first line is no header") from fault
    if not isinstance(data, dict) or cast("dict[str, Any]", data).get("type") != "header":
        raise _foreign(path, "its first line is no header")
    told = cast("dict[str, Any]", data)
    schema = told.get("schema")
    if isinstance(schema, int) and schema != SCHEMA:
        msg = f"{path}: written by another pytest-sopbench (schema {schema}, known: {SCHEMA})"
        hint = "install the version that wrote it, or run the session again"
        raise SessionFileError(msg, hint=hint)
    try:
        header = header_from_json(told)
    except ValueError as fault:
        raise _damaged(path, str(fault)) from fault
    if not is_intact(line.rstrip(b"\r\n")):
        raise _damaged(path, "its checksum is missing, or of another content")
    return header


def _foreign(path: Path, why: str) -> SessionFileError:
    hint = "a saved session is a .jsonl file that pytest wrote with an option --sop-..."
    return SessionFileError(f"{path}: no saved session: {why}", hint=hint)


def _damaged(path: Path, why: str) -> SessionFileError:
    hint = "nothing can be concluded without its header: run the session again"
    return SessionFileError(f"{path}, line 1: damaged: {why}", hint=hint)


# Make a slim baseline of a session that was accepted.


def write_baseline(path: Path, saved: SavedSession, *, reason: str) -> int:
    """Write a slim baseline, over one that stands there, and return how many runs it has.

    Raises:
        SessionFileError: the session is a shard, or damaged, or a run of it never started or has
            no end; a file that is no slim baseline stands there; or the disk did not take it.
    """
    if saved.header.options.shard is not None:
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
