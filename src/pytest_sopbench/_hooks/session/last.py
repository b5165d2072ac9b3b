"""`last` is withdrawn while a session is under way, and given back if none comes of it.

A gate that is checked on `last` would else decide on an older session wherever this one ends before
it has a file: by a usage error, while it collects, or on a full disk.
"""

from __future__ import annotations

import os
import secrets
from collections.abc import Generator
from datetime import UTC, datetime
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_sopbench._hooks.session.session import LISTINGS, SESSION, is_narrowed
from pytest_sopbench._hooks.settings.ini import ini_values, typed_words
from pytest_sopbench._sessions.folder import SUFFIX, Withdrawal, own_name
from pytest_sopbench._settings.project_file import from_home
from pytest_sopbench._settings.table import AGENT_OPTION, SESSIONS, SPECS

_BEGUN = pytest.StashKey["BegunSession"]()
_WITHDRAWAL = pytest.StashKey[Withdrawal]()
_RUN_NO_TEST = (*LISTINGS, "help", "version", "markers", "cacheshow")
_TESTS_RAN = frozenset({pytest.ExitCode.OK, pytest.ExitCode.TESTS_FAILED})


class BegunSession(NamedTuple):
    """The session that begins in a process: its identity, and the file that it is going to have."""

    identity: str
    file: Path


def begun_session(config: pytest.Config) -> BegunSession:
    """Return the session that begins in this process, the same for all that ask."""
    known = config.stash.get(_BEGUN, None)
    if known is not None:
        return known
    identity = secrets.token_hex(8)
    words = ini_values(config, "sop_dir") or SPECS["sop_dir"].default
    folder = config.rootpath / from_home(words[0]) / SESSIONS
    file = folder / f"{own_name(datetime.now(UTC), identity)}{SUFFIX}"
    begun = config.stash[_BEGUN] = BegunSession(identity, file)
    return begun


def withdraw_last(config: pytest.Config) -> Withdrawal:
    """Withdraw `last` for the session that begins in this process."""
    known = config.stash.get(_WITHDRAWAL, None)
    if known is not None:
        # A fixture may wake the plugin after all tests were collected.
        known.take()
        return known
    taken = config.stash[_WITHDRAWAL] = Withdrawal(begun_session(config).file)
    config.pluginmanager.register(LastSession(taken), "sop-last")
    return taken


class LastSession:
    """Gives `last` back as soon as it is sure that the process runs no task.

    What fails before that may have been a SOP session, so `last` stays withdrawn.
    """

    def __init__(self, taken: Withdrawal) -> None:
        self._taken = taken
        # Whether something failed that may have been SOP tests.
        self._is_unsure = False
        # The status with which the tests came to their end.
        self._status: int | None = None

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_cmdline_main(self, config: pytest.Config) -> Generator[None, object, object]:
        if any(getattr(config.option, name, False) for name in _RUN_NO_TEST):
            self._taken.give_back()
        return (yield)

    def end(self, status: object) -> None:
        """Withdraw the session itself if a hook behind it has taken its status from it.

        Args:
            status: with which the process ends; `None` if it ends by an exception.
        """
        # A session that Ctrl-C cut short says so itself.
        if status not in {*_TESTS_RAN, self._status} or status is None:
            self._taken.hold()

    @pytest.hookimpl
    def pytest_collectreport(self, report: pytest.CollectReport) -> None:
        self._is_unsure |= report.failed

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, error: object) -> None:
        # A worker that died may not have told yet what it runs.
        self._is_unsure |= error is not None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        # Workers of xdist collect by themselves.
        if session.items and not self._may_run_tasks(session.config):
            self._taken.give_back()

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_sessionfinish(
        self, session: pytest.Session, exitstatus: int
    ) -> Generator[None, object, object]:
        self._status = int(exitstatus)
        result = yield
        ran = session.testscollected > 0 and session.exitstatus in _TESTS_RAN
        if ran and not self._may_run_tasks(session.config):
            self._taken.give_back()
        return result

    def _may_run_tasks(self, config: pytest.Config) -> bool:
        """Tell whether a session that has collected its tests runs tasks, or was meant to."""
        words = typed_words(config, os.environ)
        if self._is_unsure or any(one.startswith(("--sop-", AGENT_OPTION)) for one in words):
            return True
        sop = config.stash.get(SESSION, None)
        if sop is None:
            return False
        plan = sop.plan
        # What the user's own `-k` leaves out was not meant to run; what a conftest takes away was.
        return bool(plan.planned or plan.made) or (plan.has_tasks and not is_narrowed(config))
