"""The agent's object: every way to call a tool, and every shape in which tools are shown."""

from __future__ import annotations

import asyncio
import inspect
import threading
from typing import Any, Literal, get_type_hints

import pytest

from pytest_sopbench._core.model.task import ToolSpec
from pytest_sopbench._running.tools.domain_code import annotation
from pytest_sopbench.errors import ToolError, UnknownToolError

PARCEL = "class ParcelManager:\n    def process_tool_call(self, name, arguments):\n        "


def test_execute_tool_returns_the_tools_own_mapping(bench: Any) -> None:
    result = bench.toolbox().tools.execute_tool("get_score", {"parcel_id": "PX1"})

    assert {"score": 4} == result


def test_execute_tool_wraps_what_is_no_mapping(bench: Any) -> None:
    result = bench.toolbox(bench.lookup(result=["a"])).tools.execute_tool("get_score", {})

    assert {"result": ["a"]} == result


def test_execute_tool_never_raises(bench: Any) -> None:
    toolbox = bench.toolbox()

    results = [
        toolbox.tools.execute_tool("no_such_tool", {}),
        toolbox.tools.execute_tool("get_score"),
        toolbox.tools.execute_tool("get_score", 7),
        toolbox.tools.execute_tool(None, {}),
    ]

    assert [["error"]] * 4 == [list(result) for result in results]
    assert 4 == len(toolbox.calls)


def test_a_parameter_may_have_any_name(bench: Any) -> None:
    toolbox = bench.toolbox()

    toolbox.tools.call("send_letter", name="Ada", self="me", tool="x")

    assert {"name": "Ada", "self": "me", "tool": "x"} == toolbox.calls[0].arguments


def test_acall_returns_or_raises_as_call_does(bench: Any) -> None:
    toolbox = bench.toolbox()

    async def agent() -> Any:
        with pytest.raises(UnknownToolError):
            await toolbox.tools.acall("nothing")
        return await toolbox.tools.acall("get_score", parcel_id="PX1")

    assert {"score": 4} == asyncio.run(agent())
    assert 2 == len(toolbox.calls)


def test_a_slow_tool_does_not_hold_up_the_loop(bench: Any) -> None:
    """The manager waits for something that only the loop it was called from can do."""
    source = """
import threading
class ParcelManager:
    go_on = threading.Event()
    def process_tool_call(self, name, arguments):
        if not self.go_on.wait(60):
            raise ValueError('the loop stood still')
        return 'ok'
"""
    toolbox = bench.toolbox(bench.coded(source))
    manager: Any = toolbox._desk._manager

    async def agent() -> Any:
        waiting = asyncio.create_task(toolbox.tools.acall("send_letter"))
        await asyncio.sleep(0)
        manager.go_on.set()
        return await waiting

    assert "ok" == asyncio.run(agent())


def test_a_cancelled_acall_leaves_nothing_behind(bench: Any) -> None:
    source = """
import threading
class ParcelManager:
    go_on = threading.Event()
    def process_tool_call(self, name, arguments):
        self.go_on.wait(60)
"""
    toolbox = bench.toolbox(bench.coded(source))
    manager: Any = toolbox._desk._manager

    async def agent() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(toolbox.tools.acall("send_letter"), 0.02)

    asyncio.run(agent())
    manager.go_on.set()
    for thread in threading.enumerate():
        if thread.name == "sopbench-thread":
            thread.join(60)

    assert 1 == len(toolbox.calls)


def test_acall_works_without_asyncio(bench: Any) -> None:
    """Other async libraries have loops of their own."""
    toolbox = bench.toolbox(bench.coded(PARCEL + "return 'ok'"))

    with pytest.raises(StopIteration) as end:
        toolbox.tools.acall("send_letter").send(None)

    assert "ok" == end.value.value


def test_specs_are_shown_in_each_providers_shape(bench: Any) -> None:
    tools = bench.toolbox().tools

    names = ("get_score", "send_letter")

    assert names == tools.names
    assert names == tuple(one["function"]["name"] for one in tools.openai())
    assert {"function"} == {one["type"] for one in tools.openai()}
    assert names == tuple(one["toolSpec"]["name"] for one in tools.bedrock())
    assert "parcel_id" in tools.bedrock()[0]["toolSpec"]["inputSchema"]["json"]["properties"]
    assert {"name", "description", "parameters"} == set(tools.json_schema()[0])


def test_a_shape_that_an_agent_changes_is_its_own(bench: Any) -> None:
    tools = bench.toolbox().tools

    tools.json_schema()[0]["parameters"]["properties"].clear()

    assert "parcel_id" in tools.json_schema()[0]["parameters"]["properties"]


