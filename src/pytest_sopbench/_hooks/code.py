"""The code of users in one process: agents, and the tools and policies of domains.

An agent is resolved once, checked once and called for each run. The code of a domain is loaded only
if it is trusted.
"""

from __future__ import annotations

import os
from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from functools import cached_property
from pathlib import Path
from typing import Any, Final

import pytest

from pytest_sopbench._core.model.task import of_parameter
from pytest_sopbench._core.protocols import (
    MODEL_AGENT_KINDS,
    AgentContext,
    AgentOptions,
    AgentSource,
    Policy,
    names_model_agent,
)
from pytest_sopbench._core.steps import DENY, SCRIPTED, Approver, approve_all, deny_all
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._hooks.session.domains import ActiveDomain, import_limit, pace_of
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._hooks.settings.marks import encoded_label, marked_agent
from pytest_sopbench._loading.steps_file import read_script
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running.agents.spec import SOURCES, SpecKind, forms_of
from pytest_sopbench._running.tools.domain_code import (
    ManagerFactory,
    load_manager_factory,
    load_policy,
)
from pytest_sopbench._running.tools.mcp_tools import McpTools
from pytest_sopbench._settings.project_file import from_home
from pytest_sopbench.errors import SopbenchError

# The reference agents as a source of agents: their room is loaded when one of them is used.

AGENT: Final = "sop_agent"
_PLUGIN: Final = "pytest_sopbench.plugin"
"""The module of the plugin's own fixtures."""
_BASE: Final = "pytest_sopbench.agents.model_agent"
"""The module of the class that all reference agents have as a base."""


def _resolve_model_agent(spec: str, context: AgentContext) -> object:
    from pytest_sopbench.agents.sources import resolve  # noqa: PLC0415 - used from here on

    return resolve(spec, context)


MODEL_AGENTS: Final[AgentSource] = SpecKind(
    form=" or ".join(f"{kind}:PROVIDER/MODEL" for kind in MODEL_AGENT_KINDS),
    claims=names_model_agent,
    resolve=_resolve_model_agent,
)


def told_of(agent: object) -> tuple[str, Mapping[str, Any]]:
    """Return the hash of an agent's prompt and what it says of itself; both are empty elsewhere."""
    kind = agent if isinstance(agent, type) else type(agent)
    if all(getattr(base, "__module__", None) != _BASE for base in kind.__mro__):
        return "", {}
    from pytest_sopbench.agents.sources import prompt_hash_of, setup_of  # noqa: PLC0415 - of its room

    return prompt_hash_of(agent), setup_of(agent)


NO_AGENT = (
    "no agent: give --agent package.module:attribute on the command line, set sop_agent in the "
    "configuration, mark the test with @pytest.mark.sop(agent=...), or define the fixture sop_agent"
)


SEVERAL = (
    "it gives several at once, and each must have runs of its own\n"
    "make them parameters: @pytest.fixture(scope='session', params=[...]), and return request.param"
)
WHICH = (
    "sop_agent: the session has several agents, and this test does not say which it wants\n"
    "make the fixture a parameter of the test, or name one with @pytest.mark.sop(agent=...)"
)


def check_agent_given(sop: SopSession, node: pytest.Item | pytest.Collector) -> None:
    """Complain at collection that no agent is known, since later it would be a failed test.

    Raises:
        pytest.UsageError: neither an option nor a fixture of the project gives an agent, or several
            options do and a fixture as well.
    """
    fixture = overriding_fixture(node)
    # All items of a test lack the same, so it is told of the test.
    where = node.nodeid.partition("[")[0]
    if not sop.options.agents and not fixture:
        msg = f"{where}: {NO_AGENT}"
        raise pytest.UsageError(msg)
    if sop.has_agents and fixture:
        # One agent gives way to the fixture; of several, nobody could say which of them ran.
        given = " and ".join(map(str, sop.options.agents))
        msg = (
            f"{where}: the options give the agents {given}, and the {fixture} gives others\n"
            "leave one of the two out; a fixture gives several by @pytest.fixture(params=[...])"
        )
        raise pytest.UsageError(msg)


