"""Read a saved session, whole or left behind by a process that died."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from pathlib import Path
from typing import Any, cast

from pytest_sopbench._core.metrics import Summary
from pytest_sopbench._core.records import RunKey, RunRecord, from_line
from pytest_sopbench._core.summary_json import summary_from_json
from pytest_sopbench.errors import SessionFileError

from .frame import frame_of
from .header import SCHEMA, SessionHeader, header_from_json
from .leftovers import leftovers_of
from .pointer import followed
from .slim import TYPE as SLIM
from .slim import slim_from_json
from .start import start_from_json


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedSession:
    """A session as it lies on disk.

    `records` hold each key once, its last line, in the order of the file; those that stand in the
    journals of a session that did not come to its end follow. `unfinished` are the
    runs that were begun and left no line: their process died. `summaries` by domain are those of
    the last line, or `None` where the session did not come to its end. `problems` are what a
    reader should tell, such as a last line that was cut short.
    """

    path: Path
    header: SessionHeader
    records: tuple[RunRecord, ...]
    unfinished: tuple[RunKey, ...] = ()
    summaries: Mapping[str, Summary] | None = None
    problems: tuple[str, ...] = ()
    called: str = ""

    @property
    def name(self) -> str:
        """What the session was asked for by, such as `last`, else the name of its file."""
        return self.called or self.path.stem

    @property
    def slim(self) -> bool:
        """Whether it is a slim baseline, whose runs have an outcome and names of calls alone."""
        return self.header.options.get(SLIM) is True

    def runs_of(self, task: str) -> tuple[RunRecord, ...]:
        """Return the runs of one task, in the order of trials.

        Args:
            task: `DOMAIN/TASK`, `DOMAIN::TASK`, or the task's id where one domain has it.

        Raises:
            SessionFileError: no task is called so, or tasks of several domains are.
        """
        found = [record for record in self.records if task in _names_of(record)]
        if not found:
            ids = {name for record in self.records for name in _names_of(record)}
            near = get_close_matches(task, sorted(ids), n=3)
            msg = f"{self.path}: no run of a task {task!r}"
            hint = f"did you mean {' or '.join(near)}?" if near else "tasks are named DOMAIN/TASK"
            raise SessionFileError(msg, hint=hint)
        domains = sorted({record.domain for record in found})
        if len(domains) > 1:
            msg = f"{self.path}: {task!r} is a task of {', '.join(domains)}"
            raise SessionFileError(msg, hint=f"write {domains[0]}/{task}")
        return tuple(sorted(found, key=lambda record: (record.agent, record.trial)))

    def to_dataframe(self) -> Any:
        """Return the runs as a `pandas.DataFrame`, one row each, in the order of the file.

        Its columns are `domain`, `task`, `trial`, `agent`, `outcome`, `correct`, `reason`,
        `answer.FIELD` for each output field, `calls`, `duration_s`, `input_tokens`,
        `output_tokens`, `model_calls`, `cost_usd`. What is not known is missing, and never 0.

        Raises:
            SessionFileError: pandas is not installed.
        """
        return frame_of(self.records)


def read_session(path: Path) -> SavedSession:
    """Read a saved session. A missing or truncated last line is no error.

    Raises:
        SessionFileError: the file cannot be read, is no saved session, was written by a newer
            version, or is damaged elsewhere than at its end; names the line.
    """
    # Once, since a session that ends meanwhile moves the pointer.
    called, path = path.stem, followed(path)
    lines = _lines(path)
    header = _header(path, lines[0])
    records: dict[RunKey, RunRecord] = {}
    begun: dict[RunKey, None] = {}
    summaries: Mapping[str, Summary] | None = None
    problems: list[str] = []
    for number, line in enumerate(lines[1:], start=2):
        try:
            found = _content(line)
        except ValueError as fault:
            if number == len(lines) and not line.endswith("\n"):
                problems.append(f"{path}, line {number}: cut short, and left out")
                break
            raise _damaged(path, number, str(fault)) from fault
        if isinstance(found, RunRecord):
            records[found.key] = found
            # A summary counts what stands above it, and nothing that was appended after it.
            summaries = None
        elif isinstance(found, RunKey):
            begun[found] = None
        else:
            summaries = found
    if summaries is None:
        problems += _add_leftovers(path, header, records, begun)
    unfinished = tuple(key for key in begun if key not in records)
    problems += [f"{path}: {_unfinished(key)}" for key in unfinished]
    return SavedSession(
        path=path,
        called=called,
        header=header,
        records=tuple(records.values()),
        unfinished=unfinished,
        summaries=summaries,
        problems=tuple(problems),
    )


def _add_leftovers(
    path: Path, header: SessionHeader, records: dict[RunKey, RunRecord], begun: dict[RunKey, None]
) -> list[str]:
    """Add what stands in the session's journals alone; return what is to be told of them."""
    try:
        left = leftovers_of(path, header.identity)
    except SessionFileError as fault:
        return [str(fault)]
    for key, run in left.finished.items():
        records.setdefault(key, run.record)
    begun.update(dict.fromkeys(left.unfinished))
    return []


