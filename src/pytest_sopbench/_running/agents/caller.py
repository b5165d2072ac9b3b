"""Call an agent of any supported shape; its parameters are checked once, before the first run.

The shapes: a function, sync or async; a bound method or a partial; an instance with `execute`,
`run` or `__call__`; a class with one of these methods, made once per run, so that runs in
flight share nothing.
"""

from __future__ import annotations

import functools
import inspect
import os
from collections.abc import Callable, Mapping
from copy import copy
from dataclasses import dataclass
from typing import Any, Final, Literal, cast

from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.steps import (
    ApprovalDecision,
    ApprovalRequest,
    Approver,
    approve_all,
)
from pytest_sopbench._core.values.json import JsonValue, to_json_value
from pytest_sopbench._running.tools.domain_code import CannotFillError, Filling, plan_filling
from pytest_sopbench._running.tools.toolbox import Tools
from pytest_sopbench.errors import AgentSpecError

# The approver of one run: asks the user's own, and records what came of it.


class RunApprover:
    """What an agent is given as `approver`: asked for a step, it tells the decision.

    The agent cannot ask unseen: each decision is recorded in the run, so that rules of a contract
    can demand it.
    """

    __slots__ = ("_approver", "_domain", "_task_id", "_tools")

    def __init__(self, approver: Approver, tools: Tools, *, domain: str, task_id: str) -> None:
        self._approver = approver
        self._tools = tools
        self._domain = domain
        self._task_id = task_id

    def __call__(
        self,
        step: str,
        *,
        title: str = "",
        moment: Literal["before", "after"] = "after",
        summary: str = "",
    ) -> ApprovalDecision:
        """Ask for the approval of a step; it blocks until there is a decision.

        Args:
            step: the number of the step.
            title: its title.
            moment: whether the step is about to begin, or its work is done.
            summary: what somebody should know who decides.

        Returns:
            The decision, which is true in a condition if the step was approved.

        Raises:
            AgentSpecError: the user's approver returned something else than a decision.
        """
        request = ApprovalRequest(
            step=step,
            title=title,
            moment=moment,
            summary=summary,
            domain=self._domain,
            task_id=self._task_id,
        )
        decision = _decision(self._approver(request))
        self._tools.record_approval(
            step, decision.by, granted=decision.approved, reason=decision.reason
        )
        return decision


def _decision(given: object) -> ApprovalDecision:
    if isinstance(given, ApprovalDecision):
        return given
    if isinstance(given, bool):
        return ApprovalDecision(approved=given, by="sop_approver")
    # Whatever else is true in Python must not approve anything.
    msg = f"the approver returned a value of type {type(given).__name__}"
    hint = "it must return True, False or an ApprovalDecision"
    raise AgentSpecError(msg, hint=f"{hint}, and be no async function")


METHODS: Final = ("execute", "run", "__call__")
"""The methods of an agent, in the order in which they are looked for."""

PARAMETERS: Final = (
    *("sop", "inputs", "task", "tools", "task_id", "domain"),
    *("output_fields", "output_schema", "steps", "approver"),
)
"""The names of parameters that a run fills."""

_LATE: Final = "env:"


@dataclass(frozen=True, slots=True)
class _Target:
    """What is called, and how; `method` is empty if `owner` is called itself."""

    owner: Any
    method: str
    making: Filling | None
    calling: Filling


