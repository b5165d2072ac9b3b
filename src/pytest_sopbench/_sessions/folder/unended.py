"""Sessions of a folder that never came to their end: killed, or ended by what they ran."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

from .last_time import has_summary
from .mark import SUFFIX as MARK
from .mark import is_running, mark_path, owner_of
from .paths import SUFFIX, is_own_name, with_time
from .pointer import followed, last_path, withdrawn_by


def own_sessions(sessions_dir: Path) -> list[Path]:
    """Return the sessions of a folder that have a name of their own, the oldest first.

    Of one that died early there may be no file, but a mark.
    """
    try:
        names = {path.name.partition(".")[0] for path in sessions_dir.iterdir()}
    except OSError:
        return []
    return [sessions_dir / f"{name}{SUFFIX}" for name in sorted(names) if is_own_name(name)]


def running_since_last(sessions_dir: Path, *, but: Path) -> Path | None:
    """Return the newest session after the last one that is still running, beside the one given."""
    found = (one for one in _since_last(sessions_dir) if one != but and is_running(one))
    return next(found, None)


def unended_since_last(sessions_dir: Path) -> Path | None:
    """Return the newest session after the last one that is not running, and has no end."""
    return next((one for one in _since_last(sessions_dir) if is_unended(one)), None)


def resumable_since_last(sessions_dir: Path) -> Path | None:
    """Return the newest of those that left something to take over."""
    found = (one for one in _since_last(sessions_dir) if one.is_file() and is_unended(one))
    return next(found, None)


def marked_unended(sessions_dir: Path) -> list[Path]:
    """Return the sessions whose mark was left behind by their process."""
    marked = sessions_dir.glob(f"*{MARK}")
    sessions = [path.with_name(f"{path.name.removesuffix(MARK)}{SUFFIX}") for path in marked]
    return [one for one in sorted(sessions) if not is_running(one) and mark_path(one).exists()]


def not_ended(path: Path) -> str:
    """Say which session did not end, where a path stands for one that did not; else nothing."""
    if path == last_path(path.parent):
        return _last_not_ended(path.parent)
    session = followed(path)
    if is_running(session):
        return f"the session is still running ({owner_of(session)}): {session.stem}"
    return f"the session did not end: {session.stem}" if mark_path(session).exists() else ""


def _last_not_ended(sessions_dir: Path) -> str:
    name = withdrawn_by(sessions_dir)
    if name and is_running(sessions_dir / f"{name}{SUFFIX}"):
        return f"the last session is still running: {with_time(name)}"
    marked = marked_unended(sessions_dir)
    found = marked[-1] if marked else unended_since_last(sessions_dir)
    if found is not None and found.stem >= name:
        return f"the last session did not end: {with_time(found.stem)}"
    # It ended before it had a file, or the disk did not take that.
    return f"no result was saved of the last session: {with_time(name)}" if name else ""


def is_unended(session: Path) -> bool:
    """Tell whether a session has a mark without a process, or a file without a summary."""
    if is_running(session):
        return False
    return mark_path(session).exists() or (session.is_file() and not has_summary(session))


def _since_last(sessions_dir: Path) -> Iterator[Path]:
    """Yield the sessions that began after the last one, or with it; the newest first."""
    last = followed(last_path(sessions_dir))
    known = last.name if is_own_name(last.stem) else ""
    for session in reversed(own_sessions(sessions_dir)):
        if session.name < known:
            return
        # That which `last` is has its file; its process may have had a bad end all the same.
        if session.name != known or mark_path(session).exists():
            yield session
