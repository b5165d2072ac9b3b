"""The event logs of a session: one file per run, in a folder beside the saved session."""

from __future__ import annotations

import shutil
from collections.abc import Generator, Iterable, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from errno import ENOENT
from os import O_APPEND, O_TRUNC, strerror
from pathlib import Path
from typing import BinaryIO

from pytest_sopbench._core.model.task import RunKey
from pytest_sopbench._core.model.trace import Trace
from pytest_sopbench._core.records.event_log import trace_of_log
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.values.text import safe_name
from pytest_sopbench._sessions.atomic import opened_at_once, replace_file, try_making, try_writing
from pytest_sopbench.errors import SessionFileError, SopbenchError

from .atomic import refused_as

SUFFIX = ".traces"
_NONE = "sop_traces = none keeps no event logs"


def traces_folder(session: Path) -> Path:
    """Return the folder that belongs to a saved session: `last.jsonl`, `last.traces`."""
    return session.with_name(f"{session.name.removesuffix('.jsonl')}{SUFFIX}")


def trace_name(key: RunKey) -> str:
    """Return where the log of a run lies in that folder, with `/`.

    The domain, then the task, `+` and the trial if it is not the first, and the agent behind
    an `@`. Each part is percent-encoded, so that no id leads out of the folder.
    """
    trial = f"+{key.trial}" if key.trial > 1 else ""
    agent = f"@{safe_name(key.agent)}" if key.agent else ""
    return f"{safe_name(key.domain)}/{safe_name(key.task)}{trial}{agent}.jsonl"


def bring_logs(source: Path, session: Path, keys: Iterable[RunKey]) -> None:
    """Copy the logs of runs from another saved session; what it does not have is passed over.

    Raises:
        SessionFileError: the disk did not take one.
    """
    for name in map(trace_name, keys):
        found, place = traces_folder(source) / name, traces_folder(session) / name
        with refused_as(SessionFileError, place, _NONE):
            if found.is_file():
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(found, place)


class TraceFolder:
    """Writes the logs of one session, and nothing over another.

    Args:
        session: the file of the saved session.
        taken: runs made before, whose logs stay until one is written in their place.

    Raises:
        SessionFileError: the logs of the session of before cannot be removed.
    """

    def __init__(self, session: Path, *, taken: Iterable[RunKey] = ()) -> None:
        self.path = traces_folder(session)
        self._taken = {self.path / trace_name(key) for key in taken}
        with refused_as(SessionFileError, self.path, _NONE):
            if self._taken:
                for one in self.path.glob("*/*"):
                    if one not in self._taken:
                        one.unlink()
            elif self.path.exists():
                shutil.rmtree(self.path)

    def write(self, key: RunKey, log: str) -> None:
        """Write the log of one run; a second one of the same run is not kept.

        Raises:
            SessionFileError: the disk did not take it.
        """
        path = self.path / trace_name(key)
        if path in self._taken:
            # Of a run that was made again, since its log did not suffice.
            self._taken.discard(path)
        elif path.exists():
            return
        # Whole, or not there: whoever resumes the session believes what it finds.
        with refused_as(SessionFileError, path, _NONE), replace_file(path) as file:
            file.write(log.encode("ascii"))

    def copy(self, session: Path) -> None:
        """Keep the logs beside another saved session as well.

        Raises:
            SessionFileError: its folder exists, or the disk did not take them.
        """
        if not self.path.exists():
            return
        other = traces_folder(session)
        with refused_as(SessionFileError, other, _NONE):
            shutil.copytree(self.path, other)


# The event log that was kept of one run: where it lies, and what it holds.

GONE = "is gone"


@dataclass(frozen=True, slots=True, kw_only=True)
class KeptLog:
    """What is left of the event log of a run.

    Attributes:
        path: where it lies; `None` if none was kept.
        trace: what it holds; `None` if it cannot be read.
        why: why it cannot be read.
    """

    path: Path | None = None
    trace: Trace | None = None
    why: str = ""


def kept_log(session: Path, record: RunRecord) -> KeptLog:
    """Return the event log of a run of a saved session, as far as it is there."""
    if not record.trace:
        return KeptLog()
    path = traces_folder(session) / trace_name(record.key)
    try:
        return KeptLog(path=path, trace=trace_of_log(path.read_text("ascii")))
    except FileNotFoundError:
        return KeptLog(path=path, why=GONE)
    except (OSError, ValueError) as fault:
        return KeptLog(path=path, why=f"cannot be read: {fault}")


# Pages on a session: written all or none, and never half of one.


def write_pages(pages: Mapping[Path, str]) -> None:
    """Write every page aside, and put them into place together.

    Raises:
        SopbenchError: names the first file that the disk did not take. The others were not written.
    """
    with ExitStack() as stack:
        for path, page in pages.items():
            stack.enter_context(refused_as(SopbenchError, path))
            # Where a link leads, so that it stays one.
            file = stack.enter_context(_opened(path.resolve()))
            # No file takes half of a character.
            file.write(page.encode("utf-8", "backslashreplace"))
            file.flush()


def try_page(path: Path) -> None:
    """See that a page could be written, and leave everything as it was.

    Raises:
        OSError: it could not.
    """
    file = path.resolve()
    if file.is_file():
        # To write into it is not enough: another file takes its place.
        try_making(file)
    else:
        try_writing(file)


def add_to_page(path: Path, page: str) -> None:
    """Write behind what a file holds already.

    Raises:
        SopbenchError: the disk did not take it.
    """
    with refused_as(SopbenchError, path), opened_at_once(path, O_APPEND) as file:
        file.write(page.encode("utf-8", "backslashreplace"))


@contextmanager
def _opened(path: Path) -> Generator[BinaryIO]:
    if path.exists() and not path.is_file():
        # A device or a pipe: renaming a file over it would take it away from everybody.
        with opened_at_once(path, O_TRUNC) as file:
            yield file
    elif not path.parent.is_dir():
        # A folder that is not there is more often a slip than a wish.
        raise FileNotFoundError(ENOENT, strerror(ENOENT))
    else:
        with replace_file(path) as file:
            yield file