class AgentCaller:
    """Calls one agent, with the values of `--sop-agent-arg`; holds nothing of any run.

    Args:
        agent: what `--agent` or the fixture gave.
        arguments: by parameter name; `env:NAME` is read from the environment at each run.
        environment: where `env:NAME` is read.

    Raises:
        AgentSpecError: it is nothing that can be called, a required parameter cannot be filled,
            no parameter takes one of the arguments, or a variable of the environment is missing.
    """

    def __init__(
        self,
        agent: object,
        arguments: Mapping[str, str] | None = None,
        *,
        environment: Mapping[str, str] = os.environ,
    ) -> None:
        self._arguments = dict(arguments or {})
        self._environment = environment
        self._approver: Approver = approve_all
        self._check_names()
        self._target = _target(agent, tuple(self._arguments))
        self._check_taken()
        self._late_values()

    def asking(self, approver: Approver) -> AgentCaller:
        """Return the same caller, whose runs ask this approver."""
        if approver is self._approver:
            return self
        other = copy(self)
        other._approver = approver  # noqa: SLF001 - a copy of this object
        return other

    def call(self, domain: Domain, task: Task, tools: Tools) -> object:
        """Call the agent on one task, and return what it returns, awaitable or not."""
        target, inputs = self._target, to_json_value(task.inputs)
        values: dict[str, object] = {
            **self._arguments,
            **(self._late_values() if self._arguments else {}),
            "sop": domain.sop,
            "inputs": inputs,
            "task": inputs,
            "tools": tools,
            "task_id": task.id,
            "domain": domain.name,
        }
        for name in target.calling.filled & _MADE.keys():
            # Few agents want them, and each takes its time.
            values[name] = _MADE[name](domain)
        if "approver" in target.calling.filled:
            values["approver"] = RunApprover(
                self._approver, tools, domain=domain.name, task_id=task.id
            )
        called = target.owner
        if target.making is not None:
            by_position, by_name = target.making.values(values)
            called = called(*by_position, **by_name)
        if target.method:
            called = getattr(called, target.method)
        by_position, by_name = target.calling.values(values)
        return called(*by_position, **by_name)

    def _late_values(self) -> dict[str, str]:
        found: dict[str, str] = {}
        for key, value in self._arguments.items():
            if not value.startswith(_LATE):
                continue
            name = value.removeprefix(_LATE)
            if name not in self._environment:
                msg = f"agent argument {key}={value}: the environment has no variable {name!r}"
                raise AgentSpecError(msg, hint=f"set {name}, or leave {key} out")
            found[key] = self._environment[name]
        return found

    def _check_names(self) -> None:
        for key in self._arguments:
            if key in PARAMETERS:
                msg = f"agent argument {key!r}: every run fills this parameter itself"
                raise AgentSpecError(msg, hint="give the agent's parameter another name")

    def _check_taken(self) -> None:
        making = self._target.making
        taken = self._target.calling.filled
        known = self._target.calling.optional
        if making is not None:
            taken, known = taken | making.filled, (*making.optional, *known)
        for key in self._arguments:
            if key not in taken:
                msg = f"agent argument {key!r}: the agent has no parameter of that name"
                names = ", ".join(name for name in known if name not in PARAMETERS)
                hint = f"it may be given {names}" if names else "name the parameter"
                raise AgentSpecError(msg, hint=f"{hint}; **kwargs receive nothing")


def output_schema(domain: Domain) -> JsonValue:
    """Return the JSON schema of the answer; `None` if the answer is no document."""
    return to_json_value(domain.document.schema) if domain.document else None


def output_fields(domain: Domain) -> dict[str, JsonValue]:
    """Say of each output field which values it may have, or else its type."""
    return {one.name: list(one.values) if one.values else one.type.value for one in domain.fields}


_MADE: Final[Mapping[str, Callable[[Domain], object]]] = {
    "output_fields": output_fields,
    "output_schema": output_schema,
    "steps": lambda domain: domain.procedure,
}
"""What is made of a domain if an agent has a parameter of that name."""


def _target(agent: Any, names: tuple[str, ...]) -> _Target:
    if inspect.isclass(agent):
        return _class_target(agent, names)
    if inspect.isroutine(agent) or isinstance(cast("object", agent), functools.partial):
        return _Target(agent, "", None, _filling(agent, names, _named(agent)))
    for method in METHODS:
        found = getattr(agent, method, None)
        if callable(found):
            return _Target(agent, method, None, _filling(found, names, _named(agent, method)))
    msg = f"{_named(agent)} is not an agent: it has none of the methods {', '.join(METHODS)}"
    raise AgentSpecError(msg, hint="an agent is a function, a class, or an object with a method")


def _class_target(kind: type[Any], names: tuple[str, ...]) -> _Target:
    members = {name: one for base in reversed(kind.__mro__) for name, one in vars(base).items()}
    for method in METHODS:
        if callable(getattr(kind, method, None)) and method in members:
            # A call of the class itself would be its constructor, so `self` is filled by hand.
            found = getattr(kind, method) if method != "__call__" else members[method]
            shown = f"{kind.__name__}.{method}"
            static = isinstance(members[method], staticmethod)
            takes_self = inspect.isfunction(found) and not static
            called = functools.partial(found, None) if takes_self else found
            return _Target(
                kind,
                method,
                _filling(kind, names, f"{kind.__name__}()", required=()),
                _filling(called, names, shown),
            )
    msg = f"class {kind.__name__} is not an agent: it has none of the methods {', '.join(METHODS)}"
    raise AgentSpecError(msg, hint="define execute, run or __call__")


def _filling(
    called: Callable[..., object],
    names: tuple[str, ...],
    shown: str,
    *,
    required: tuple[str, ...] = PARAMETERS,
) -> Filling:
    try:
        signature = inspect.signature(called)
    except (TypeError, ValueError) as fault:
        msg = f"the parameters of {shown} cannot be read: {fault}"
        raise AgentSpecError(msg, hint="wrap it in a function of your own") from None
    try:
        return plan_filling(signature, required=required, wanted=names)
    except CannotFillError as fault:
        msg = f"{shown} needs the parameter {fault.parameter!r}, which nothing fills"
        fills = ", ".join(required) or "none of its own accord"
        hint = f"a run fills {fills}; give it with --sop-agent-arg {fault.parameter}=VALUE"
        raise AgentSpecError(msg, hint=f"{hint}, or give it a default") from None


def _named(agent: Any, method: str = "") -> str:
    name = getattr(agent, "__qualname__", None) or f"{type(agent).__name__} object"
    return f"{name}.{method}" if method else str(name)
