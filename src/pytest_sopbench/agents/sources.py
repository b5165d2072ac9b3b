"""The reference agents as `--agent` names them: `function-calling:PROVIDER/MODEL` and its like."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass
from difflib import get_close_matches
from typing import Any, Final, TypeGuard

from pytest_sopbench._core.protocols import MODEL_AGENT_KINDS, AgentContext
from pytest_sopbench.agents.model_agent import FunctionCalling, ModelAgent, settings_of
from pytest_sopbench.agents.react import ReAct
from pytest_sopbench.agents.stepwise import Stepwise, check_plan
from pytest_sopbench.errors import AgentSpecError

KINDS: Final[Mapping[str, type[ModelAgent]]] = dict(
    zip(MODEL_AGENT_KINDS, (FunctionCalling, ReAct, Stepwise), strict=True)
)
_LATE: Final = "env:"


def resolve(spec: str, context: AgentContext) -> object:
    """Return the class that `KIND:PROVIDER/MODEL` names; it is made once for each run.

    Raises:
        AgentSpecError: it has no such argument, or cannot be used with a domain.
    """
    kind, _, model = spec.partition(":")
    arguments = context.options.arguments
    known = settings_of(KINDS[kind])
    for name in arguments:
        if name not in known:
            raise _unknown(spec, name, known)
    made = _configured(KINDS[kind], model, context)
    try:
        if issubclass(made, Stepwise):
            for domain in context.domains.values():
                names = [one.name for one in domain.tool_specs]
                check_plan(domain.procedure, names, domain=domain.name, model=model)
        # Whatever is wrong with the settings is wrong with every run.
        example = made(**_known_values(arguments))
    except AgentSpecError as error:
        msg = f"agent {spec!r}: {error.message}"
        raise AgentSpecError(msg, hint=error.hint) from None
    made.prompt_hash, made.setup = example.prompt_hash, _without_secrets(example.setup, arguments)
    return made


def _without_secrets(setup: Mapping[str, Any], arguments: Mapping[str, str]) -> dict[str, Any]:
    """Name the variable in place of each setting that was read from one."""
    held = {name: one for name, one in arguments.items() if one.startswith(_LATE)}
    settings = {name: held.get(name, one) for name, one in setup["settings"].items()}
    return {**setup, "settings": settings}


def prompt_hash_of(agent: object) -> str:
    """Return the hash of an agent's prompt; empty if it has none."""
    return agent.prompt_hash if _is_ours(agent) else ""


def setup_of(agent: object) -> dict[str, Any]:
    """Return what an agent of ours says of itself; empty for any other."""
    return dict(agent.setup) if _is_ours(agent) else {}


def _is_ours(agent: object) -> TypeGuard[ModelAgent | type[ModelAgent]]:
    kind = agent if isinstance(agent, type) else type(agent)
    return issubclass(kind, ModelAgent)


def _known_values(arguments: Mapping[str, str]) -> dict[str, Any]:
    """Return the arguments as a run is given them; a variable that is missing is found later."""
    held = {
        name: os.environ.get(one.removeprefix(_LATE)) if one.startswith(_LATE) else one
        for name, one in arguments.items()
    }
    return {name: one for name, one in held.items() if one is not None}


def _configured(kind: type[ModelAgent], name: str, context: AgentContext) -> type[ModelAgent]:
    """Return the agent with defaults that fit the session."""
    options = context.options

    @dataclass(frozen=True, kw_only=True)
    class Configured(kind):  # type: ignore[valid-type,misc] # a class is chosen by the spec
        model: str = name
        connections: float | str | None = max(int(kind.connections or 1), options.in_flight)

    Configured.__name__ = Configured.__qualname__ = kind.__name__
    return Configured


def _unknown(spec: str, name: str, known: tuple[str, ...]) -> AgentSpecError:
    near = get_close_matches(name, known, n=1)
    told = f"did you mean {near[0]}? " if near else ""
    msg = f"agent {spec!r}: it has no argument {name!r}"
    return AgentSpecError(msg, hint=f"{told}it takes {', '.join(known)}")