def definition(node: pytest.Item | pytest.Collector, name: str) -> Any:
    """Return what defines the fixture of that name as this node sees it, or `None`."""
    # pytest has no public way to ask which fixture an item gets. What an item itself knows lacks
    # the agent, which is asked for only if no marker names another one.
    manager: Any = getattr(node.session, "_fixturemanager")  # noqa: B009 - not in pytest's types
    found: Sequence[Any] | None = manager.getfixturedefs(name, node)
    return found[-1] if found else None


def is_ours(found: Any) -> bool:
    """Tell whether a definition is the plugin's own."""
    return getattr(getattr(found, "func", None), "__module__", "") == _PLUGIN


def overriding_fixture(node: pytest.Item | pytest.Collector) -> str:
    """Say which fixture of the project stands for ours, or nothing if none does."""
    found = definition(node, AGENT)
    if is_ours(found):
        return ""
    # Where it is defined is known by its function; a fixture may also be made in other ways.
    code = getattr(getattr(found, "func", None), "__code__", None)
    return f"fixture sop_agent ({Path(code.co_filename).name})" if code else "fixture sop_agent"


class Agents:
    """Resolves agents by their spec and makes them callable on tasks."""

    def __init__(self, sop: SopSession) -> None:
        self._sop = sop
        self._resolved: dict[str, object] = {}
        self._callers: dict[int, tuple[object, AgentCaller]] = {}

    def resolve(self, spec: str) -> object:
        """Return what the spec names, imported once per process.

        Raises:
            pytest.UsageError: it cannot be resolved, or not be called as an agent.
        """
        if spec not in self._resolved:
            # The first that claims a spec resolves it.
            sources = (MODEL_AGENTS, *SOURCES)
            source = next(one for one in sources if one.claims(spec))
            try:
                with import_limit(self._sop.config, self._sop.options, f"agent {spec!r}"):
                    self._resolved[spec] = source.resolve(spec, self._context(forms_of(sources)))
            except SopbenchError as error:
                raise pytest.UsageError(str(error)) from None
            self.caller(self._resolved[spec], spec)
        return self._resolved[spec]

    @cached_property
    def approver(self) -> Approver:
        """Who approves steps if the project has no fixture of its own for it.

        Raises:
            pytest.UsageError: the file of `sop_approver` cannot be used.
        """
        kind, _, path = self._sop.options.approver.partition(":")
        if kind != SCRIPTED:
            return deny_all if kind == DENY else approve_all
        try:
            return read_script(self._sop.config.rootpath / from_home(path))
        except SopbenchError as error:
            msg = f"sop_approver: {error}"
            raise pytest.UsageError(msg) from None

    def _record(self, name: str, prompt_hash: str, setup: Mapping[str, JsonValue]) -> None:
        recorded = self._sop.recorded
        if prompt_hash:
            recorded = replace(recorded, prompts={**recorded.prompts, name: prompt_hash})
        if setup:
            told = self._sop.options.redaction.value(dict(setup))
            recorded = replace(recorded, setups={**recorded.setups, name: told})
        self._sop.recorded = recorded

    @property
    def options(self) -> AgentOptions:
        """What the session's options say of its agents."""
        options = self._sop.options
        return AgentOptions(
            arguments=dict(options.agent_args),
            in_flight=pace_of(self._sop.config, options).limit.highest,
            timeout=options.timeout,
            tool_address=options.tool_address,
        )

    def _context(self, forms: str) -> AgentContext:
        config = self._sop.config
        # What a module's name is relative to: as typed, or as the project's file has it.
        typed = bool(config.getoption("sop_agent"))
        return AgentContext(
            path=config.invocation_params.dir if typed else config.rootpath,
            domains={active.domain.name: active.domain for active in self._sop.actives},
            policy=lambda name: policy(self._sop.find_active(name)),
            options=self.options,
            forms=forms,
        )

    def caller(self, agent: object, name: str = "fixture sop_agent") -> AgentCaller:
        """Return the way to call an agent, which checks its parameters at the first asking.

        Its runs ask the approver of the session.

        Raises:
            pytest.UsageError: a parameter cannot be filled.
        """
        if id(agent) not in self._callers:
            if isinstance(agent, list | tuple):
                msg = f"agent {name!r}: {SEVERAL}"
                raise pytest.UsageError(msg)
            try:
                caller = AgentCaller(agent, dict(self._sop.options.agent_args))
            except SopbenchError as error:
                msg = f"agent {name!r}: {error}"
                raise pytest.UsageError(msg) from None
            caller = caller.asking(self.approver)
            # What a model is told is a part of what is tested, as the SOP is.
            self._record(name, *told_of(agent))
            # The agent is kept beside its caller, so that its id stays its own.
            self._callers[id(agent)] = agent, caller
        return self._callers[id(agent)][1]


