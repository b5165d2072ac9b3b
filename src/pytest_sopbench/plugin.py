"""What pytest loads at every start: options, hooks' names and fixtures, and nothing heavy.

All else is imported when a SOP option, ini value, fixture or node id is in play, so that a
project that does not use the plugin does not feel it.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Generator, Sequence
from pathlib import Path
from typing import TYPE_CHECKING, Any

import pytest

from pytest_sopbench import hookspecs
from pytest_sopbench._settings.table import AGENT_OPTION, SESSIONS, SPECS, TABLE, WAKING
from pytest_sopbench.endings import CONFIGURED, EndGuard, UsageErrors, is_set

if TYPE_CHECKING:
    from pytest_sopbench._core.domain import Domain
    from pytest_sopbench._core.model.task import Task
    from pytest_sopbench._hooks.runs.shown import Run
    from pytest_sopbench._hooks.snapshots.fixture import SopSnapshot
    from pytest_sopbench._running.tools.toolbox import Tools
    from pytest_sopbench._running.wire.server import McpTools

SOP_FIXTURES = frozenset(
    {
        *("sop_domain", "sop_task", "sop_agent", "sop_approver", "sop_run", "sop_snapshot"),
        *("sop_tools", "sop_mcp"),
    }
)
MARKER = (
    "sop(domain=None, agent=None, answer=None, trials=None): run this test for each task of the "
    'domain, `trials` times, with this agent; answer="ignored" lets it pass whatever the answer is.'
)


_LISTINGS = frozenset({"--co", "--collect-only", "--fixtures", "--help", "-h", "--markers"})
"""Words of a command line that runs no test; others are found out once pytest has read it."""

_OF_EXTRAS = ("-n", "--numprocesses", "--dist", "--snapshot-update")
"""Options of packages that may not be installed."""


def pytest_addoption(parser: pytest.Parser, pluginmanager: pytest.PytestPluginManager) -> None:
    """Add the options and ini values, and withdraw `last` before anything of a session can fail."""
    group = parser.getgroup("sop", "agents that execute standard operating procedures")
    for spec in TABLE:
        if spec.is_option:
            action = "append" if spec.repeatable else "store"
            group.addoption(spec.option, action=action, metavar=spec.metavar, help=spec.help)
        if spec.is_ini:
            parser.addini(spec.name, spec.ini_help, type=spec.ini_type, default=[])
    config: pytest.Config | None = pluginmanager.get_plugin("pytestconfig")
    if config is not None and _has_last(config) and _seems_asked_for(config):
        from pytest_sopbench._hooks.session.last import withdraw_last

        withdraw_last(config)


def _has_last(config: pytest.Config) -> bool:
    """Tell whether the project has a session that a gate could be checked on."""
    try:
        words: Sequence[str] = config.getini("sop_dir") or SPECS["sop_dir"].default
        folder = config.rootpath / Path(words[0]).expanduser() / SESSIONS
        names = [entry.name for entry in os.scandir(folder)]
    except (OSError, RuntimeError, TypeError, ValueError, pytest.UsageError):
        # No folder, or a value that is refused where it is read.
        return False
    return any(name.startswith("last.") for name in names)


def _seems_asked_for(config: pytest.Config) -> bool:
    """Tell whether the process may become a SOP session, before pytest has read its options."""
    # The controller of xdist has withdrawn `last` for its workers.
    if "PYTEST_XDIST_WORKER" in os.environ:
        return False
    words = [*os.environ.get("PYTEST_ADDOPTS", "").split(), *config.getini("addopts")]
    words += map(str, config.invocation_params.args)
    if not _LISTINGS.isdisjoint(words):
        return False
    here = config.invocation_params.dir
    return any(is_set(config, name) for name in CONFIGURED) or any(
        word.startswith(("--sop-", AGENT_OPTION))
        or _may_name_task(word)
        or _may_hold_domain(here / word)
        for word in words
    )


@pytest.hookimpl(wrapper=True, tryfirst=True)
def pytest_load_initial_conftests(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, None, None]:
    """Take `--agent` after every other plugin and conftest had the chance to take it.

    Until then its value must not pass for a test path, so it is glued to the option.
    """
    if any(arg.split("=")[0] in {AGENT_OPTION, "-h", "--help"} for arg in args):
        yield from _with_agent(early_config, parser, args)
    else:
        yield
    if any(arg.startswith(_OF_EXTRAS) for arg in args) and _seems_asked_for(early_config):
        from pytest_sopbench._hooks.settings.lacking import refuse_lacking

        refuse_lacking(parser, args)


def _with_agent(
    early_config: pytest.Config, parser: pytest.Parser, args: list[str]
) -> Generator[None, None, None]:
    from pytest_sopbench._hooks.settings.ini import add_agent, glue_agent, is_free

    given = list(args)
    if is_free(parser):
        glue_agent(args)
        early_config.known_args_namespace.file_or_dir = parser.parse_known_args(args).file_or_dir
    yield
    if is_free(parser):
        add_agent(parser)
    else:
        args[:] = given


def pytest_addhooks(pluginmanager: pytest.PytestPluginManager) -> None:
    """Let other plugins and conftests follow the runs."""
    pluginmanager.add_hookspecs(hookspecs)
    # Before any option is read, since what is said of one that is wrong may hold a secret.
    pluginmanager.register(EndGuard(), "sop-end-guard")


@pytest.hookimpl(trylast=True)
def pytest_terminal_summary(
    terminalreporter: pytest.TerminalReporter, exitstatus: int, config: pytest.Config
) -> None:
    """Say that a gate of the configuration was not checked, if nothing has woken the rest.

    Whatever is awake, a session that collects nothing says how its domains are run.
    """
    is_empty = exitstatus == pytest.ExitCode.NO_TESTS_COLLECTED
    if is_empty and is_set(config, "sop_domain") and not terminalreporter.stats.get("deselected"):
        from pytest_sopbench._hooks.settings.asked import how_to_run

        terminalreporter.ensure_newline()
        terminalreporter.write_line(how_to_run(config), yellow=True)
    if exitstatus == pytest.ExitCode.USAGE_ERROR:
        # What was refused says why; no test could ask for anything.
        return
    gates = [name for name in ("sop_fail_under", "sop_gate") if is_set(config, name)]
    if not gates or config.pluginmanager.hasplugin("sop-gate") or config.option.collectonly:
        return
    from pytest_sopbench._hooks.settings.ini import (
        NOT_CHECKED,
        NOTHING_ASKED,
        SET_UP_FAILED,
        ini_values,
    )

    asked = [value for name in gates for value in ini_values(config, name)]
    if any(value != "none" for value in asked):
        terminalreporter.ensure_newline()
        errors = terminalreporter.stats.get("error", [])
        lacks_set_up = any(getattr(one, "when", "") == "setup" for one in errors)
        why = SET_UP_FAILED if lacks_set_up else NOTHING_ASKED
        terminalreporter.write_line(NOT_CHECKED.format(why), yellow=True)


@pytest.hookimpl(tryfirst=True)
def pytest_configure(config: pytest.Config) -> None:
    """Register the marker, and wake the rest when it is asked for."""
    config.addinivalue_line("markers", MARKER)
    config.pluginmanager.register(UsageErrors(config), "sop-usage-errors")
    if _is_asked_for(config):
        _activate(config)
    elif config.getoption("dist", "no") != "no":
        from pytest_sopbench._hooks.scheduling import LateActivation

        config.pluginmanager.register(LateActivation(config, _activate), "sop-late-activation")


def _activate(config: pytest.Config) -> None:
    from pytest_sopbench._hooks.activation import activate

    # What is loaded stays: pytest looks for garbage at its end, an eighth of a short session.
    gc.freeze()
    config.add_cleanup(gc.unfreeze)
    activate(config)


def _is_asked_for(config: pytest.Config) -> bool:
    if (
        any(config.getoption(name) is not None for name in WAKING)
        or any(_may_name_task(arg) for arg in config.args)
        or _names_domain_folder(config)
    ):
        return True
    if config.getoption("dist", "no") == "no":
        return False
    from pytest_sopbench._hooks.settings.ini import ini_values

    # The controller of xdist collects nothing, so it would learn of SOP tests too late.
    return any(ini_values(config, name) for name in ("sop_domain", "sop_agent", "sop_concurrency"))


def _names_domain_folder(config: pytest.Config) -> bool:
    """Tell whether a folder was typed that stands for domains; most are ruled out at a glance."""
    if config.args_source is not pytest.Config.ArgsSource.ARGS:
        return False
    folders = (config.invocation_params.dir / arg for arg in config.args if "::" not in arg)
    if not any(_may_hold_domain(folder) for folder in folders):
        return False
    from pytest_sopbench._hooks.settings.asked import typed_domain_folders

    return bool(typed_domain_folders(config))


def _may_hold_domain(folder: Path) -> bool:
    names = ("metadata.json", "domain.toml")
    try:
        inside = [folder / entry.name for entry in os.scandir(folder) if entry.is_dir()]
        return any((place / name).exists() for place in (folder, *inside) for name in names)
    except OSError:
        # A file, or a folder that cannot be read, of which pytest says what it always says.
        return False


def _may_name_task(arg: str) -> bool:
    """Tell `sop:lab::T1`, `lab::T1` and `lab/data.csv::T1` from the node ids of test files."""
    head, colons, _ = arg.partition("::")
    if head.endswith((".csv", ".jsonl")) or head.lstrip("./").startswith("sop:"):
        return True
    return bool(colons) and not (head.endswith(".py") or "/" in head or Path(head).exists())


# Last, so that ids end in the task whatever else a test is parametrized with: the scheduler
# tells by it which tests share a run.
@pytest.hookimpl(trylast=True)
def pytest_generate_tests(metafunc: pytest.Metafunc) -> None:
    """Give tests that ask for a SOP fixture their tasks."""
    if not SOP_FIXTURES.isdisjoint(metafunc.fixturenames):
        from pytest_sopbench._hooks.activation import parametrize

        parametrize(metafunc)


@pytest.fixture
def sop_domain(request: pytest.FixtureRequest) -> Domain:
    """The domain of this test, a `Domain`: its SOP, tool specs, output fields and tasks.

    A test that asks for it and for no task runs once for each domain.
    """
    from pytest_sopbench._hooks.items import fixtures

    return fixtures.domain(request)


@pytest.fixture
def sop_task(request: pytest.FixtureRequest) -> Task:
    """The task of this test, a `Task`: its inputs and the answer that is expected.

    The test runs once for each selected task, and once more for each further trial.
    """
    from pytest_sopbench._hooks.items import fixtures

    return fixtures.task(request)


@pytest.fixture(scope="session")
def sop_agent(request: pytest.FixtureRequest) -> Any:
    """The agent under test, as `--agent` names it. Session-scoped.

    Override it in `conftest.py` to build an agent of your own; it wins over the option.
    """
    from pytest_sopbench._hooks.items import fixtures

    return fixtures.agent(request)


@pytest.fixture(scope="session")
def sop_approver(request: pytest.FixtureRequest) -> Any:
    """Who approves the steps of an SOP that need it, as `sop_approver` says. Session-scoped.

    Override it in `conftest.py` with a function that is given an `ApprovalRequest` and returns
    true, false or an `ApprovalDecision`; runs in flight call it from several threads.
    """
    from pytest_sopbench._hooks.items import fixtures

    return fixtures.approver(request)


@pytest.fixture
def sop_tools(request: pytest.FixtureRequest, sop_task: Task) -> Generator[Tools, None, None]:
    """A fresh toolbox for this task, a `Tools`, to call by hand; its calls belong to no run."""
    from pytest_sopbench._hooks.items import fixtures

    yield from fixtures.tools(request, sop_task)


@pytest.fixture
def sop_mcp(request: pytest.FixtureRequest, sop_tools: Tools) -> Generator[McpTools, None, None]:
    """The toolbox `sop_tools` as an MCP server: `url`, and `config` for a client's settings.

    The server listens on loopback for as long as the test runs. It needs the extra `wire`.
    """
    from pytest_sopbench._hooks.items import fixtures

    yield from fixtures.mcp(request, sop_tools)


@pytest.fixture
def sop_run(request: pytest.FixtureRequest, sop_task: Task) -> Run:
    """The run of the agent on this task, a `Run`. Asking for it runs the agent.

    A session makes one run for each agent, task and trial, whichever tests ask for it. The fixture
    never raises for what the agent did.
    """
    from pytest_sopbench._hooks.items import fixtures

    return fixtures.run(request, sop_task)


@pytest.fixture
def sop_snapshot(request: pytest.FixtureRequest, sop_run: Run) -> SopSnapshot:
    """The approved trajectories of this task: `assert sop_run.trajectory == sop_snapshot`.

    It needs syrupy, which the extra `snapshot` brings.
    """
    from pytest_sopbench._hooks.snapshots import fixture as snapshots

    return snapshots.sop_snapshot(request, sop_run)
