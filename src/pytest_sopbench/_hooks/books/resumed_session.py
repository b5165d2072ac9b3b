"""Which session `--sop-resume` means, held so that nobody else takes it over meanwhile."""

from __future__ import annotations

from pathlib import Path

from pytest_sopbench._hooks.runs.journals import journal_folder
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._sessions.folder.last_time import has_summary
from pytest_sopbench._sessions.folder.mark import Mark, claim, refuse_running
from pytest_sopbench._sessions.folder.paths import session_path
from pytest_sopbench._sessions.folder.pointer import followed, last_path
from pytest_sopbench._sessions.folder.unended import resumable_since_last, running_since_last


class ResumedSession:
    """The session that is resumed.

    `name` is what it is called; `is_last` tells that it was asked for as the last one, so that this
    session takes its place.

    Raises:
        SessionFileError: the value is neither a name nor a path, or the session is still running.
    """

    def __init__(self, sop: SopSession, value: str) -> None:
        self._sop = sop
        self.name = value
        sessions_dir = sop.options.sessions_dir
        path = sop.config.invocation_params.dir / session_path(value, sessions_dir)
        self.is_last = path == last_path(sessions_dir)
        self.path = self._newest(sessions_dir) if self.is_last else followed(path)
        self._claim: Mark | None = claim(self.path)

    def _newest(self, sessions_dir: Path) -> Path:
        """Return the newest session that never ended, else the one that ended last."""
        running = running_since_last(sessions_dir, but=journal_folder(self._sop).session)
        if running is not None:
            refuse_running(running)
        unended = resumable_since_last(sessions_dir)
        if unended is None:
            return followed(last_path(sessions_dir))
        self.name = unended.stem
        return unended

    def give_back(self) -> None:
        """Let others have it; where this session has all that it left, it needs no mark."""
        if self._claim is None:
            return
        if has_summary(journal_folder(self._sop).session):
            self._claim.take_off()
        else:
            self._claim.give_back()
