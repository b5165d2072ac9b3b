"""The rows of a domain as pytest items: the built-in test.

The collector is a `pytest.Module`, because other plugins' module-scoped fixtures need one; it is
backed by the data file, because editors and `--lf` need a real path.

The last part says what it means that no test asks for a run.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_sopbench._core.hiding import harmless
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._hooks.code import (
    agent_of,
    agent_parameters,
    callspecs,
    check_agent_given,
    overriding_fixture,
)
from pytest_sopbench._hooks.items.transport import ContractBroken, TaskFailed
from pytest_sopbench._hooks.items.variants import variant_items
from pytest_sopbench._hooks.runs.reportable import judged, leave_plan
from pytest_sopbench._hooks.runs.run_cache import LEFT, WAITED, Runs, asks_for_run
from pytest_sopbench._hooks.runs.shown import Run
from pytest_sopbench._hooks.session.consistency import SHOWN
from pytest_sopbench._hooks.session.domains import ActiveDomain, TaskRef
from pytest_sopbench._hooks.session.session import (
    BUILTIN,
    REF,
    SESSION,
    SopSession,
    expected_runs,
    is_narrowed,
)
from pytest_sopbench._hooks.settings.asked import typed_domain_folders
from pytest_sopbench._hooks.settings.ini import NOTHING_ASKED
from pytest_sopbench._hooks.settings.marks import item_name, marked_agent
from pytest_sopbench._loading.load import DATA_FILES
from pytest_sopbench._reports.text import one_line
from pytest_sopbench._settings.readers import GivenAgent

# Imports what the tests that are left after collection will need, and nothing for others.
#
# A session that runs no SOP test, such as `-m "not sop"`, needs neither an agent nor its key.

_ASK_FOR_AGENT: Final = frozenset({"sop_agent", "sop_run"})
_ASK_FOR_TOOLS: Final = frozenset({"sop_tools", "sop_run"})


def prepare_items(sop: SopSession, runs: Runs, session: pytest.Session) -> None:
    """Stop now at what would else fail in every test, one by one, or be paid for in vain.

    A worker of xdist tells the controller of what is wrong, in a report as a collector has it.

    Raises:
        pytest.UsageError: a test has no agent, or its agent or its domain's tools cannot be used.
    """
    seen: set[tuple[object, ...]] = set()
    try:
        for item in session.items:
            names = getattr(item, "fixturenames", ())
            if _ASK_FOR_AGENT.isdisjoint(names) and _ASK_FOR_TOOLS.isdisjoint(names):
                continue
            ref = item.stash.get(REF, None)
            # The items of one test function on one domain need the same.
            alike = (item.parent, getattr(item, "originalname", None), ref.domain if ref else None)
            if alike not in seen:
                seen.add(alike)
                _prepare(sop, runs, item, ref)
    except pytest.UsageError as error:
        told: dict[str, str] | None = getattr(session.config, "workerinput", None)
        if told is None:
            raise
        shown = told.get(SHOWN, "")
        errors: Any = session.config.pluginmanager.get_plugin("sop-usage-errors")
        errors.tell_controller(session.config, f"{shown}: {error}" if shown else str(error))


def asks_for_agent(item: pytest.Item) -> bool:
    """Tell whether a test needs an agent that its own mark does not name."""
    names = getattr(item, "fixturenames", ())
    return not _ASK_FOR_AGENT.isdisjoint(names) and marked_agent(item) is None


def _prepare(sop: SopSession, runs: Runs, item: pytest.Item, ref: TaskRef | None) -> None:
    names = getattr(item, "fixturenames", ())
    if asks_for_agent(item):
        check_agent_given(sop, item.parent if BUILTIN in item.stash and item.parent else item)
    if ref is None:
        return
    marked = marked_agent(item)
    agents = sop.options.agents if marked is None else (GivenAgent(name=marked, spec=marked),)
    runs.prepare(
        () if _ASK_FOR_TOOLS.isdisjoint(names) else (ref.domain,),
        agents if "sop_run" in names else (),
    )


def check_task(sop_run: Run) -> None:
    """Be the body of every built-in test: the run's answer is correct."""
    __tracebackhide__ = True
    if sop_run.breaches:
        raise ContractBroken(sop_run.explain())
    if sop_run.verdict.outcome is not Outcome.CORRECT:
        raise TaskFailed(sop_run.explain())


