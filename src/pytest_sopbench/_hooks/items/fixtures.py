"""What the fixtures of `plugin.py` give; imported when a test asks for one."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence
from copy import deepcopy
from dataclasses import replace
from functools import partial, wraps
from typing import Final, ParamSpec, TypeVar, cast, overload

import pytest

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.steps import Approver
from pytest_sopbench._hooks.code import NO_AGENT, WHICH, definition, is_ours
from pytest_sopbench._hooks.runs.reportable import JudgedRun
from pytest_sopbench._hooks.runs.run_cache import DECIDING, RUNS
from pytest_sopbench._hooks.runs.shown import Run
from pytest_sopbench._hooks.session.domains import ActiveDomain, TaskRef
from pytest_sopbench._hooks.session.session import REF, SESSION
from pytest_sopbench._hooks.settings.marks import marked_agent
from pytest_sopbench._running.tools.toolbox import Toolbox, Tools
from pytest_sopbench._running.wire.server import Address, McpTools, ToolServer
from pytest_sopbench._running.wire.service import shared_server
from pytest_sopbench.errors import SopbenchError

P = ParamSpec("P")
T = TypeVar("T")

TASK = pytest.StashKey[Task]()
"""The task of an item as it was built, on that item for as long as its test has the copy."""

LATE_MARK: Final = (
    "a mark names the agent {}, and the run of this test was planned for {}\n"
    "set the mark where the test is defined, since marks that are added later change no plan"
)


def _told_in_words(give: Callable[P, T]) -> Callable[P, T]:
    """Tell a fault of the user's set-up that only a run can show without a traceback of ours."""

    @wraps(give)
    def given(*args: P.args, **kwargs: P.kwargs) -> T:
        __tracebackhide__ = True
        try:
            return give(*args, **kwargs)
        except (SopbenchError, pytest.UsageError) as error:
            message = str(error)
        pytest.fail(message, pytrace=False)

    return given


@_told_in_words
def domain(request: pytest.FixtureRequest) -> Domain:
    given: ActiveDomain | None = getattr(request, "param", None)
    found = (given or _ref(request).domain).domain
    return replace(found, tasks=OwnTasks(found.tasks))


class OwnTasks(Sequence[Task]):
    """The tasks of a domain for one test: what it does to one reaches nobody else."""

    def __init__(self, tasks: Sequence[Task]) -> None:
        self._tasks = tasks

    def __repr__(self) -> str:
        return repr(self._tasks)

    def __len__(self) -> int:
        return len(self._tasks)

    @overload
    def __getitem__(self, index: int) -> Task: ...

    @overload
    def __getitem__(self, index: slice) -> Sequence[Task]: ...

    def __getitem__(self, index: int | slice) -> Task | Sequence[Task]:
        return deepcopy(self._tasks[index])


@_told_in_words
def task(request: pytest.FixtureRequest) -> Task:
    """Return a copy of the task: what a test does to it reaches no agent and no other test."""
    stash: pytest.Stash = request.node.stash
    built = stash[TASK] = _ref(request).task
    request.addfinalizer(partial(stash.__delitem__, TASK))
    return deepcopy(built)


def agent(request: pytest.FixtureRequest) -> object:
    runs = request.config.stash[RUNS]
    sop = request.config.stash[SESSION]
    # One of several agents is given as a parameter.
    spec = sop.spec_of(getattr(request, "param", None) or sop.agents[0])
    if spec is None:
        raise pytest.UsageError(NO_AGENT)
    if sop.has_agents and not hasattr(request, "param"):
        raise pytest.UsageError(WHICH)
    sop.given[getattr(request, "param", None) or sop.agents[0]] = None
    return runs.agents.resolve(spec)


def approver(request: pytest.FixtureRequest) -> Approver:
    return request.config.stash[RUNS].agents.approver


def tools(request: pytest.FixtureRequest, task: Task) -> Iterator[Tools]:
    toolbox = _open_toolbox(request, task)
    try:
        yield toolbox.tools
    finally:
        toolbox.close()


@_told_in_words
def _open_toolbox(request: pytest.FixtureRequest, task: Task) -> Toolbox:
    return request.config.stash[RUNS].toolbox(_ref(request).domain, task)()


def mcp(request: pytest.FixtureRequest, tools: Tools) -> Iterator[McpTools]:
    """Serve a toolbox by MCP for as long as a test runs."""
    server = _start_server(request)
    door = server.open(tools)
    try:
        yield McpTools(url=door.mcp)
    finally:
        server.close(door)


@_told_in_words
def _start_server(request: pytest.FixtureRequest) -> ToolServer:
    options = request.config.stash[RUNS].agents.options
    return shared_server(Address(*options.tool_address))


@_told_in_words
def run(request: pytest.FixtureRequest, task: Task) -> Run:
    runs, ref = request.config.stash[RUNS], _ref(request)
    spec = marked_agent(request.node)
    if spec is not None and spec != ref.key.agent:
        raise pytest.UsageError(LATE_MARK.format(spec, ref.key.agent))
    chosen: object = runs.agents.resolve(spec) if spec else _agent(request, ref)
    # The test's own copy may have been changed; a fixture of the project says what is to be run.
    deciding = {name: definition(request.node, name) for name in DECIDING}
    given = request.node.stash[TASK] if is_ours(deciding["sop_task"]) else deepcopy(task)
    approver = _approver(request, deciding["sop_approver"])
    return runs.run(ref, given, chosen, approver, request.node, deciding)


@_told_in_words
def variant(request: pytest.FixtureRequest, ref: TaskRef) -> JudgedRun:
    """Return the run of a variant, which no other test can ask for."""
    runs, chosen = request.config.stash[RUNS], _agent(request, ref)
    approver = _approver(request, definition(request.node, "sop_approver"))
    return runs.make(ref, ref.task, chosen, approver, request.node)


def _agent(request: pytest.FixtureRequest, ref: TaskRef) -> object:
    # Several agents of the options have no fixture of the project in their place.
    found = request.config.stash[RUNS].agent_of(ref.key)
    return request.getfixturevalue("sop_agent") if found is None else found


def _approver(request: pytest.FixtureRequest, defined: object) -> Approver | None:
    """Return the approver of the project; `None` if it has none of its own."""
    if is_ours(defined):
        return None
    given: object = request.getfixturevalue("sop_approver")
    if callable(given):
        return cast("Approver", given)
    msg = (
        f"the fixture sop_approver gave a value of type {type(given).__name__}\n"
        "it must give a function of an ApprovalRequest"
    )
    raise pytest.UsageError(msg)


def _ref(request: pytest.FixtureRequest) -> TaskRef:
    ref: TaskRef | None = request.node.stash.get(REF, None)
    if ref is None:
        msg = (
            f"{request.node.nodeid}: it asks for a SOP fixture while it runs\n"
            "make the fixture a parameter of the test, so that the test gets its tasks"
        )
        raise pytest.UsageError(msg)
    return ref