def _unfinished(key: RunKey) -> str:
    trial = f" (trial {key.trial})" if key.trial > 1 else ""
    return f"the run of {key.domain}/{key.task}{trial} was begun and has no end: its process died"


def _names_of(record: RunRecord) -> tuple[str, ...]:
    return record.task, f"{record.domain}/{record.task}", f"{record.domain}::{record.task}"


def _lines(path: Path) -> list[str]:
    try:
        text = path.read_bytes().decode("ascii")
    except OSError as fault:
        hint = _nearest(path)
        msg = f"{path}: cannot be read: {fault.strerror or fault}"
        raise SessionFileError(msg, hint=hint) from fault
    except UnicodeDecodeError as fault:
        raise _foreign(path, "it holds bytes that no saved session holds") from fault
    # A power failure may leave a block of zeros where the last line should be.
    text = text.rstrip("\0")
    lines = [line for line in text.splitlines(keepends=True) if line.strip()]
    if not lines:
        raise _foreign(path, "it is empty")
    return lines


def _nearest(path: Path) -> str:
    names = [one.stem for one in path.parent.glob("*.jsonl")]
    near = get_close_matches(path.stem, names, n=3, cutoff=0.5) or sorted(names)[:5]
    return f"sessions in {path.parent}: {', '.join(near)}" if near else ""


def _header(path: Path, line: str) -> SessionHeader:
    try:
        data = _object(line)
    except ValueError as fault:
        raise _foreign(path, "its first line is no header") from fault
    if data.get("type") != "header":
        raise _foreign(path, "its first line is no header")
    schema = data.get("schema")
    if isinstance(schema, int) and schema > SCHEMA:
        msg = f"{path}: written by a newer pytest-sopbench (schema {schema}, known: {SCHEMA})"
        raise SessionFileError(msg, hint="upgrade pytest-sopbench to read it")
    try:
        return header_from_json(data)
    except ValueError as fault:
        raise _damaged(path, 1, str(fault)) from fault


def _content(line: str) -> RunRecord | RunKey | Mapping[str, Summary]:
    # By its beginning, so that the lines that matter for time are parsed once.
    if line.startswith('{"type":"run",'):
        return from_line(line)
    data = _object(line)
    if data.get("type") == "run":
        return from_line(line)
    if data.get("type") == SLIM:
        return slim_from_json(data)
    if data.get("type") == "start":
        return start_from_json(data)
    if data.get("type") == "summary" and isinstance(data.get("domains"), dict):
        return {name: summary_from_json(one) for name, one in data["domains"].items()}
    msg = "neither a run nor a summary"
    raise ValueError(msg)


def _object(line: str) -> dict[str, Any]:
    data: object = json.loads(line)
    if isinstance(data, dict):
        return cast("dict[str, Any]", data)
    msg = "no JSON object"
    raise ValueError(msg)


def _foreign(path: Path, why: str) -> SessionFileError:
    hint = "a saved session is a .jsonl file that pytest wrote with an option --sop-..."
    return SessionFileError(f"{path}: no saved session: {why}", hint=hint)


def _damaged(path: Path, number: int, why: str) -> SessionFileError:
    hint = "a session is only ever cut short at its end; this one was changed since"
    return SessionFileError(f"{path}, line {number}: damaged: {why}", hint=hint)
