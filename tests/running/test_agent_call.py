# ruff: noqa: ARG002, ARG005 - the parameters of an agent are what is tested
"""Every shape of agent is called with what it asks for by name, or refused before the first run."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import pytest

from pytest_sopbench._core.model.task import FieldType, OutputField
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench.errors import AgentSpecError

Call = Callable[..., Any]


@pytest.fixture
def call(bench: Any) -> Call:
    def make(agent: object, /, **arguments: str) -> Any:
        tools = bench.toolbox().tools
        return AgentCaller(agent, arguments).call(bench.domain(), bench.task(), tools)

    return make


def by_name(inputs: Any, sop: str) -> Any:
    return sop, inputs["parcel_id"]


class Methods:
    @staticmethod
    def static(task_id: str) -> str:
        return task_id

    @classmethod
    def of_class(cls, task_id: str) -> str:
        return task_id

    def bound(self, task_id: str) -> str:
        return task_id


class Execute:
    def execute(self, sop: str, task: Any, tools: Any) -> Any:
        return task["parcel_id"], tools.execute_tool("get_score", {"parcel_id": "PX1"})


class Everything:
    def __call__(self, inputs: Any) -> str:
        return "called"

    def run(self, inputs: Any) -> str:
        return "run"

    def execute(self, inputs: Any) -> str:
        return "executed"


class Runs:
    def __call__(self, inputs: Any) -> str:
        return "called"

    def run(self, inputs: Any) -> str:
        return "run"


class Called:
    def __call__(self, inputs: Any) -> str:
        return "called"


class CalledByClass:
    @staticmethod
    def run(task_id: str) -> str:
        return task_id


class RunsByClassMethod:
    @classmethod
    def run(cls, task_id: str) -> str:
        return f"{cls.__name__} {task_id}"


def test_parameters_are_filled_by_name(call: Call) -> None:
    assert ("Put the parcel on its shelf.", "PX1") == call(by_name)


def test_every_promised_parameter_is_filled(call: Call, bench: Any) -> None:
    def agent(sop: Any, inputs: Any, task: Any, tools: Any, task_id: Any, domain: Any) -> Any:
        return sop, inputs, task, tools, task_id, domain

    sop, inputs, task, tools, task_id, domain = call(agent)

    assert bench.task().inputs == inputs
    assert task is inputs
    assert ("Put the parcel on its shelf.", "PX1", "parcels") == (sop, task_id, domain)
    assert ("get_score", "send_letter") == tools.names


def test_output_fields_tell_allowed_values_or_the_type(bench: Any) -> None:
    fields = (*bench.domain().fields, OutputField(name="count", type=FieldType.INTEGER))
    caller = AgentCaller(lambda output_fields: output_fields)

    told = caller.call(bench.domain(fields=fields), bench.task(), bench.toolbox().tools)

    assert {"shelf": ["A", "B"], "count": "integer"} == told


def test_inputs_are_a_fresh_copy_for_each_run(bench: Any) -> None:
    task = bench.task(inputs={"parts": ["a"]})
    caller = AgentCaller(lambda inputs: inputs)
    tools = bench.toolbox().tools

    first: Any = caller.call(bench.domain(), task, tools)
    first["parts"].append("b")

    assert {"parts": ["a"]} == caller.call(bench.domain(), task, tools) == task.inputs


@pytest.mark.parametrize(
    ("agent", "expected"),
    [
        pytest.param(lambda task_id: task_id, "PX1", id="lambda"),
        pytest.param(lambda task_id, /: task_id, "PX1", id="positional-only"),
        pytest.param(Methods().bound, "PX1", id="bound-method"),
        pytest.param(Methods.static, "PX1", id="static-method"),
        pytest.param(Methods.of_class, "PX1", id="class-method"),
        pytest.param(functools.partial(lambda a, task_id: a + task_id, "p"), "pPX1", id="partial"),
        pytest.param(
            functools.partial(lambda task_id, *, a: a + task_id, a="k"),
            "kPX1",
            id="keyword-partial",
        ),
        pytest.param(Everything(), "executed", id="execute-first"),
        pytest.param(Everything, "executed", id="class-execute-first"),
        pytest.param(Runs(), "run", id="run-second"),
        pytest.param(Runs, "run", id="class-run-second"),
        pytest.param(Called(), "called", id="call-last"),
        pytest.param(Called, "called", id="class-call-last"),
        pytest.param(Execute(), ("PX1", {"score": 4}), id="sop-bench-instance"),
        pytest.param(Execute, ("PX1", {"score": 4}), id="sop-bench-class"),
        pytest.param(CalledByClass, "PX1", id="class-with-static-method"),
        pytest.param(RunsByClassMethod, "RunsByClassMethod PX1", id="class-with-class-method"),
    ],
)
def test_each_shape_is_called(call: Call, agent: object, expected: object) -> None:
    assert expected == call(agent)


def test_a_wrapped_function_is_filled_as_the_one_it_wraps(call: Call) -> None:
    @functools.wraps(by_name)
    def wrapper(*args: Any, **kwargs: Any) -> Any:
        return by_name(*args, **kwargs)

    assert "PX1" == call(wrapper)[1]


def test_a_class_is_made_once_per_run(bench: Any) -> None:
    caller = AgentCaller(type("Agent", (), {"run": lambda self: self}))
    tools = bench.toolbox().tools

    first, second = (caller.call(bench.domain(), bench.task(), tools) for _ in range(2))

    assert first is not second


def test_parameters_with_defaults_are_left_alone(call: Call) -> None:
    assert ("default", 1) == call(lambda sop="default", x=1: (sop, x))


def test_an_agent_argument_fills_a_parameter_with_a_default(call: Call) -> None:
    assert "gpt" == call(lambda inputs, model="none": model, model="gpt")


def test_an_agent_argument_reaches_the_constructor_and_the_method(call: Call) -> None:
    class Agent:
        def __init__(self, model: str, depth: int = 2) -> None:
            self.told = (model, depth)

        def run(self, inputs: Any, model: str, style: str) -> Any:
            return self.told, model, style

    assert (("m", 2), "m", "terse") == call(Agent, model="m", style="terse")


def test_a_positional_default_before_an_agent_argument_is_kept(call: Call) -> None:
    def agent(depth: int = 3, model: str = "none", other: int = 4, /) -> Any:
        return depth, model, other

    assert (3, "gpt", 4) == call(agent, model="gpt")


def test_var_arguments_receive_nothing(call: Call) -> None:
    assert ((), {}) == call(lambda *args, **kwargs: (args, kwargs))


def test_a_late_value_is_read_at_each_run(bench: Any) -> None:
    environment = {"KEY": "first-secret"}
    caller = AgentCaller(lambda key: key, {"key": "env:KEY"}, environment=environment)
    tools = bench.toolbox().tools

    first = caller.call(bench.domain(), bench.task(), tools)
    environment["KEY"] = "two"
    second = caller.call(bench.domain(), bench.task(), tools)

    assert ("first-secret", "two") == (first, second)
    assert "first-secret" not in repr(vars(caller))


async def an_async_agent(inputs: Any) -> None: ...


class AsyncRun:
    async def run(self) -> None: ...


@pytest.mark.parametrize(
    ("agent", "is_async"),
    [
        pytest.param(an_async_agent, True, id="function"),
        pytest.param(functools.partial(an_async_agent), True, id="partial"),
        pytest.param(AsyncRun, True, id="class"),
        pytest.param(AsyncRun().run, True, id="bound-method"),
        pytest.param(AsyncRun(), True, id="instance"),
        pytest.param(by_name, False, id="sync"),
    ],
)
def test_async_agents_are_known_before_they_run(agent: object, is_async: bool) -> None:
    assert is_async is AgentCaller(agent).is_async


def test_an_async_agent_returns_an_awaitable(call: Call) -> None:
    value = call(an_async_agent)

    assert inspect.isawaitable(value)
    value.close()


class NeedsArgument:
    def __init__(self, model: str) -> None: ...

    def run(self) -> None: ...


class Nothing:
    pass


@pytest.mark.parametrize(
    ("agent", "arguments", "said"),
    [
        pytest.param(lambda prompt: 1, {}, "needs the parameter 'prompt'", id="unfillable"),
        pytest.param(NeedsArgument, {}, r"NeedsArgument\(\) needs .* 'model'", id="constructor"),
        pytest.param(by_name, {"modle": "x"}, "'modle': the agent has no parameter", id="unknown"),
        pytest.param(lambda **k: 1, {"model": "x"}, "has no parameter of that name", id="kwargs"),
        pytest.param(by_name, {"sop": "x"}, "'sop': every run fills", id="reserved"),
        pytest.param(
            lambda key: key,
            {"key": "env:NOT_SET"},
            "the environment has no variable 'NOT_SET'",
            id="missing-variable",
        ),
        pytest.param(3, {}, "int object is not an agent", id="number"),
        pytest.param(Nothing, {}, "class Nothing is not an agent", id="class-without-method"),
        pytest.param(Nothing(), {}, "Nothing object is not an agent", id="object-without-method"),
        pytest.param(dict.fromkeys, {}, "cannot be read|needs the parameter", id="built-in"),
        pytest.param(max, {}, "the parameters of max cannot be read", id="no-signature"),
    ],
)
def test_what_cannot_be_called_as_an_agent_is_refused_at_set_up(
    agent: object, arguments: dict[str, str], said: str
) -> None:
    with pytest.raises(AgentSpecError, match=said):
        AgentCaller(agent, arguments, environment={})


def test_an_unknown_argument_is_told_with_those_that_there_are() -> None:
    def agent(inputs: Any, model: str = "m", seed: int = 0) -> None: ...

    with pytest.raises(AgentSpecError, match="of that name\nit may be given model, seed"):
        AgentCaller(agent, {"mode": "x"})