# Several agents under test: by options, or by a fixture `sop_agent` with parameters.


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentParameters:
    """The agents of a test as parameters of the fixture `sop_agent`.

    `names` is what their runs are filed under, `labels` what stands for them in ids, `values` what
    the fixture is given, all in one order. `own` holds if pytest parametrizes a test that asks
    for the fixture by itself.
    """

    names: Sequence[str]
    labels: Sequence[str]
    values: Sequence[object]
    scope: Any = "session"
    own: bool = False


def agent_parameters(
    sop: SopSession, node: pytest.Item | pytest.Collector
) -> AgentParameters | None:
    """Return the agents that a test is run by, or `None` if it is run by one."""
    found = definition(node, AGENT)
    if found is not None and found.params:
        labels = _labels(found)
        return AgentParameters(
            names=[of_parameter(label) for label in labels],
            labels=labels,
            values=found.params,
            scope=found.scope,
            own=True,
        )
    # A fixture of the project that has no parameters would give each of them the same agent.
    if not sop.has_agents or not is_ours(found):
        return None
    return AgentParameters(names=sop.agents, labels=[*sop.labels.values()], values=sop.agents)


def parametrize_agent(sop: SopSession, metafunc: pytest.Metafunc) -> None:
    """Give a test each of its agents, which it may reach through `sop_run` alone."""
    found = agent_parameters(sop, metafunc.definition)
    asks = AGENT in metafunc.fixturenames
    if found is None or marked_agent(metafunc.definition) or (found.own and asks):
        # pytest has seen to the parameters of a fixture that the test itself asks for.
        return
    if not asks:
        # pytest refuses a parameter that it knows of no use for; `sop_run` asks for it late.
        metafunc.fixturenames.append(AGENT)
    ids = [label.encode("ascii", "backslashreplace").decode() for label in found.labels]
    metafunc.parametrize(AGENT, found.values, indirect=True, ids=ids, scope=found.scope)
    if not asks:
        metafunc.fixturenames.remove(AGENT)


def agents_of(sop: SopSession, metafunc: pytest.Metafunc, agent: str) -> Sequence[str]:
    """Return what the runs of a test are filed under: its one agent, or one for each parameter."""
    if marked_agent(metafunc.definition):
        return (agent,)
    # pytest has no public way to ask for the parameters that were given so far.
    calls: Sequence[Any] = getattr(metafunc, "_calls", ())
    names = (agent_of(sop, metafunc.definition, call, agent) for call in calls)
    return tuple(dict.fromkeys(names)) or (agent,)


def agent_of(sop: SopSession, node: pytest.Item | pytest.Collector, call: Any, agent: str) -> str:
    """Return what the runs of an item are filed under.

    Args:
        sop: the session.
        node: the item, or its test.
        call: its `callspec`.
        agent: what they are filed under if the agent is no parameter.
    """
    params: Mapping[str, object] = call.params
    if AGENT not in params:
        return agent
    place: int = call.indices[AGENT]
    found = agent_parameters(sop, node)
    if found is not None and place < len(found.names):
        return found.names[place]
    return of_parameter(_label(params[AGENT], place))