class SopDomain(pytest.Module):
    """The data file of a domain, whose items are its selected tasks, once for each trial."""

    def __init__(self, *, sop: SopSession, active: ActiveDomain, **kwargs: Any) -> None:
        super().__init__(**kwargs)
        self.sop = sop
        self.active = active
        self.collected = False
        self.add_marker(pytest.mark.sop(domain=active.domain.name))

    # There is no Python module behind it; pytest's own text files with doctests do the same.
    obj = None  # pyright: ignore[reportIncompatibleMethodOverride, reportAssignmentType]

    def collect(self) -> Iterator[pytest.Item]:
        self.collected = True
        make: Callable[..., SopItem] = SopItem.from_parent  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - pytest leaves keywords untyped
        fixtureinfo: object = None
        for ref, call in self._refs(make):
            label = self.sop.label_of(ref.key.agent)
            item = make(
                self,
                name=item_name(ref.key, label),
                # pytest takes what stands in brackets for a parameter, whose name it adds itself.
                originalname=item_name(ref.key),
                callobj=check_task,
                fixtureinfo=fixtureinfo,
                callspec=call,
            )
            # All items have the same body, so what it asks for is found out once.
            fixtureinfo = getattr(item, "_fixtureinfo", None)
            item.stash[REF] = ref
            item.stash[BUILTIN] = True
            if label is not None:
                # As it was written, for `-k`: in the name some characters are encoded.
                item.extra_keyword_matches.add(label)
            if ref.selected:
                self.sop.plan.builtin.selected[ref.key] = None
            yield item
        yield from variant_items(self.sop, self, lambda: self._refs(make))

    def _refs(self, make: Callable[..., SopItem]) -> Iterator[tuple[TaskRef, object]]:
        """Yield the runs of all items, each with the parameter that its agent is, if any."""
        sop, trials = self.sop, self.sop.options.trials
        found = agent_parameters(sop, self)
        if found is None:
            yield from ((ref, None) for ref in self.active.refs(sop.agents[:1], trials))
            return
        calls = callspecs(make(self, name="check_task", callobj=check_task), found)
        if found.own:
            refs = self.active.refs(sop.agents[:1], trials)
            yield from ((ref.by(name), call) for name, call in calls.items() for ref in refs)
        else:
            yield from ((ref, calls[ref.key.agent]) for ref in self.active.refs(sop.agents, trials))


class SopItem(pytest.Function):
    """The built-in test of one trial of a task."""

    def reportinfo(self) -> tuple[PathLike[str] | str, int | None, str]:
        ref = self.stash[REF]
        key = ref.key
        name = key.task if key.trial == 1 else f"{key.task}/t{key.trial}"
        label = self.config.stash[SESSION].label_of(key.agent)
        by = "" if label is None else f"[{label}]"
        # The heading of a failure, which pytest writes as it is.
        return self.path, ref.line - 1, harmless(one_line(f"{key.domain}[{name}]{by}"))

    def repr_failure(
        self,
        excinfo: pytest.ExceptionInfo[BaseException],
        style: Any = None,  # noqa: ARG002 - the signature is pytest's
    ) -> Any:
        if isinstance(excinfo.value, ContractBroken | TaskFailed):
            told = str(excinfo.value)
            is_short = self.config.option.tbstyle == "line"
            return self._in_a_line(excinfo, told) if is_short else told
        return super().repr_failure(excinfo)

    def _in_a_line(self, excinfo: pytest.ExceptionInfo[BaseException], told: str) -> Any:
        """Return what `--tb=line` prints: where the task stands, and the first line."""
        found: Any = excinfo.getrepr(style="line")
        found.reprtraceback.reprentries = []
        crash = found.reprcrash
        crash.path, crash.lineno = str(self.path), self.stash[REF].line
        crash.message = told.partition("\n")[0]
        return found


