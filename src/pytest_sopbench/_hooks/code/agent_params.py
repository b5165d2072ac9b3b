"""Several agents under test: a fixture `sop_agent` with parameters, and what to call each."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Mapping, Sequence
from typing import Any, Final

import pytest

from pytest_sopbench._hooks.settings.marks import marked_agent
from pytest_sopbench._hooks.settings.node_ids import of_parameter

AGENT: Final = "sop_agent"


def agent_fixture(node: pytest.Item | pytest.Collector) -> Any:
    """Return the definition of the fixture `sop_agent` if it has parameters, else `None`."""
    # pytest has no public way to ask which fixture a node gets.
    manager: Any = getattr(node.session, "_fixturemanager")  # noqa: B009 - not in pytest's types
    found: Sequence[Any] = manager.getfixturedefs(AGENT, node) or ()
    return found[-1] if found and found[-1].params else None


def parametrize_agent(metafunc: pytest.Metafunc) -> None:
    """Give a test every agent of its fixture, which it may reach through `sop_run` alone."""
    fixture = agent_fixture(metafunc.definition)
    if fixture is None or AGENT in metafunc.fixturenames or marked_agent(metafunc.definition):
        # pytest has seen to a fixture that the test itself asks for.
        return
    # pytest refuses a parameter that it knows of no use for; `sop_run` asks for it late.
    metafunc.fixturenames.append(AGENT)
    ids = [label.encode("ascii", "backslashreplace").decode() for label in _labels(fixture)]
    metafunc.parametrize(AGENT, fixture.params, indirect=True, ids=ids, scope=fixture.scope)
    metafunc.fixturenames.remove(AGENT)


def agents_of(metafunc: pytest.Metafunc, agent: str) -> Sequence[str]:
    """Return what the runs of a test are filed under: its one agent, or one for each parameter."""
    if marked_agent(metafunc.definition):
        return (agent,)
    # pytest has no public way to ask for the parameters that were given so far.
    calls: Sequence[Any] = getattr(metafunc, "_calls", ())
    labels = (agent_of(metafunc.definition, call, agent) for call in calls)
    return tuple(dict.fromkeys(labels)) or (agent,)


def agent_of(node: pytest.Item | pytest.Collector, call: Any, agent: str) -> str:
    """Return what the runs of an item are filed under.

    Args:
        node: the item, or its test.
        call: its `callspec`.
        agent: what they are filed under where the agent is no parameter.
    """
    params: Mapping[str, object] = call.params
    if AGENT not in params:
        return agent
    place: int = call.indices[AGENT]
    fixture = agent_fixture(node)
    labels = _labels(fixture) if fixture is not None else ()
    if place < len(labels):
        return of_parameter(labels[place])
    return of_parameter(_label(params[AGENT], place))


def callspecs(item: pytest.Function, fixture: Any) -> Sequence[Any]:
    """Return a `callspec` for each parameter of the fixture, as pytest gives them to tests."""
    info: Any = getattr(item, "_fixtureinfo")  # noqa: B009 - not in pytest's types
    metafunc: Any = pytest.Metafunc(item, info, item.config, _ispytest=True)  # type: ignore[arg-type]  # pyright: ignore[reportArgumentType] - the definition of a test is a function as well
    metafunc.fixturenames = [*info.names_closure, AGENT]
    metafunc.parametrize(AGENT, fixture.params, indirect=True, scope=fixture.scope)
    calls: Sequence[Any] = metafunc._calls  # noqa: SLF001 - not in pytest's types
    return calls


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
