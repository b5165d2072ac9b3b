"""The event logs of a session: one file per run, in a folder beside the saved session."""

from __future__ import annotations

import hashlib
import shutil
from collections.abc import Iterable
from pathlib import Path
from urllib.parse import quote

from pytest_sopbench._core.model.keys import RunKey
from pytest_sopbench.errors import SessionFileError

from .atomic import replace_file

SUFFIX = ".traces"
SAFE = "-_.~"
LONGEST = 80
"""Characters of one part of a file's name; a longer one ends in a hash."""


def traces_folder(session: Path) -> Path:
    """Return the folder that belongs to a saved session: `last.jsonl`, `last.traces`."""
    return session.with_name(f"{session.name.removesuffix('.jsonl')}{SUFFIX}")


def trace_name(key: RunKey) -> str:
    """Return where the log of a run lies in that folder, with `/`.

    The domain, then the task, `+` and the trial where it is not the first, and the agent behind
    an `@`. Each part is percent-encoded, so that no id leads out of the folder.
    """
    trial = f"+{key.trial}" if key.trial > 1 else ""
    agent = f"@{_part(key.agent)}" if key.agent else ""
    return f"{_part(key.domain)}/{_part(key.task)}{trial}{agent}.jsonl"


def bring_logs(source: Path, session: Path, keys: Iterable[RunKey]) -> None:
    """Copy the logs of runs from another saved session; what it does not have is passed over.

    Raises:
        SessionFileError: the disk did not take one.
    """
    for name in map(trace_name, keys):
        found, place = traces_folder(source) / name, traces_folder(session) / name
        try:
            if found.is_file():
                place.parent.mkdir(parents=True, exist_ok=True)
                shutil.copyfile(found, place)
        except OSError as fault:
            raise _refused(place, fault) from fault


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
        try:
            if self._taken:
                for one in self.path.glob("*/*"):
                    if one not in self._taken:
                        one.unlink()
            elif self.path.exists():
                shutil.rmtree(self.path)
        except OSError as fault:
            raise _refused(self.path, fault) from fault

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
        try:
            # Whole, or not there: whoever resumes the session believes what it finds.
            with replace_file(path) as file:
                file.write(log.encode("ascii"))
        except OSError as fault:
            raise _refused(path, fault) from fault

    def copy(self, session: Path) -> None:
        """Keep the logs beside another saved session as well.

        Raises:
            SessionFileError: its folder exists, or the disk did not take them.
        """
        if not self.path.exists():
            return
        other = traces_folder(session)
        try:
            shutil.copytree(self.path, other)
        except OSError as fault:
            raise _refused(other, fault) from fault


def _part(text: str) -> str:
    name = quote(text, safe=SAFE, errors="surrogatepass")
    if name.startswith("."):
        name = f"%2E{name[1:]}"
    if len(name) <= LONGEST:
        return name
    return (
        f"{name[:LONGEST]}~{hashlib.sha256(text.encode('utf-8', 'surrogatepass')).hexdigest()[:16]}"
    )


def _refused(path: Path, fault: OSError) -> SessionFileError:
    msg = f"{path}: cannot be written: {fault.strerror or fault}"
    return SessionFileError(msg, hint="sop_traces = none keeps no event logs")
