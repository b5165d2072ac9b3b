"""The fixture `sop_snapshot`: the trajectories that were approved for the task of a test.

Below it, what a session says of its snapshots.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Generator, Mapping, Sequence
from dataclasses import replace
from functools import partial
from importlib.util import find_spec
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_sopbench._core.documents.comparing import compare_documents
from pytest_sopbench._core.documents.schema import DocumentRules
from pytest_sopbench._core.hiding import harmless, masking
from pytest_sopbench._core.installing import install_hint
from pytest_sopbench._core.model.trace import Answer
from pytest_sopbench._core.trajectory.calls import Trajectory
from pytest_sopbench._core.trajectory.snapshot import (
    Snapshot,
    approved_documents,
    as_trajectory,
    compare,
    snapshot_text,
)
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._hooks.runs.run_cache import RUN
from pytest_sopbench._hooks.runs.shown import Run
from pytest_sopbench._hooks.session.session import REF, SESSION, SopSession
from pytest_sopbench._hooks.snapshots import FILE, PLUGIN
from pytest_sopbench._reports.assertion import diff_lines, document_diff_lines, missing_lines
from pytest_sopbench._reports.notices import leftover_lines, not_approved_lines, unasked_lines
from pytest_sopbench._reports.text import one_line, shell_word
from pytest_sopbench._sessions.snapshots import SnapshotFolder, file_text, parsed, shown_task
from pytest_sopbench.errors import SnapshotFileError

if TYPE_CHECKING:
    from syrupy.assertion import SnapshotAssertion
    from syrupy.session import SnapshotSession

FIXTURE = "sop_snapshot"
SNAPSHOT = pytest.StashKey["SopSnapshot"]()
COUNTED: pytest.StashKey[SnapshotSession] = pytest.StashKey()
"""Where syrupy counts in this process."""


class SopSnapshot:
    """What a trajectory is compared with: `assert sop_run.trajectory == sop_snapshot`.

    It reads what was approved and decides; syrupy writes if that is asked for, and counts.
    Every trial of a task is compared, and the first one alone is approved.
    """

    __hash__ = None  # type: ignore[assignment]  # as any value that only compares

    def __init__(self, sop: SopSession, item: pytest.Item, run: Run) -> None:
        self._rules = sop.options.snapshot_rules
        self._key = item.stash[REF].key
        self._redaction = sop.options.redaction.of(item.stash[REF].domain.domain.private_columns)
        self._documents = item.stash[REF].domain.domain.document
        self._item = item
        self._folder = SnapshotFolder(sop.options.snapshots_dir)
        self._of_state = False
        self._place(Trajectory())
        self._run = run
        self._assertion: Any = None  # the one of `count_with`
        # Made when it is printed: an update compares thousands of runs, and prints nothing.
        self._explain: Callable[[], list[str]] = list
        self.compared = False

    def __repr__(self) -> str:
        return f"<snapshot of {self._title}>"

    def __eq__(self, other: object) -> bool:
        given = self._trajectory(other)
        self.compared = True
        self._place(given)
        if self._key.trial > 1 and self._is_written:
            # The first trial is approved at this moment, in another process perhaps.
            return True
        made = self._rules.normalised(self._redacted(given))
        text = snapshot_text(Snapshot(task=self._key.task, approved=(made,)))
        found = self._assertion.extension.found = self._found()
        approved = self._held_text(made, text, found)
        if self._run.refusal:
            self._assertion.update_snapshots = False
            self._assertion.update_new_snapshots_only = False
        same: bool = self._assertion == (approved or text)
        if same:
            # Nothing will be printed, and what it holds would be held for every test.
            self._explain = list
        return same

    def _place(self, given: Trajectory) -> None:
        """Take the file of what is compared: what a task calls and what it changes have two."""
        self._of_state = given.of_state
        of = self._folder.state_file if given.of_state else self._folder.file
        self._file = self._item.stash[FILE] = of(self._key.domain, self._key.task)

    def _trajectory(self, other: object) -> Trajectory:
        if isinstance(other, Answer) and self._documents is not None:
            return as_trajectory(other.values)
        if isinstance(other, Trajectory):
            return other
        what = "a trajectory, such as sop_run.trajectory"
        if self._documents is not None:
            what += ", or with a document, sop_run.answer"
        msg = f"a snapshot is compared with {what}: {other!r}"
        raise TypeError(msg)

    def count_with(self, assertion: SnapshotAssertion) -> None:
        """Take the assertion of syrupy that writes and counts; it asks the item for its file."""
        self._assertion = assertion

    @property
    def exists(self) -> bool:
        return self._file.exists()

    @property
    def _is_written(self) -> bool:
        option: Any = self._item.config.option
        return bool(option.update_snapshots or (is_update(self._item.config) and not self.exists))

    @property
    def lines(self) -> list[str]:
        """What the last comparison says if it failed; the first line says the most."""
        with masking(self._redaction.text):
            return [harmless(self._redaction.text(line)) for line in self._explain()]

    @property
    def _title(self) -> str:
        return one_line(self._named) + (f"/t{self._key.trial}" if self._key.trial > 1 else "")

    @property
    def _named(self) -> str:
        return f"{self._key.domain}/{self._key.task}"

    def _redacted(self, trajectory: Trajectory) -> Trajectory:
        redaction = self._redaction
        return Trajectory(
            calls=tuple(
                replace(
                    call,
                    name=redaction.text(call.name),
                    arguments=redaction.value(call.arguments),
                )
                for call in trajectory
            )
        )

    def _found(self) -> str | SnapshotFileError | None:
        try:
            return file_text(self._file)
        except SnapshotFileError as error:
            return error

    def _held_text(
        self, made: Trajectory, text: str, found: str | SnapshotFileError | None
    ) -> str | None:
        """Return what is approved, as it stands in its file, if the run keeps to it."""
        if found is None:
            self._explain = partial(missing_lines, self._title, made, approve=self._approve)
            return None
        if found == text:
            return text
        try:
            if isinstance(found, SnapshotFileError):
                raise found
            snapshot = parsed(self._file, self._key.task, found)
        except SnapshotFileError as error:
            said = [*str(error).split("\n"), self._approve]
            self._explain = lambda: said
            return None
        documents = approved_documents(snapshot)
        if documents and self._documents is not None:
            return self._held_document(self._documents, made, documents, found)
        comparison = compare(made, snapshot, self._rules)
        if comparison.held:
            return found
        self._explain = partial(diff_lines, self._title, comparison, approve=self._approve)
        return None

    def _held_document(
        self,
        rules: DocumentRules,
        made: Trajectory,
        approved: Sequence[Mapping[str, JsonValue]],
        found: str,
    ) -> str | None:
        """Return what is approved if the document is equal to one that is, path by path."""
        (document,) = approved_documents(Snapshot(task="", approved=(made,))) or ({},)
        every = [compare_documents(rules, one, document).mismatches for one in approved]
        nearest = min(every, key=len)
        if not nearest:
            return found
        self._explain = partial(document_diff_lines, self._title, nearest, approve=self._approve)
        return None

    @property
    def _approve(self) -> str:
        if self._run.refusal:
            return f"this run cannot be approved: {self._run.refusal}"
        if self._key.trial > 1:
            return "only the first trial of a task can be approved"
        if self._of_state:
            # A saved session is approved by its calls.
            return "to approve it: run this test again with --snapshot-update"
        return f"to approve it: sopbench approve last {shell_word(self._named)} --reason TEXT"


def sop_snapshot(request: pytest.FixtureRequest, run: Run) -> SopSnapshot:
    from .syrupy_extension import assertion_of  # noqa: PLC0415 - syrupy is an extra

    item, stash = request.node, request.config.stash
    if COUNTED not in stash:
        # From one item for all: for each of thousands it costs as much as the comparison.
        stash[COUNTED] = request.getfixturevalue("snapshot").session
    made = item.stash[SNAPSHOT] = SopSnapshot(stash[SESSION], item, run)
    made.count_with(assertion_of(item, stash[COUNTED]))
    return made


def check_syrupy(config: pytest.Config, where: str) -> None:
    """Refuse a test that asks for snapshots in a session without syrupy.

    Raises:
        pytest.UsageError: it is not installed, or switched off.
    """
    if config.pluginmanager.hasplugin(PLUGIN):
        return
    if find_spec(PLUGIN) is None:
        why = f"which is not installed\n{install_hint('syrupy', extra='snapshot')}"
    else:
        why = (
            "which is switched off in this session, by -p no:syrupy or an environment variable\n"
            "let pytest load it, or deselect the test"
        )
    msg = f"{where}: the fixture {FIXTURE} needs the plugin syrupy, {why}"
    raise pytest.UsageError(msg)


def is_update(config: pytest.Config) -> bool:
    """Whether syrupy is to write what the runs do now."""
    option: Any = config.option
    return bool(option.update_snapshots or getattr(option, "update_new_snapshots_only", False))


def check_update(config: pytest.Config, where: str, agents: Sequence[str]) -> None:
    """Refuse to approve what several agents do at once: the last one would replace the others.

    Raises:
        pytest.UsageError: snapshots are to be written.
    """
    if is_update(config):
        msg = (
            f"{where}: --snapshot-update: a task has one snapshot, and several agents run it: "
            f"{', '.join(agents)}\nupdate with the agent that is right, or approve what several do "
            "with sopbench approve SESSION --add"
        )
        raise pytest.UsageError(msg)


def not_approved(item: pytest.Item) -> str:
    """Say why the run of an item was not approved if that was asked for, or nothing."""
    option: Any = item.config.option
    if item.stash[REF].key.trial > 1 or not is_update(item.config):
        return ""
    run, snapshot = item.stash.get(RUN, None), item.stash.get(SNAPSHOT, None)
    if run is None or snapshot is None:
        return "it was not run"
    if not option.update_snapshots and snapshot.exists:
        return ""
    if run.refusal:
        return run.refusal
    return "" if snapshot.compared else "its test ended before the comparison"


# What a session says of its snapshots: those that were not approved, and those left over.
#
# A snapshot is left over when its domain has no such task. That is known without running a test,
# so one that fails before it compares never makes its snapshot look unused. It is looked for only
# if every task of the domain was left in the session, whatever takes tasks away: `-k`, `--lf`,
# node ids, `--sop-sample`, shards.

FOUND = "sop_snapshots_found"
NOT_APPROVED = "sop_not_approved"


class SnapshotCollector:
    """The hooks of a process that runs items; what it finds travels on test reports."""

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop
        self._folder = SnapshotFolder(sop.options.snapshots_dir)
        self._found = ""

    def pytest_assertrepr_compare(self, op: str, left: object, right: object) -> list[str] | None:
        """Show the steps that differ."""
        for one in (left, right):
            if op == "==" and isinstance(one, SopSnapshot):
                return one.lines
        return None

    @pytest.hookimpl(trylast=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        kept: dict[str, set[str]] = {}
        for item in session.items:
            if _asks(item):
                key = item.stash[REF].key
                kept.setdefault(key.domain, set()).add(key.task)
        leftovers: dict[str, list[str]] = {}
        for domain, tasks in kept.items():
            every = self._sop.find_active(domain).domain.task_ids
            if tasks.issuperset(every):
                folder = self._folder.file(domain, "").parent
                left = self._folder.leftovers(domain, every)
                leftovers[domain] = [path.relative_to(folder).as_posix() for path in left]
        unasked = [one for one in self._folder.domains() if one not in kept]
        self._found = json.dumps(
            {"leftovers": leftovers, "unasked": unasked if self._is_whole() else []}
        )

    @pytest.hookimpl(wrapper=True)
    def pytest_runtest_makereport(
        self, item: pytest.Item, call: pytest.CallInfo[None]
    ) -> Generator[None, pytest.TestReport, pytest.TestReport]:
        report = yield
        if call.when != "teardown" or not _asks(item):
            return report
        if self._found:
            setattr(report, FOUND, self._found)
            self._found = ""
        why = not_approved(item)
        if why:
            key = item.stash[REF].key
            setattr(report, NOT_APPROVED, [f"{key.domain}/{key.task}", why])
        return report

    def _is_whole(self) -> bool:
        """Tell whether nothing was asked for but the tests of the project."""
        config = self._sop.config
        if config.args_source is pytest.Config.ArgsSource.ARGS or self._sop.options.typed_domains:
            return False
        given = ("keyword", "markexpr", "lf", "stepwise", "deselect", "ignore", "ignore_glob")
        return not any(config.getoption(name, None) for name in given)


class SnapshotSummary:
    """The hooks of the process that prints the summary."""

    def __init__(self, sop: SopSession) -> None:
        self._option: Any = sop.config.option
        self._shown = sop.shown
        self._folder = SnapshotFolder(sop.options.snapshots_dir)
        self._not_approved: dict[str, str] = {}
        self._leftovers: dict[str, list[str]] = {}
        self._unasked: list[str] = []
        self._settled = False
        self._deleted = False

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_logreport(self, report: pytest.TestReport) -> None:
        found: str | None = report.__dict__.pop(FOUND, None)
        why: list[str] | None = report.__dict__.pop(NOT_APPROVED, None)
        if found is not None:
            data: dict[str, Any] = json.loads(found)
            self._leftovers, self._unasked = data["leftovers"], data["unasked"]
        if why is not None:
            self._not_approved.setdefault(*why)

    @pytest.hookimpl(wrapper=True)
    def pytest_runtestloop(self, session: pytest.Session) -> Generator[None, object, object]:
        """Settle what is left over; a session that is cut short settles nothing."""
        result = yield
        self._settled = not getattr(self._option, "disable_unused_snapshots", False)
        if self._settled and any(self._leftovers.values()):
            if self._option.update_snapshots:
                self._clean()
            elif not self._option.warn_unused_snapshots:
                session.testsfailed += 1
        return result

    @pytest.hookimpl(trylast=True)
    def pytest_terminal_summary(self, terminalreporter: pytest.TerminalReporter) -> None:
        lines = [*not_approved_lines(self._not_approved)]
        if self._settled:
            names = [
                f"{domain}/{shown_task(Path(name))}{' (state)' if '/' in name else ''}"
                for domain, left in self._leftovers.items()
                for name in left
            ]
            lines += leftover_lines(names, deleted=self._deleted)
            lines += unasked_lines(self._unasked, self._shown(self._folder.path))
        if lines:
            terminalreporter.write_sep("-", "SOP snapshots")
        for line in lines:
            terminalreporter.write_line(line)

    def _clean(self) -> None:
        if getattr(self._option, "no_cleanup", False):
            return
        for domain, names in self._leftovers.items():
            folder = self._folder.file(domain, "").parent
            for name in names:
                (folder / name).unlink(missing_ok=True)
        self._deleted = True


def _asks(item: pytest.Item) -> bool:
    return FIXTURE in getattr(item, "fixturenames", ()) and REF in item.stash
