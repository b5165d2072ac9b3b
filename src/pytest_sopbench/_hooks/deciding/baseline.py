"""The session that this one is compared with."""

from __future__ import annotations

from dataclasses import replace
from pathlib import Path

import pytest

from pytest_sopbench._core.comparison import SessionComparison
from pytest_sopbench._core.gates.conditions import COMPARISON_GATES, gate_text
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._hooks.results.saving import kept_path
from pytest_sopbench._hooks.session.session import SopSession, check_writable, deselection_reason
from pytest_sopbench._sessions.atomic import copy_file
from pytest_sopbench._sessions.commands.gate import agents_left_out, compare_saved
from pytest_sopbench._sessions.folder import followed, last_path, session_path
from pytest_sopbench._sessions.reader import read_session
from pytest_sopbench._sessions.saved import SavedSession, planned_records
from pytest_sopbench.errors import SessionFileError


class Baseline:
    """Reads the baseline before the first run, and compares with it after the last."""

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop
        # The session that was read; `None` if there is none yet.
        self.saved: SavedSession | None = None
        self.remarks: tuple[str, ...] = ()
        # Whether this session was kept as the baseline that was missing.
        self.is_made = False
        # Whether it was to be kept, and the disk did not take it.
        self.is_unwritten = False

    @property
    def is_missing(self) -> bool:
        """Whether there is none yet, and this session is to become it."""
        return self._sop.options.compare is not None and self.saved is None

    def read(self) -> None:
        """Read what `--sop-compare` names, and whether its agents are those of this session.

        Raises:
            pytest.UsageError: there is no such session, it is none to compare with, or none of
                several agents is in both.
        """
        options = self._sop.options
        self._check_beside()
        if options.compare is None:
            return
        value = options.compare.session
        try:
            path = self._path(value)
            # `last` is withdrawn while this session runs, and leads where it led.
            if followed(path).exists():
                self.saved = read_session(path)
        except SessionFileError as error:
            msg = f"--sop-compare={value}: {error}"
            raise pytest.UsageError(msg) from None
        if self.saved is not None and path == last_path(self._sop.options.sessions_dir):
            # A later session takes that name for its own.
            self._sop.recorded = replace(self._sop.recorded, compare=self.saved.path.stem)
        if self.saved is None and not options.compare.create:
            shown = self._sop.shown(path)
            msg = (
                f"--sop-compare={value}: there is no {shown}\n"
                f"make a baseline when all is well: run with --sop-save={value},\n"
                f"or with --sop-compare={value},create"
            )
            raise pytest.UsageError(msg)
        if self.saved is None:
            check_writable(self._sop, "--sop-compare", path)
            return
        if self.saved.header.options.shard is not None:
            msg = (
                f"--sop-compare={value}: a shard is a part of the tasks, and no baseline\n"
                "put the shards together with sopbench merge first"
            )
            raise pytest.UsageError(msg)
        self._check_agents(self.saved, value)

    def _check_agents(self, saved: SavedSession, value: str) -> None:
        """Refuse a baseline that has none of several agents, before a model is paid for."""
        there, here = {one.agent for one in saved.records}, {*self._sop.agents}
        several = len(there) > 1 or len(here) > 1
        if self._sop.options.agents and several and there and there.isdisjoint(here):
            msg = (
                f"--sop-compare={value}: it has runs of {', '.join(sorted(there))}, and none of "
                f"{self._sop.agent_label}\nagents are paired by name; --agent NAME=SPEC gives one "
                "the same name in both"
            )
            raise pytest.UsageError(msg)

    def _check_beside(self) -> None:
        """Refuse options that say nothing with, or without, a baseline."""
        options = self._sop.options
        typed = bool(self._sop.config.getoption("sop_gate"))
        asked = [one for one in options.gates if one.name in COMPARISON_GATES]
        if options.compare is not None and options.shard is not None:
            msg = (
                "--sop-shard: a part of the tasks cannot be compared\n"
                "leave --sop-compare out; after sopbench merge, compare with sopbench compare"
            )
            raise pytest.UsageError(msg)
        if options.compare is None and typed and asked:
            msg = (
                f"--sop-gate={gate_text(asked[0])}: there is nothing to compare with\n"
                "give --sop-compare=NAME or a path beside it"
            )
            raise pytest.UsageError(msg)

    def compare(self, current: SavedSession) -> SessionComparison | None:
        """Compare a finished session with the baseline; `None` if there is none."""
        if self.saved is None:
            return None
        fields = {one.domain.name: one.domain.fields for one in self._sop.actives}
        try:
            self.remarks = tuple(
                f"agent {one} is in the baseline and did not run here; it is left out"
                for one in sorted(agents_left_out(self.saved, current))
            )
            return compare_saved(self.saved, current, fields=fields)
        except SessionFileError as error:
            # Which agents a fixture gives was not known before.
            self.remarks = (f"nothing is compared: {error.message}",)
            return None

    def create(self, current: SavedSession, refused: str = "") -> None:
        """Keep a session as the baseline that was missing, if all of it was run and it may be.

        `refused` says why it may not, or nothing.
        """
        compare = self._sop.options.compare
        if compare is None or not self.is_missing:
            return
        path = self._path(compare.session)
        shown = self._sop.shown(path)
        unrun = sum(one.outcome is Outcome.NOT_RUN for one in planned_records(current))
        unrun_text = f"{unrun} runs were never started" if unrun else ""
        why = deselection_reason(self._sop) or unrun_text or refused
        if why:
            self.remarks = (f"{shown} is not written: {why}",)
            return
        try:
            if not path.exists():
                copy_file(current.path, path)
            # `--sop-save` may have kept it under this name a moment ago.
            elif path != kept_path(self._sop) and not followed(path).samefile(current.path):
                self.remarks = (f"{shown} is not written: another session has become it meanwhile",)
                return
        except OSError as fault:
            self.is_unwritten = True
            self.remarks = (f"{shown} cannot be written: {fault.strerror or fault}",)
        else:
            self.is_made = True
            self.remarks = (f"this session is the baseline now: {shown}",)

    def _path(self, value: str) -> Path:
        path = session_path(value, self._sop.options.sessions_dir)
        return self._sop.config.invocation_params.dir / path
