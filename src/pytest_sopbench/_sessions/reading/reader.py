"""Read a saved session, whole or left behind by a process that died."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from pathlib import Path
from typing import TYPE_CHECKING, Any

from pytest_sopbench._core.metrics.summary import Summary
from pytest_sopbench._core.model.keys import RunKey
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._sessions.file.plain_file import require_plain_file
from pytest_sopbench._sessions.folder.elsewhere import newest_with
from pytest_sopbench._sessions.folder.pointer import followed
from pytest_sopbench._sessions.header.header import UNCHECKED, SessionHeader
from pytest_sopbench._sessions.lines.checksum import seed_of
from pytest_sopbench.errors import SessionFileError

from .content import NOTHING_KNOWN, Content, KnownRun, Parse, parse_run
from .planned import Signs, never_started, outcomes_of, signs_of, summaries_of, unplanned

if TYPE_CHECKING:
    from pytest_sopbench._sessions.lines.damage import DamagedLine


@dataclass(frozen=True, slots=True, kw_only=True)
class SavedSession:
    """A session as it lies on disk.

    Attributes:
        path: the file.
        header: what was asked of whom, and how it was judged.
        records: the runs, each once, in the order of the file. Runs that stand only in the
            journals of a session that did not end follow.
        unfinished: the runs that were begun and left no line: their process died.
        finished: whether the session came to its end.
        reruns: how often other plugins ran tests again, by the title of each group.
        absent: the planned runs of which the file has no sign; `None` where this is unknown.
        damaged: the lines that hold something else than was written; they count for nothing.
        doubts: why nothing may be concluded from the file; empty where all is well.
        problems: what is odd about the file: doubts, damaged lines and more.
        called: what the session was asked for by.
    """

    path: Path
    header: SessionHeader
    records: tuple[RunRecord, ...]
    unfinished: tuple[RunKey, ...] = ()
    finished: bool = False
    reruns: Mapping[str, int] | None = None
    absent: tuple[RunKey, ...] | None = None
    damaged: tuple[DamagedLine, ...] = ()
    doubts: tuple[str, ...] = ()
    problems: tuple[str, ...] = ()
    called: str = ""

    @property
    def name(self) -> str:
        """What the session was asked for by, such as `last`, else the name of its file."""
        return self.called or self.path.stem

    @property
    def slim(self) -> bool:
        """Whether it is a slim baseline, whose runs have an outcome and names of calls alone."""
        return self.header.options.slim

    @property
    def summaries(self) -> Mapping[str, Summary] | None:
        """What the runs of each domain came to, counted; `None` without an end of the session."""
        return summaries_of(self) if self.finished else None

    def runs_of(self, task: str) -> tuple[RunRecord, ...]:
        """Return the runs of one task, in the order of trials.

        Args:
            task: `DOMAIN/TASK`, `DOMAIN::TASK`, or the task's id where one domain has it.

        Raises:
            SessionFileError: no task is called so, or tasks of several domains are.
        """
        found = [one for one in self.records if is_called(one.domain, one.task, task)]
        if not found:
            ids = {name for one in self.records for name in _names_of(one.domain, one.task)}
            near = get_close_matches(task, sorted(ids), n=3)
            count = len({(one.domain, one.task) for one in self.records})
            by = " ".join(("", *self.header.options.selection))
            ran = f"it ran {count} task{'s' * (count != 1)}{by and f', selected by{by}'}"
            msg = f"{self.path}: no run of a task {task!r}; {ran}"
            hint = f"did you mean {' or '.join(near)}?" if near else "tasks are named DOMAIN/TASK"
            if other := newest_with(task, self.path):
                hint = f"the session {other} ran it"
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
        `cached_tokens`, `cache_write_tokens`, `output_tokens`, `reasoning_tokens`, `model_calls`,
        `cost_usd`, `model`. What is not known is missing, and never 0.

        Raises:
            SessionFileError: pandas is not installed.
        """
        from .dataframe import frame_of  # noqa: PLC0415 - only where a session is read

        return frame_of(self.records)


def read_session(
    path: Path, parse: Parse = parse_run, known: Mapping[RunKey, KnownRun] = NOTHING_KNOWN
) -> SavedSession:
    """Read a saved session, line by line. A missing or truncated last line is no error.

    A line that is not what was written is left out and named, and its run counts as one that
    was planned and left no line. A session that was saved before lines had checksums is read as it
    stands, and said to be unchecked.

    Args:
        path: the file.
        parse: reads the line of a run, whole or what of it is needed.
        known: runs that whoever has written the file has in memory; their lines are not parsed.

    Raises:
        SessionFileError: the file cannot be read, is no saved session, was written by a newer
            version, or its header is damaged.
    """
    from .header_line import read_header  # noqa: PLC0415 - only where a session is read

    # Once, since a session that ends meanwhile moves the pointer.
    called, path = path.stem, followed(path)
    try:
        require_plain_file(path)
        with path.open("rb") as file:
            header = read_header(path, file.readline())
            seed = None if header.schema <= UNCHECKED else seed_of(header.identity)
            content = Content(seed, parse, known)
            for number, line in enumerate(file, start=2):
                content.take(number, line)
    except OSError as fault:
        msg = f"{path}: cannot be read: {fault.strerror or fault}"
        raise SessionFileError(msg, hint=_nearest(path)) from fault
    left = [] if content.finished else _add_leftovers(path, header, content)
    return _judged(path, called, header, content, left)


def refuse_doubted(saved: SavedSession) -> None:
    """Refuse a session of which nothing may be concluded, before another is made of it.

    Raises:
        SessionFileError: the session is damaged.
    """
    if saved.doubts:
        msg = f"{saved.path}: {saved.doubts[0]}"
        raise SessionFileError(msg, hint="resume it, or run it again: damaged runs are lost")


def is_called(domain: str, task: str, name: str) -> bool:
    """Tell whether a user names a task so."""
    return name.endswith(task) and name in _names_of(domain, task)


def _judged(
    path: Path, called: str, header: SessionHeader, content: Content, problems: list[str]
) -> SavedSession:
    """Return the session, with what is to be told of it."""
    from pytest_sopbench._sessions.lines.damage import damage_lines, run_name  # noqa: PLC0415 - only where a session is read

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
        damaged=tuple(content.damaged),
    )
    seen = signs_of(saved)
    saved = replace(saved, absent=tuple(never_started(saved, seen)))
    doubts = tuple(_doubts(saved, content, seen))
    if header.schema <= UNCHECKED:
        problems.append(f"{path}: saved before lines had checksums; it is read unchecked")
    if content.cut:
        problems.append(f"{path}, line {content.cut}: cut short, and left out")
    problems += damage_lines(path, content.damaged)
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
    from pytest_sopbench._sessions.lines.damage import some_runs  # noqa: PLC0415 - only where a session is read

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
        from pytest_sopbench._sessions.journal.leftovers import unmerged_journal  # noqa: PLC0415 - only where a session is read

        left = unmerged_journal(path, header)
    except SessionFileError as fault:
        return [str(fault)]
    for key, run in left.finished.items():
        content.records.setdefault(key, run.record)
    content.begun.update(dict.fromkeys(left.unfinished))
    return list(left.problems)


def _names_of(domain: str, task: str) -> tuple[str, ...]:
    return task, f"{domain}/{task}", f"{domain}::{task}"


def _nearest(path: Path) -> str:
    names = [one.stem for one in path.parent.glob("*.jsonl")]
    near = get_close_matches(path.stem, names, n=3, cutoff=0.5) or sorted(names)[:5]
    return f"sessions in {path.parent}: {', '.join(near)}" if near else ""
