"""The rows of a domain as pytest items: the built-in test.

The collector is a `pytest.Module`, because other plugins' module-scoped fixtures need one; it is
backed by the data file, because editors and `--lf` need a real path.
"""

from __future__ import annotations

from collections.abc import Callable, Generator, Iterator, Sequence
from functools import cached_property
from os import PathLike
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._core.hiding.harmless import harmless
from pytest_sopbench._hooks.code.agent_params import (
    agent_of,
    agent_parameters,
    callspecs,
)
from pytest_sopbench._hooks.code.agents import overriding_fixture
from pytest_sopbench._hooks.runs.journals import leave_plan
from pytest_sopbench._hooks.runs.run_cache import RunCache, asks_for_run
from pytest_sopbench._hooks.runs.shown.run import Run
from pytest_sopbench._hooks.session.domains.active_domain import ActiveDomain, TaskRef
from pytest_sopbench._hooks.session.partial import is_narrowed
from pytest_sopbench._hooks.session.session import BUILTIN, REF, SESSION, SopSession
from pytest_sopbench._hooks.settings.asked.folders import typed_domain_folders
from pytest_sopbench._hooks.settings.marks import marked_agent
from pytest_sopbench._hooks.settings.node_ids import item_name
from pytest_sopbench._loading.load import DATA_FILES
from pytest_sopbench._reports.text.layout import one_line

from .failures import ContractBroken, TaskFailed
from .preparation import prepare_session


def check_task(sop_run: Run) -> None:
    """Be the body of every built-in test: the run's answer is correct."""
    __tracebackhide__ = True
    if sop_run.breaches:
        raise ContractBroken(sop_run.explain())
    if not sop_run.verdict.correct:
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
        from .variants import variant_items  # noqa: PLC0415 - only where there are variants

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

    @property
    def ref(self) -> TaskRef:
        return self.stash[REF]

    def reportinfo(self) -> tuple[PathLike[str] | str, int | None, str]:
        ref = self.ref
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
        crash.path, crash.lineno = str(self.path), self.ref.line
        crash.message = told.partition("\n")[0]
        return found


class Collection:
    """Collects the domains' data files, and keeps the plan."""

    def __init__(self, sop: SopSession, runs: RunCache) -> None:
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
            from .packages import package_above_data  # noqa: PLC0415 - only where a domain is in a package

            self._has_packages = True
            return package_above_data(path, parent)
        return node

    @pytest.hookimpl(tryfirst=True)
    def pytest_runtest_setup(self, item: pytest.Item) -> None:
        if not self._has_packages:
            return
        from .packages import PackageAboveData  # noqa: PLC0415 - only where a domain is in a package

        for node in item.listchain():
            if isinstance(node, PackageAboveData):
                node.enter(needed=not isinstance(item, SopItem))

    @pytest.hookimpl(tryfirst=True)
    def pytest_collect_file(self, file_path: Path, parent: pytest.Collector) -> SopDomain | None:
        # A folder that is searched for tests may hold domains; only a data file that was named,
        # by the user or by the zero-file run, is collected, or one whose folder stands for it.
        if file_path.name not in DATA_FILES or not self._is_named(file_path, parent.session):
            return None
        for active in self._sop.domains if self._sop.has_domains else ():
            if active.domain.data_file == file_path:
                return self._collector(active, parent)
        return None

    def _is_named(self, data_file: Path, session: pytest.Session) -> bool:
        return session.isinitpath(data_file) or data_file.parent in self._typed_folders

    @cached_property
    def _typed_folders(self) -> frozenset[Path]:
        return frozenset(typed_domain_folders(self._sop.config))

    def _collector(self, active: ActiveDomain, parent: pytest.Collector) -> SopDomain:
        place: dict[str, Any] = {}
        if active.nodeid.startswith("sop:"):
            # Else the id would be empty outside rootdir, and two domains would share it.
            place["nodeid"] = active.nodeid
        make: Callable[..., SopDomain] = SopDomain.from_parent  # pyright: ignore[reportUnknownMemberType, reportUnknownVariableType] - pytest leaves keywords untyped
        return make(parent, path=active.domain.data_file, sop=self._sop, active=active, **place)

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
            prepare_session(self._sop, self._runs, session)
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
