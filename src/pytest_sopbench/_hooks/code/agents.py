"""The agents of one process: resolved once, checked once, called for each run."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._core.agent_source import AgentOptions
from pytest_sopbench._core.steps.approving import (
    DENY,
    SCRIPTED,
    Approver,
    approve_all,
    deny_all,
)
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._hooks.session.pace import pace_of
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running.agents.spec import SOURCES, resolve_agent
from pytest_sopbench._settings.project_file import from_home
from pytest_sopbench.errors import SopbenchError

from .importing import bounded_import
from .model_agents import MODEL_AGENTS, told_of
from .trusted_code import policy

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


def overriding_fixture(node: pytest.Item | pytest.Collector) -> str:
    """Say which fixture of the project stands for ours, or nothing where none does."""
    # pytest has no public way to ask which fixtures a node sees.
    manager: Any = getattr(node.session, "_fixturemanager")  # noqa: B009 - not in pytest's types
    found: Sequence[Any] = manager.getfixturedefs("sop_agent", node) or ()
    if len(found) < 2:  # noqa: PLR2004 - ours is always there
        return ""
    # Where it is defined is known by its function; a fixture may also be made in other ways.
    code = getattr(getattr(found[-1], "func", None), "__code__", None)
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
            try:
                with bounded_import(self._sop, f"agent {spec!r}"):
                    self._resolved[spec] = resolve_agent(
                        spec,
                        path=self._folder,
                        domains=[active.domain for active in self._sop.actives],
                        policies=lambda name: policy(self._sop.find_active(name)),
                        options=self._options,
                        sources=(MODEL_AGENTS, *SOURCES),
                    )
            except SopbenchError as error:
                raise pytest.UsageError(str(error)) from None
            self.caller(self._resolved[spec], spec)
        return self._resolved[spec]

    @cached_property
    def approver(self) -> Approver:
        """Who approves steps where the project has no fixture of its own for it.

        Raises:
            pytest.UsageError: the file of `--sop-approver` cannot be used.
        """
        kind, _, path = self._sop.options.approver.partition(":")
        if kind != SCRIPTED:
            return deny_all if kind == DENY else approve_all
        typed = self._sop.config.getoption("sop_approver") is not None
        folder = self._sop.config.invocation_params.dir if typed else self._sop.config.rootpath
        try:
            from pytest_sopbench._loading.approval_script import read_script  # noqa: PLC0415 - only where approvals are scripted

            return read_script(folder / from_home(path))
        except SopbenchError as error:
            msg = f"--sop-approver: {error}"
            raise pytest.UsageError(msg) from None

    def check_approver(self) -> None:
        """Complain of the approver before the first run, and not in it.

        Raises:
            pytest.UsageError: it cannot be used.
        """
        _ = self.approver

    def asking(self, agent: object, approver: Approver | None) -> AgentCaller:
        """Return the way to call an agent whose runs ask this approver, or the session's own."""
        return self.caller(agent).asking(approver or self.approver)

    def _record(self, name: str, prompt_hash: str, setup: Mapping[str, JsonValue]) -> None:
        recorded = self._sop.recorded
        if prompt_hash:
            recorded = replace(recorded, prompts={**recorded.prompts, name: prompt_hash})
        if setup:
            told = self._sop.options.redaction.value(dict(setup))
            recorded = replace(recorded, setups={**recorded.setups, name: told})
        self._sop.recorded = recorded

    @property
    def _options(self) -> AgentOptions:
        options = self._sop.options
        return AgentOptions(
            arguments=dict(options.agent_args),
            in_flight=pace_of(self._sop.config, options).limit.highest,
        )

    @property
    def _folder(self) -> Path:
        """What a module's name is relative to: as typed, or as the project's file has it."""
        config = self._sop.config
        typed = bool(config.getoption("sop_agent"))
        return config.invocation_params.dir if typed else config.rootpath

    def caller(self, agent: object, name: str = "fixture sop_agent") -> AgentCaller:
        """Return the way to call an agent, which checks its parameters at the first asking.

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
            # What a model is told is a part of what is tested, as the SOP is.
            self._record(name, *told_of(agent))
            # The agent is kept beside its caller, so that its id stays its own.
            self._callers[id(agent)] = agent, caller
        return self._callers[id(agent)][1]
