"""Wakes the plugin: reads the options, registers the hooks, and stops early on faults.

Faults of the set-up are usage errors, raised here before any item is collected, and in the
controller first, since only there a usage error ends the session with status 4.

A test of the user that asks for a SOP fixture wakes the plugin as well. It is given its tasks here.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import TYPE_CHECKING

import pytest

from pytest_sopbench._hooks.code import (
    AGENT,
    agents_of,
    check_agent_given,
    parametrize_agent,
)
from pytest_sopbench._hooks.deciding.ending import Ending, LeftThreads
from pytest_sopbench._hooks.deciding.gate import Gate, check_gates
from pytest_sopbench._hooks.items.collection import Collection, asks_for_agent
from pytest_sopbench._hooks.items.transport import ReportHooks
from pytest_sopbench._hooks.items.variants import VariantItems, VariantSummary
from pytest_sopbench._hooks.outgoing import BREAKAGE, Breakage, Outgoing
from pytest_sopbench._hooks.printing.progress import GroupedFailures, ProgressHooks
from pytest_sopbench._hooks.printing.report_files import JunitFile, check_reports
from pytest_sopbench._hooks.printing.summary import SummaryHooks
from pytest_sopbench._hooks.results.budget import (
    BudgetStop,
    BudgetTracker,
    WorkerBudget,
    check_budget,
)
from pytest_sopbench._hooks.results.recorder import SessionRecorder
from pytest_sopbench._hooks.results.resume import Resumption
from pytest_sopbench._hooks.results.saving import (
    CostSummary,
    kept_path,
)
from pytest_sopbench._hooks.runs.run_cache import RUNS, Runs
from pytest_sopbench._hooks.session.consistency import check_distribution, has_workers
from pytest_sopbench._hooks.session.domains import ActiveDomain
from pytest_sopbench._hooks.session.session import (
    SESSION,
    SopSession,
    check_writable,
    is_narrowed,
)
from pytest_sopbench._hooks.session.variants import variants_in
from pytest_sopbench._hooks.settings.asked import check_rootdir
from pytest_sopbench._hooks.settings.marks import (
    check_mark,
    marked,
    marked_agent,
    marked_domains,
    parameter_id,
    read_task_id,
)
from pytest_sopbench._hooks.settings.options import read_options
from pytest_sopbench._hooks.snapshots import PLUGIN as SYRUPY
from pytest_sopbench._hooks.snapshots.fixture import (
    FIXTURE,
    SnapshotCollector,
    SnapshotSummary,
    check_syrupy,
    check_update,
)
from pytest_sopbench._hooks.workers import ControllerHooks, check_shares, raise_restart_limit
from pytest_sopbench._sessions.event_logs import traces_folder
from pytest_sopbench.errors import ExtensionError, SessionFileError

if TYPE_CHECKING:
    from pytest_sopbench._hooks.replaying import ReplayTotals

RECORDER = "sop-recorder"
ENDING = "sop-ending"
RESUMPTION = "sop-resumption"
REPLAY = "sop-replay"


def activate(config: pytest.Config) -> SopSession:
    """Make this a SOP session, once.

    Raises:
        pytest.UsageError: an option, a domain or the agent cannot be used.
    """
    known = config.stash.get(SESSION, None)
    if known is not None:
        return known
    # Before any option is read: without its configuration, even a complaint may show a secret.
    check_rootdir(config)
    try:
        options = read_options(config)
    except ExtensionError as fault:
        raise pytest.UsageError(str(fault)) from None
    sop = config.stash[SESSION] = SopSession(config, options)
    runs = config.stash[RUNS] = Runs(sop)
    register = config.pluginmanager.register
    register(Collection(sop, runs), "sop-collection")
    register(ReportHooks(sop, runs), "sop-transport")
    if sop.options.variants:
        register(VariantItems(), "sop-variant-items")
    breakage = Breakage(config, sop.broken, sop.options.redaction.text)
    config.stash[BREAKAGE] = breakage
    register(breakage, "sop-breakage")
    is_worker = hasattr(config, "workerinput")
    # xdist makes its controller after us; the options tell it apart before.
    is_controller = has_workers(config) and not is_worker
    if not is_controller:
        register(runs, "sop-runs")
    if is_worker and sop.options.budget:
        register(BudgetStop(runs, WorkerBudget(sop).is_spent), "sop-budget-stop")
    if not is_worker:
        # The end of a worker is seen by its controller.
        ending = Ending(sop)
        ending.begin()
        gate = _register_results(sop, runs, ending, is_controller=is_controller)
        gate.prepare()
        if sop.options.reports:
            check_reports(sop)
    if config.pluginmanager.hasplugin(SYRUPY):
        register(SnapshotCollector(sop), "sop-snapshot-collector")
    # What sees that which every other wrapper of ours has made of a report.
    outgoing = Outgoing(config, sop.options.redaction)
    register(outgoing, "sop-outgoing")
    register(LeftThreads(sop.options.redaction.text), "sop-left-threads")
    # If only a test asks for SOP fixtures, the session has begun.
    outgoing.guard_terminal()
    _check_set_up(sop, runs)
    _end_set_up(config)
    return sop


def _end_set_up(config: pytest.Config) -> None:
    resumption: Resumption | None = config.pluginmanager.get_plugin(RESUMPTION)
    if resumption is not None:
        # After the domains were loaded, which are compared with those of the other session.
        resumption.prepare()
    ending: Ending | None = config.pluginmanager.get_plugin(ENDING)
    if ending is not None:
        ending.end_set_up(resumption.session if resumption is not None else None)


def _register_results(sop: SopSession, runs: Runs, ending: Ending, *, is_controller: bool) -> Gate:
    """Register what the process needs that counts, gates and prints."""
    config, register = sop.config, sop.config.pluginmanager.register
    recorder = SessionRecorder(sop, runs)
    gate = Gate(sop, recorder)
    register(recorder, RECORDER)
    register(recorder.resumption, RESUMPTION)
    register(gate, "sop-gate")
    # Before the summary, so that its lines stand above it.
    register(GroupedFailures(sop), "sop-grouped-failures")
    summary = SummaryHooks(sop, recorder, gate)
    register(summary, "sop-summary")
    totals: ReplayTotals | None = None
    if sop.options.replay.is_on:
        from pytest_sopbench._hooks.replaying import ReplayTotals

        totals = ReplayTotals(sop)
        register(totals, REPLAY)
    ending.watch(
        gate,
        unsaved=lambda: recorder.unsaved,
        owed=lambda: (
            summary.unwritten or gate.baseline.is_unwritten or (totals is not None and totals.lacks)
        ),
    )
    register(ProgressHooks(sop, runs), "sop-progress")
    if config.pluginmanager.hasplugin(SYRUPY):
        register(SnapshotSummary(sop), "sop-snapshot-summary")
    register(JunitFile(config, gate, misses=sop.options.junit_misses), "sop-junit")
    register(CostSummary(sop), "sop-cost-summary")
    if sop.options.variants:
        register(VariantSummary(sop), "sop-variant-summary")
    if sop.options.budget:
        tracker = BudgetTracker(sop, recorder, has_workers=is_controller)
        register(tracker, "sop-budget")
        if not is_controller:
            tracker.follow(runs)
            register(BudgetStop(runs, lambda: tracker.is_spent), "sop-budget-stop")
    if is_controller:
        register(ControllerHooks(sop, recorder), "sop-workers")
        register(recorder.crashes, "sop-crashes")
    # Behind the gate, so that what this says of the status is the last word.
    register(ending, ENDING)
    return gate


def _check_set_up(sop: SopSession, runs: Runs) -> None:
    """Load what the command line asks for; what only the configuration names waits for a test."""
    config = sop.config
    check_distribution(config)
    _check_kept(sop)
    check_shares(sop)
    if sop.options.budget:
        check_budget(sop)
    variants_in(sop).check()
    # Read here, so that a price that is none is said before anything is paid for.
    _ = sop.prices
    if not (sop.options.typed_domains or sop.options.named):
        raise_restart_limit(config)
        return
    is_whole = config.args_source is not pytest.Config.ArgsSource.ARGS and not is_narrowed(config)
    if has_workers(config) and sop.makes_runs and is_whole:
        # A run is surely made. Before workers are started, each of which would say the same again.
        runs.prepare(sop.domains, sop.options.agents)
    if sop.options.gates:
        check_gates(sop)
    _check_tags(sop)
    totals: ReplayTotals | None = config.pluginmanager.get_plugin(REPLAY)
    if totals is not None:
        totals.check()
    runs_planned = sum(len(active.positions) for active in sop.domains) * sop.options.trials
    raise_restart_limit(config, runs_planned)
    _point_at_data(sop)


def _check_tags(sop: SopSession) -> None:
    """Refuse a tag that no task has: it would select nothing, and say nothing of why."""
    if not sop.options.tags:
        return
    tasks = (task for active in sop.domains for task in active.domain.tasks)
    known = {tag for task in tasks for tag in task.tags}
    unknown = sorted(sop.options.tags - known)
    if unknown:
        have = f"tags: {', '.join(sorted(known))}" if known else "no task has a tag"
        msg = f"--sop-tags: no task is tagged {unknown[0]!r}\n{have}"
        raise pytest.UsageError(msg)


def _check_kept(sop: SopSession) -> None:
    try:
        path = kept_path(sop)
    except SessionFileError as error:
        raise pytest.UsageError(str(error)) from None
    if path is None or hasattr(sop.config, "workerinput"):
        return
    for one in (path, traces_folder(path)):
        if one.exists():
            msg = (
                f"--sop-save: {sop.shown(one)} exists, and is not replaced\n"
                "choose another name; to renew a baseline, move that away or remove it first"
            )
            raise pytest.UsageError(msg)
    check_writable(sop, "--sop-save", path)


def _point_at_data(sop: SopSession) -> None:
    """Give pytest the data files as its arguments, if the user gave ids or no path."""
    config = sop.config
    actives = {active.domain.name: active for active in sop.domains}
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        config.args[:] = [_as_argument(active) for active in actives.values()]
        return
    for place, arg in enumerate(config.args):
        found = read_task_id(arg)
        if found is not None and found.domain in actives:
            task = f"::{found.name}" if found.task else ""
            config.args[place] = f"{_as_argument(actives[found.domain])}{task}"


def _as_argument(active: ActiveDomain) -> str:
    path = str(active.domain.data_file)
    if "[" in path:
        # pytest would look for a file whose name ends there.
        msg = f"{path}: pytest takes '[' in a path for a parameter; rename the folder"
        raise pytest.UsageError(msg)
    return path


# A user's test that asks for a SOP fixture becomes one item for each selected task and trial.

ASKS_FOR_TASK = "sop_task"


def parametrize(metafunc: pytest.Metafunc) -> None:
    """Give the test its tasks.

    Raises:
        pytest.UsageError: it has no domain; pytest's own empty parametrization would skip the test
            and exit with 0.
    """
    sop = activate(metafunc.config)
    definition = metafunc.definition
    for mark in definition.iter_markers("sop"):
        check_mark(mark, definition.nodeid)
    if FIXTURE in metafunc.fixturenames:
        check_syrupy(metafunc.config, definition.nodeid)
    if {ASKS_FOR_TASK, "sop_domain"}.isdisjoint(metafunc.fixturenames):
        if AGENT in metafunc.fixturenames:
            parametrize_agent(sop, metafunc)
        return
    domains = _domains(sop, definition)
    if not {"sop_run", AGENT}.isdisjoint(metafunc.fixturenames):
        parametrize_agent(sop, metafunc)
    if ASKS_FOR_TASK in metafunc.fixturenames:
        _by_task(metafunc, sop, domains)
    else:
        metafunc.parametrize(
            "sop_domain",
            [_param(active, active.domain.name, active) for active in domains],
            indirect=True,
        )


def _domains(sop: SopSession, definition: pytest.Item) -> Sequence[ActiveDomain]:
    named = marked_domains(definition)
    if not (named or sop.has_domains) and asks_for_agent(definition):
        # If both lack, the agent is reported; without a domain there is no item to tell it of.
        check_agent_given(sop, definition)
    try:
        return sop.find(named) if named else sop.domains
    except pytest.UsageError as error:
        msg = f"{definition.nodeid}: {error}"
        raise pytest.UsageError(msg) from None


def _by_task(metafunc: pytest.Metafunc, sop: SopSession, domains: Sequence[ActiveDomain]) -> None:
    agent = marked_agent(metafunc.definition) or sop.agents[0]
    trials = marked(metafunc.definition, "trials") or sop.options.trials
    refs = [ref for active in domains for ref in active.refs((agent,), trials)]
    if "sop_run" in metafunc.fixturenames:
        agents = agents_of(sop, metafunc, agent)
        if FIXTURE in metafunc.fixturenames and len(agents) > 1:
            check_update(metafunc.config, metafunc.definition.nodeid, agents)
        for one in agents:
            keys = (ref.key._replace(agent=one) for ref in refs if ref.selected)
            sop.plan.tests.selected.update(dict.fromkeys(keys))
    if not refs:
        msg = f"{metafunc.definition.nodeid}: the --sop-* options select no task"
        raise pytest.UsageError(msg)
    metafunc.parametrize(
        ASKS_FOR_TASK,
        [_param(ref, parameter_id(ref.key), ref.domain) for ref in refs],
        indirect=True,
    )


def _param(value: object, name: str, active: ActiveDomain) -> object:
    return pytest.param(value, id=name, marks=pytest.mark.sop(domain=active.domain.name))