class Collection:
    """Collects the domains' data files, and keeps the plan."""

    def __init__(self, sop: SopSession, runs: Runs) -> None:
        self._sop = sop
        self._runs = runs
        self._has_packages = False

    @cached_property
    def _above(self) -> frozenset[Path]:
        """The folders above the domains' data files."""
        domains = self._sop.domains if self._sop.has_domains else ()
        return frozenset(above for one in domains for above in one.domain.data_file.parents)

    @pytest.hookimpl(wrapper=True)
    def pytest_collect_directory(
        self, path: Path, parent: pytest.Collector
    ) -> Generator[None, pytest.Collector | None, pytest.Collector | None]:
        node = yield
        if type(node) is pytest.Package and path in self._above:
            self._has_packages = True
            make: Callable[..., PackageAboveData] = PackageAboveData.from_parent  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - pytest leaves keywords untyped
            return make(parent, path=path)
        return node

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if not self._has_packages:
            return

        for node in item.listchain():
            if isinstance(node, PackageAboveData):
                node.enter(needed=not isinstance(item, SopItem))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> SopDomain | None:
        # A folder that is searched for tests may hold domains; only a data file that was named,
        # by the user or by the zero-file run, is collected, or one whose folder stands for it.
        named = parent.session.isinitpath(file_path) or file_path.parent in self._typed_folders
        if file_path.name not in DATA_FILES or not named:
            return None
        for active in self._sop.domains if self._sop.has_domains else ():
            if active.domain.data_file == file_path:
                make: Callable[..., SopDomain] = SopDomain.from_parent  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - pytest leaves keywords untyped
                # Else the id would be empty outside rootdir, and two domains would share it.
                is_outside = active.nodeid.startswith("sop:")
                place = {"nodeid": active.nodeid} if is_outside else {}
                return make(parent, path=file_path, sop=self._sop, active=active, **place)
        return None

    @cached_property
    def _typed_folders(self) -> frozenset[Path]:
        return frozenset(typed_domain_folders(self._sop.config))

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_make_collect_report(
        self, collector: pytest.Collector
    ) -> Generator[None, pytest.CollectReport, pytest.CollectReport]:
        report = yield
        if isinstance(collector, SopDomain) and report.passed and not collector.collected:
            # `--lf` skips files without failures by path, and `sop:NAME` is not a path.
            items: list[pytest.Item | pytest.Collector] = [*collector.collect()]
            report.result = items
        return report

    def pytest_itemcollected(self, item: pytest.Item) -> None:
        callspec = getattr(item, "callspec", None)
        if callspec is not None and isinstance(ref := callspec.params.get("sop_task"), TaskRef):
            item.stash[REF] = ref.by(agent_of(self._sop, item, callspec, ref.key.agent))
        if REF in item.stash:
            self._sop.plan.has_tasks = True

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_modifyitems(
        self, config: pytest.Config, items: list[pytest.Item]
    ) -> None:
        """Deselect what the `--sop-*` options do not select.

        Not collecting it would make snapshots of those tasks look unused.
        """
        kept: list[pytest.Item] = []
        others: list[pytest.Item] = []
        for item in items:
            ref = item.stash.get(REF, None)
            if ref is not None and asks_for_run(item):
                self._sop.plan.agents[ref.key.agent] = None
            (kept if ref is None or ref.selected else others).append(item)
        if others:
            config.hook.pytest_deselected(items=others)
            items[:] = kept

    @pytest.hookimpl
    def pytest_deselected(self, items: Sequence[pytest.Item]) -> None:
        """Note which selected runs another plugin takes away, and says so."""
        # Of pytest's own options all know; they may take away a hundred thousand.
        for item in items if not is_narrowed(self._sop.config) else ():
            ref = item.stash.get(REF, None)
            if ref is not None and ref.selected and asks_for_run(item):
                self._sop.plan.deselected[ref.key] = None

    @pytest.hookimpl(optionalhook=True, trylast=True)
    def pytest_xdist_node_collection_finished(self) -> None:
        # The head of the saved session has what the agent tells of its prompts.
        if self._sop.plan.builtin.keys and self._sop.makes_runs:
            self._runs.prepare((), self._sop.options.agents)

    @pytest.hookimpl(tryfirst=True)
    def pytest_collection_finish(self, session: pytest.Session) -> None:
        # First, since the terminal asks in this hook what is planned.
        if self._sop.makes_runs:
            # Before anything is planned: a fault of the set-up is no session that lacks runs.
            prepare_items(self._sop, self._runs, session)
        plan = self._sop.plan
        # Asked once for each domain, since it is the same for nearly all items.
        asked: set[ActiveDomain] = set()
        for item in session.items:
            ref = item.stash.get(REF, None)
            if ref is None or not asks_for_run(item):
                continue
            if not plan.fixture and marked_agent(item) is None and ref.domain not in asked:
                asked.add(ref.domain)
                plan.fixture = overriding_fixture(item)
            part = plan.builtin if item.stash.get(BUILTIN, False) else plan.tests
            part.keys[item.nodeid] = ref.key
            self._runs.expect(ref.key)
        leave_plan(self._sop)


