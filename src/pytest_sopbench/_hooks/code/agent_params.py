"""Several agents under test: by options, or by a fixture `sop_agent` with parameters."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Final

import pytest

from pytest_sopbench._core.model.agent_labels import of_parameter
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._hooks.settings.marks import marked_agent
from pytest_sopbench._hooks.settings.node_ids import encoded_label

AGENT: Final = "sop_agent"


@dataclass(frozen=True, slots=True, kw_only=True)
class AgentParameters:
    """The agents of a test as parameters of the fixture `sop_agent`.

    `names` is what their runs are filed under, `labels` what stands for them in ids, `values` what
    the fixture is given, all in one order. `own` holds where pytest parametrizes a test that asks
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
    """Return the agents that a test is run by, or `None` where it is run by one."""
    # pytest has no public way to ask which fixture a node gets.
    manager: Any = getattr(node.session, "_fixturemanager")  # noqa: B009 - not in pytest's types
    found: Sequence[Any] = manager.getfixturedefs(AGENT, node) or ()
    if found and found[-1].params:
        labels = _labels(found[-1])
        return AgentParameters(
            names=[of_parameter(label) for label in labels],
            labels=labels,
            values=found[-1].params,
            scope=found[-1].scope,
            own=True,
        )
    # A fixture of the project that has no parameters would give each of them the same agent.
    if not sop.has_agents or len(found) > 1:
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
        agent: what they are filed under where the agent is no parameter.
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
