"""The saved session, written while the session runs."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path

from pytest_sopbench._core.judging_hash import judging_hash
from pytest_sopbench._core.metrics import Summary
from pytest_sopbench._core.models import JsonValue
from pytest_sopbench._core.records import RunKey
from pytest_sopbench._sessions.git import git_state
from pytest_sopbench._sessions.header import DomainHeader, SessionHeader
from pytest_sopbench._sessions.names import LAST, session_path
from pytest_sopbench._sessions.start import start_to_line
from pytest_sopbench._sessions.traces import TraceFolder
from pytest_sopbench._sessions.writer import SessionWriter
from pytest_sopbench.errors import SessionFileError

from .session import SopSession


class Saving:
    """Writes each run as it is entered; a disk that refuses ends the saving, never the session."""

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop
        self._writer: SessionWriter | None = None
        self._traces: TraceFolder | None = None
        self.problems: tuple[str, ...] = ()
        self.log_problems: tuple[str, ...] = ()

    @property
    def path(self) -> Path:
        return self._sop.options.sessions_dir / f"{LAST}.jsonl"

    def start(self, key: RunKey) -> None:
        """Write that a run begins, so that a process that dies in it leaves its name."""
        self.add(start_to_line(key))

    def add(self, line: str) -> None:
        """Append a line; the first one opens the file."""
        if self.problems:
            return
        try:
            if self._writer is None:
                kept = kept_path(self._sop)
                self._writer = SessionWriter(self.path, session_header(self._sop), kept=kept)
                self._open_traces()
            self._writer.append(line)
        except SessionFileError as error:
            self.problems = (str(error),)

    def add_events(self, key: RunKey, log: str) -> None:
        """Keep the event log of a run whose line was added; an empty one is none."""
        if not log or self._traces is None or self.log_problems:
            return
        try:
            self._traces.write(key, log)
        except SessionFileError as error:
            self.log_problems = (str(error),)

    def _open_traces(self) -> None:
        try:
            self._traces = TraceFolder(self.path)
        except SessionFileError as error:
            self.log_problems = (str(error),)

    def finish(self, order: Iterable[RunKey], summaries: Mapping[str, Summary]) -> None:
        """Put the lines into the order of the plan, and close the file."""
        if self._writer is None or self.problems:
            return
        try:
            self._writer.finish(order, summaries)
            if self._traces is not None and self._writer.kept is not None:
                self._traces.copy(self._writer.kept)
        except SessionFileError as error:
            self.problems = (str(error),)


def kept_path(sop: SopSession) -> Path | None:
    """Return where `--sop-save` wants the session, or `None`.

    Raises:
        SessionFileError: the value is neither a name nor a path.
    """
    if sop.options.save is None:
        return None
    path = session_path(sop.options.save, sop.options.sessions_dir)
    return sop.config.invocation_params.dir / path


def session_header(sop: SopSession) -> SessionHeader:
    """Say what this session runs, and how it judges."""
    planned: dict[str, dict[str, None]] = {}
    for key in sop.plan.planned:
        planned.setdefault(key.domain, {})[key.task] = None
    actives = {name: sop.find_active(name) for name in planned}
    return SessionHeader(
        plugin=version("pytest-sopbench"),
        agent=sop.agent_shown,
        agent_args={
            name: sop.options.redaction.text(value) for name, value in sop.options.agent_args
        },
        options=_options(sop),
        git=git_state(sop.config.rootpath),
        started=datetime.now(UTC).isoformat(timespec="seconds"),
        judging=judging_hash({name: active.rules for name, active in actives.items()}),
        domains={
            name: DomainHeader(**active.domain.hashes, planned=tuple(planned[name]))
            for name, active in actives.items()
        },
    )


def _options(sop: SopSession) -> Mapping[str, JsonValue]:
    # By an allow-list: what is not named here may be secret, or only of this machine.
    options = sop.options
    return {
        "selection": list(options.selection),
        "gates": [f"{gate.domain}:{gate.name}={gate.value}".lstrip(":") for gate in options.gates],
        "max_calls": options.max_calls,
        "concurrency": options.concurrency,
        "timeout": options.timeout,
        "retries": options.retries,
        "scoring": options.scoring.value,
        "contract": options.contract,
    }