# The Python packages in which a domain happens to lie.
#
# pytest imports the `__init__.py` of every folder above an item before the item runs. A data file
# needs none of them, and that of a public checkout may well fail.


class PackageAboveData(pytest.Package):
    """A package above a data file; it is imported only for tests in Python that lie in it."""

    _needed = True
    _put_off = False

    def enter(self, *, needed: bool) -> None:
        """Be told, before each item below is set up, whether that item needs the package."""
        self._needed = needed
        if needed and self._put_off:
            super().setup()
            self._put_off = False

    def setup(self) -> None:
        if self._needed:
            super().setup()
        else:
            self._put_off = True

    def teardown(self) -> None:
        self._put_off = False
        super().teardown()


# Passes over tests whose runs must not begin: what is left of them, and what is told of them.


def attach_not_run(item: pytest.Item) -> None:
    """Have the next report of an item tell that its run, which nobody had planned, never began."""
    ref: TaskRef = item.stash[REF]
    item.stash[LEFT] = judged(item.config.stash[SESSION], ref, ref.task, None)
    item.stash[WAITED] = 0.0


def tear_down(item: pytest.Item, nextitem: pytest.Item | None) -> None:
    """Tear down what the item before this one has left for it, and the next one does not need."""
    # pytest has no public way to pass over an item; what fixtures raise here is reported as usual.
    state: Any = item.session._setupstate  # noqa: SLF001  # pyright: ignore[reportPrivateUsage] - see above

    def exact() -> None:
        state.teardown_exact(nextitem)

    call = _called(exact, "teardown")
    if call.excinfo is not None:
        # Other plugins lay down at the set-up of an item what they want at its end.
        for one in (_called(_nothing, "setup"), call):
            report = item.ihook.pytest_runtest_makereport(item=item, call=one)
            item.ihook.pytest_runtest_logreport(report=report)


def _called(what: Callable[[], None], when: Any) -> Any:
    return pytest.CallInfo.from_call(  # pyright: ignore[reportUnknownVariableType] - pytest leaves it generic
        what, when=when, reraise=(KeyboardInterrupt, pytest.exit.Exception)
    )


def _nothing() -> None:
    """Be the set-up of an item that is not set up."""


# A session in which no test asks for a run: what that means for its gates and its status.

_WHAT_TO_DO: Final = (
    "is a folder or a test renamed? SOP tests ask for the fixture sop_run;\n"
    "--sop-domain=NAME without a path runs the tasks of a domain"
)


def check_asked(sop: SopSession) -> None:
    """Refuse a typed gate, or a shard, in a session that has no SOP test at all.

    Raises:
        pytest.UsageError: it has none, and must not stay green.
    """
    options, plan = sop.options, sop.plan
    if plan.has_tasks or plan.planned or plan.made or any(expected_runs(sop)):
        return
    if sop.config.getoption("lf", False):
        # It passes over whole files, so that nothing of them is collected.
        return
    what = "the gate" if options.gates and options.types_gate else ""
    if options.shard is not None and not plan.specs:
        what = "--sop-shard"
    if what:
        msg = f"{what}: {NOTHING_ASKED}\n{_WHAT_TO_DO}"
        raise pytest.UsageError(msg)


def is_empty_shard(sop: SopSession) -> bool:
    """Tell whether this is a shard that the hash of the tasks leaves empty, and nothing else."""
    if sop.options.shard is None or not sop.plan.specs:
        return False
    return not any(sop.find_active(name).positions for name in sop.plan.specs)