def callspecs(item: pytest.Function, found: AgentParameters) -> Mapping[str, Any]:
    """Return the `callspec` of each agent by its name, as pytest gives them to tests."""
    info: Any = getattr(item, "_fixtureinfo")  # noqa: B009 - not in pytest's types
    metafunc: Any = pytest.Metafunc(item, info, item.config, _ispytest=True)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - the definition of a test is a function as well
    metafunc.fixturenames = [*info.names_closure, AGENT]
    # pytest would run all tasks of one agent before those of the next one, so that the fixture is
    # set up once for each; ours does nothing then.
    is_asked_for = found.own or AGENT in info.names_closure
    scope = found.scope if is_asked_for else "function"
    ids = [encoded_label(label) for label in found.labels]
    metafunc.parametrize(AGENT, found.values, indirect=True, ids=ids, scope=scope)
    calls: Sequence[Any] = metafunc._calls  # noqa: SLF001 - not in pytest's types
    return dict(zip(found.names, calls, strict=True))


def _labels(fixture: Any) -> Sequence[str]:
    ids: Sequence[object] | Callable[[Any], object] | None = fixture.ids
    labels: list[str] = []
    for place, param in enumerate(fixture.params):
        is_set = hasattr(param, "marks") and hasattr(param, "values")
        value, given = (param.values[0], param.id) if is_set else (param, None)
        if given is None and ids is not None:
            given = ids(value) if callable(ids) else ids[place]
        labels.append(str(given) if given is not None else _label(value, place))
    times = Counter(labels)
    return [f"{one}-{place}" if times[one] > 1 else one for place, one in enumerate(labels)]


def _label(value: object, place: int) -> str:
    if isinstance(value, str | int | float | bool):
        return str(value)
    return str(getattr(value, "__name__", place))


# A domain's own code, loaded only if it is trusted.


def manager_factory(active: ActiveDomain) -> ManagerFactory | None:
    """Return what makes the domain's tool manager, or `None` if it has no `tools.py`.

    Raises:
        pytest.UsageError: the code is not trusted, or cannot be used.
    """
    file = active.domain.tools_file
    if file is None:
        return None
    _check_trust(active, file)
    try:
        return load_manager_factory(active.domain)
    except SopbenchError as error:
        raise pytest.UsageError(str(error)) from None


def mcp_tools(active: ActiveDomain) -> McpTools | None:
    """Return what reaches the domain's MCP server, or `None` if it has none; it is not started.

    A server counts as code of its domain, also behind an address: it is given what the agent says
    and what `env:` names, and an address of this machine may be that of anything.

    Raises:
        pytest.UsageError: it is not trusted, or a variable is not set.
    """
    if active.domain.mcp is None:
        return None
    _check_trust(active, active.domain.folder / "metadata.json, key 'mcp'")
    try:
        return McpTools(active.domain, os.environ)
    except SopbenchError as error:
        raise pytest.UsageError(str(error)) from None


def policy(active: ActiveDomain) -> Policy:
    """Return the domain's reference policy.

    Raises:
        pytest.UsageError: it has none, its code is not trusted, or cannot be used.
    """
    file = active.domain.policy_file
    if file is None:
        msg = (
            f"reference-policy: domain {active.domain.name} has no policy.py\n"
            "give another --agent, or write the SOP as decide(inputs, call) in that file"
        )
        raise pytest.UsageError(msg)
    _check_trust(active, file)
    try:
        return load_policy(active.domain)
    except SopbenchError as error:
        raise pytest.UsageError(str(error)) from None


def _check_trust(active: ActiveDomain, file: Path) -> None:
    if not active.trusted:
        msg = (
            f"{file}: this code lies outside the project, and is not run unasked\n"
            f"name the domain by its path, or add its folder to sop_trust"
        )
        raise pytest.UsageError(msg)