def test_functions_carry_name_text_and_signature(bench: Any) -> None:
    function, _ = bench.toolbox().tools.functions()

    assert "get_score" == function.__name__
    assert "Return the score of a parcel." in function.__doc__
    assert "parcel_id: Id of the parcel" in function.__doc__
    assert (
        "(parcel_id: str, label: Optional[str] = None, depth: Optional[int] = None) -> Any"
        == str(inspect.signature(function)).replace("typing.", "")
    )
    assert {"parcel_id", "label", "depth", "return"} == set(get_type_hints(function))


def test_functions_take_values_by_position_and_by_name(bench: Any) -> None:
    toolbox = bench.toolbox()
    function, _ = toolbox.tools.functions()

    results = [function("PX1"), function(parcel_id="PX1", depth=2)]

    assert [{"score": 4}] * 2 == results
    assert [{"parcel_id": "PX1"}, {"parcel_id": "PX1", "depth": 2}] == [
        call.arguments for call in toolbox.calls
    ]


def test_a_bad_call_of_a_function_is_recorded_as_one(bench: Any) -> None:
    toolbox = bench.toolbox(bench.lookup(result="ok"))
    function, _ = toolbox.tools.functions()

    function(colour="red")
    function("PX1", "a", 1, "too many")

    assert [True, True] == [call.bad for call in toolbox.calls]
    assert "argument_4" in toolbox.calls[1].arguments


def test_none_for_an_optional_parameter_means_that_it_was_not_given(bench: Any) -> None:
    toolbox = bench.toolbox()
    function, _ = toolbox.tools.functions()

    function("PX1", label=None, depth=None)

    assert {"parcel_id": "PX1"} == toolbox.calls[0].arguments


def test_none_is_passed_on_where_the_spec_takes_null(bench: Any) -> None:
    spec = ToolSpec(
        name="send_letter",
        description="",
        parameters={
            "type": "object",
            "properties": {"to": {"type": ["string", "null"]}, "cc": True, "if": {"enum": [None]}},
        },
    )
    toolbox = bench.toolbox(bench.domain(tool_specs=(spec,)))

    toolbox.tools.functions()[0](to=None, cc=None, if_=None)

    assert {"to": None, "cc": None, "if": None} == toolbox.calls[0].arguments


def test_names_that_python_cannot_write_are_mapped_back(bench: Any) -> None:
    names = ("final status", "final_status", "class", "2nd")
    spec = ToolSpec(
        name="send_letter",
        description="",
        parameters={
            "type": "object",
            "properties": {name: {"type": "string"} for name in names},
            "required": list(names),
        },
    )
    toolbox = bench.toolbox(bench.domain(tool_specs=(spec,)))
    (function,) = toolbox.tools.functions()

    shown = tuple(inspect.signature(function).parameters)
    function(**dict.fromkeys(shown, "v"))

    assert ("final_status", "final_status_", "class_", "_2nd") == shown
    assert dict.fromkeys(names, "v") == toolbox.calls[0].arguments
    assert () == toolbox.calls[0].findings


def test_a_tools_error_is_text_or_raised_as_asked(bench: Any) -> None:
    tools = bench.toolbox().tools

    returned = tools.functions()[0]("PX2")

    assert "Error: no record with parcel_id = 'PX2'" == returned
    with pytest.raises(ToolError, match="PX2"):
        tools.functions(on_error="raise")[0]("PX2")


def test_async_functions_do_as_functions_do(bench: Any) -> None:
    tools = bench.toolbox().tools
    lenient, _ = tools.afunctions()
    strict, _ = tools.afunctions(on_error="raise")

    async def agent() -> list[Any]:
        with pytest.raises(ToolError):
            await strict("PX2")
        return [await lenient("PX1"), await lenient("PX2"), await strict("PX1")]

    assert inspect.iscoroutinefunction(lenient)
    assert [{"score": 4}, "Error: no record with parcel_id = 'PX2'", {"score": 4}] == asyncio.run(
        agent()
    )


@pytest.mark.parametrize(
    ("schema", "expected"),
    [
        pytest.param({"type": "string"}, str, id="text"),
        pytest.param({"type": "number"}, float, id="number"),
        pytest.param({"type": "boolean"}, bool, id="boolean"),
        pytest.param({"type": "object"}, dict[str, Any], id="object"),
        pytest.param({"type": "array", "items": {"type": "integer"}}, list[int], id="list"),
        pytest.param({"type": "array"}, list[Any], id="list-of-anything"),
        pytest.param({"enum": ["a", "b"]}, Literal["a", "b"], id="labels"),
        pytest.param({"enum": [1.5]}, Any, id="labels-that-python-cannot-name"),
        pytest.param({"type": ["string", "null"]}, str | None, id="text-or-null"),
        pytest.param({}, Any, id="unsaid"),
        pytest.param(True, Any, id="anything"),
    ],
)
def test_a_schema_becomes_the_nearest_type(schema: Any, expected: Any) -> None:
    assert expected == annotation(schema)
