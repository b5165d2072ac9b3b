"""The agent's object: every way to call a tool, and every shape in which tools are shown."""

from __future__ import annotations

import asyncio
import inspect
import sys
import threading
from pathlib import Path
from typing import Any, Literal, get_type_hints

import pytest

from pytest_sopbench._core.model.task import ToolSpec
from pytest_sopbench._running.tools.codeless import equals_cell
from pytest_sopbench._running.tools.domain_code import annotation, load_manager_factory, load_policy
from pytest_sopbench._running.tools.toolbox import ToolboxFactory
from pytest_sopbench.errors import (
    LoadingError,
    ToolArgumentError,
    ToolError,
    ToolSpecError,
    UnknownToolError,
)

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
    assert 4 == len(toolbox.log.calls)


def test_a_parameter_may_have_any_name(bench: Any) -> None:
    toolbox = bench.toolbox()

    toolbox.tools.call("send_letter", name="Ada", self="me", tool="x")

    assert {"name": "Ada", "self": "me", "tool": "x"} == toolbox.log.calls[0].arguments


def test_acall_returns_or_raises_as_call_does(bench: Any) -> None:
    toolbox = bench.toolbox()

    async def agent() -> Any:
        with pytest.raises(UnknownToolError):
            await toolbox.tools.acall("nothing")
        return await toolbox.tools.acall("get_score", parcel_id="PX1")

    assert {"score": 4} == asyncio.run(agent())
    assert 2 == len(toolbox.log.calls)


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
    manager: Any = toolbox._manager

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
    manager: Any = toolbox._manager

    async def agent() -> None:
        with pytest.raises(TimeoutError):
            await asyncio.wait_for(toolbox.tools.acall("send_letter"), 0.02)

    asyncio.run(agent())
    manager.go_on.set()
    for thread in threading.enumerate():
        if thread.name == "sopbench-thread":
            thread.join(60)

    assert 1 == len(toolbox.log.calls)


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
        call.arguments for call in toolbox.log.calls
    ]


def test_a_bad_call_of_a_function_is_recorded_as_one(bench: Any) -> None:
    toolbox = bench.toolbox(bench.lookup(result="ok"))
    function, _ = toolbox.tools.functions()

    function(colour="red")
    function("PX1", "a", 1, "too many")

    assert [True, True] == [call.bad for call in toolbox.log.calls]
    assert "argument_4" in toolbox.log.calls[1].arguments


def test_none_for_an_optional_parameter_means_that_it_was_not_given(bench: Any) -> None:
    toolbox = bench.toolbox()
    function, _ = toolbox.tools.functions()

    function("PX1", label=None, depth=None)

    assert {"parcel_id": "PX1"} == toolbox.log.calls[0].arguments


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

    assert {"to": None, "cc": None, "if": None} == toolbox.log.calls[0].arguments


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
    assert dict.fromkeys(names, "v") == toolbox.log.calls[0].arguments
    assert () == toolbox.log.calls[0].findings


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


# What a look-up tool serves, and what it never serves.


def test_columns_of_the_row_are_served_by_name(bench: Any) -> None:
    toolbox = bench.toolbox(bench.lookup(key=("parcel_id",), returns=("score", "note")))

    result = toolbox.tools.call("get_score", parcel_id="PX1")

    assert {"score": 4, "note": None} == result


def test_a_constant_is_served_where_no_column_is_named(bench: Any) -> None:
    toolbox = bench.toolbox()

    result = toolbox.tools.call("send_letter", to="Ada")

    assert {"status": "sent"} == result


def test_another_record_cannot_be_looked_up(bench: Any) -> None:
    toolbox = bench.toolbox()

    with pytest.raises(ToolArgumentError, match="no record with parcel_id = 'PX2'"):
        toolbox.tools.call("get_score", parcel_id="PX2")


def test_a_key_that_is_not_given_is_named(bench: Any) -> None:
    toolbox = bench.toolbox()

    with pytest.raises(ToolArgumentError, match="'parcel_id' is missing"):
        toolbox.tools.call("get_score")


def test_a_long_wrong_key_is_cut_in_the_message(bench: Any) -> None:
    toolbox = bench.toolbox()

    with pytest.raises(ToolArgumentError) as caught:
        toolbox.tools.call("get_score", parcel_id="x" * 5_000)

    assert len(str(caught.value)) < 200


@pytest.mark.parametrize(
    "label",
    [
        pytest.param("Fragile  glass", id="as-written"),
        pytest.param(" Fragile\n glass ", id="other-white-space"),
    ],
)
def test_a_checked_argument_matches_but_for_white_space(bench: Any, label: str) -> None:
    toolbox = bench.toolbox(bench.lookup(check=("label",), returns=("score",)))

    result = toolbox.tools.call("get_score", parcel_id="PX1", label=label)

    assert {"score": 4} == result


def test_a_checked_argument_that_differs_is_refused(bench: Any) -> None:
    toolbox = bench.toolbox(bench.lookup(check=("label",), returns=("score",)))

    with pytest.raises(ToolArgumentError, match="label does not match the record: 'fragile glass'"):
        toolbox.tools.call("get_score", parcel_id="PX1", label="fragile glass")


def test_empty_columns_are_an_error_where_the_tool_says_so(bench: Any) -> None:
    toolbox = bench.toolbox(bench.lookup(returns=("note",)))

    with pytest.raises(ToolError, match="get_score: the record has no note"):
        toolbox.tools.call("get_score", parcel_id="PX1")


def test_empty_columns_are_nulls_where_the_tool_says_so(bench: Any) -> None:
    toolbox = bench.toolbox(bench.lookup(returns=("note",), missing="null"))

    result = toolbox.tools.call("get_score", parcel_id="PX1")

    assert {"note": None} == result


@pytest.mark.parametrize("place", ["key", "check", "returns"])
@pytest.mark.parametrize(
    ("column", "why"),
    [pytest.param("shelf", "output", id="output"), pytest.param("note", "private", id="private")],
)
def test_a_tool_that_would_leak_is_refused_at_set_up(
    bench: Any, place: str, column: str, why: str
) -> None:
    domain = bench.lookup(**{place: (column,)})
    object.__setattr__(domain, "private_columns", frozenset({"note"}))

    with pytest.raises(ToolSpecError, match=f"'{column}' is (an|a) {why} column"):
        ToolboxFactory(domain)


@pytest.mark.parametrize(
    ("given", "cell", "equal"),
    [
        pytest.param("007", "007", True, id="text"),
        pytest.param("7", "007", False, id="text-is-exact"),
        pytest.param(7, "7", False, id="number-for-text"),
        pytest.param(12.5, 12.5, True, id="number"),
        pytest.param("12.50", 12.5, True, id="number-as-written"),
        pytest.param("twelve", 12, False, id="words-for-number"),
        pytest.param(1, True, False, id="number-for-boolean"),
        pytest.param(True, 1, False, id="boolean-for-number"),
        pytest.param("1", True, False, id="one-for-true-as-written"),
        pytest.param("True", True, True, id="boolean-as-python-writes"),
        pytest.param("true", True, True, id="boolean-as-json-writes"),
        pytest.param("", None, True, id="empty"),
        pytest.param("None", None, False, id="none-for-empty"),
        pytest.param(None, None, True, id="null"),
        pytest.param("['a', 'b']", ["a", "b"], True, id="list-as-python-writes"),
        pytest.param('["a", "b"]', ["a", "b"], True, id="list-as-json-writes"),
        pytest.param(["a"], ["a"], True, id="list"),
        pytest.param('"4"', 4, False, id="quoted-number"),
        pytest.param("9" * 5_000, 4, False, id="endless-digits"),
    ],
)
def test_an_argument_equals_the_typed_cell_or_the_cell_as_written(
    given: Any, cell: Any, equal: bool
) -> None:
    assert equal is equals_cell(given, cell)


LEGS = (
    {"leg": 1, "hub": "Kiel", "days": 2, "stops": ["Ulm", "Hof"]},
    {"leg": 2, "hub": "Graz", "days": None, "stops": []},
    {"leg": 3, "hub": "Kiel", "days": 5, "stops": None},
)


@pytest.fixture
def legs(bench: Any) -> Any:
    """A toolbox whose `get_score` looks in the task's legs; keywords are those of the tool."""

    def make(**changes: Any) -> Any:
        domain = bench.lookup(table="legs", **changes)
        task = bench.task(tables={"legs": LEGS})
        factory = ToolboxFactory(domain)
        return factory.open(task, max_calls=9, clock=lambda: 0.0).tools

    return make


def test_a_result_depends_on_the_argument(legs: Any) -> None:
    tools = legs(record_key=("leg",), returns=("hub",))

    assert {"hub": "Kiel"} == tools.call("get_score", leg=1)
    assert {"hub": "Graz"} == tools.call("get_score", leg="2")


def test_all_records_that_fit_are_served_where_there_may_be_many(legs: Any) -> None:
    tools = legs(record_key=("hub",), returns=("leg", "days"), many=True)

    assert [{"leg": 1, "days": 2}, {"leg": 3, "days": 5}] == tools.call("get_score", hub="Kiel")


def test_many_without_a_key_are_all_and_keep_empty_columns(legs: Any) -> None:
    tools = legs(returns=("days",), many=True)

    assert [{"days": 2}, {"days": None}, {"days": 5}] == tools.call("get_score")


@pytest.mark.parametrize(
    ("many", "expected"),
    [
        pytest.param(False, ["Ulm", "Hof"], id="one"),
        pytest.param(True, [["Ulm", "Hof"]], id="many"),
    ],
)
def test_a_bare_column_is_served_as_it_is(legs: Any, many: bool, expected: object) -> None:
    tools = legs(record_key=("leg",), returns=("stops",), bare=True, many=many)

    assert expected == tools.call("get_score", leg=1)


def test_an_argument_without_a_record_fails_and_is_named(legs: Any) -> None:
    tools = legs(record_key=("leg", "hub"), returns=("days",))

    with pytest.raises(ToolArgumentError, match=r"^no record with leg = 9 and hub = 'Kiel'$"):
        tools.call("get_score", leg=9, hub="Kiel")


@pytest.mark.parametrize(
    "changes", [pytest.param({}, id="one"), pytest.param({"many": True}, id="many")]
)
def test_nothing_is_made_up_for_a_key_that_is_not_there(legs: Any, changes: Any) -> None:
    tools = legs(record_key=("leg",), returns=("days",), missing="null", **changes)

    with pytest.raises(ToolArgumentError, match="no record with leg = 9"):
        tools.call("get_score", leg=9)


def test_many_may_be_none_where_the_tool_says_so(legs: Any) -> None:
    tools = legs(record_key=("leg",), returns=("days",), many=True, not_found="empty")

    assert [] == tools.call("get_score", leg=9)


def test_a_record_that_says_nothing_is_an_error_or_null_as_the_tool_says(legs: Any) -> None:
    strict = legs(record_key=("leg",), returns=("days",))
    loose = legs(record_key=("leg",), returns=("days",), missing="null")

    with pytest.raises(ToolError, match="the record has no days"):
        strict.call("get_score", leg=2)
    assert {"days": None} == loose.call("get_score", leg=2)


def test_the_row_is_asked_before_the_records(legs: Any) -> None:
    tools = legs(key=("parcel_id",), record_key=("leg",), returns=("hub",))

    with pytest.raises(ToolArgumentError, match="no record with parcel_id = 'PX2'"):
        tools.call("get_score", parcel_id="PX2", leg=1)


def test_a_parameter_may_have_another_name_than_its_column(legs: Any) -> None:
    columns = {"parcel": "parcel_id", "number": "leg"}
    tools = legs(key=("parcel",), record_key=("number",), columns=columns, returns=("hub",))

    assert {"hub": "Graz"} == tools.call("get_score", parcel="PX1", number=2)


def test_what_an_agent_does_to_a_record_changes_no_other_call(legs: Any) -> None:
    tools = legs(record_key=("leg",), returns=("stops",))

    tools.call("get_score", leg=1)["stops"].clear()

    assert {"stops": ["Ulm", "Hof"]} == tools.call("get_score", leg=1)


def test_a_list_in_a_cell_of_the_row_is_looked_in_as_well(bench: Any) -> None:
    domain = bench.lookup(table="legs", record_key=("leg",), returns=("hub",))
    task = bench.task(results={"legs": list(LEGS)})

    tools = ToolboxFactory(domain).open(task, max_calls=9, clock=lambda: 0.0).tools

    assert {"hub": "Graz"} == tools.call("get_score", leg=2)


# A domain's own code: found, imported apart from all other code, and kept in check.

MANAGER = "class ParcelManager:\n    def process_tool_call(self, name, arguments):\n        "


def call(bench: Any, source: str, name: str = "send_letter", **arguments: Any) -> Any:
    return bench.toolbox(bench.coded(source)).tools.call(name, **arguments)


def test_a_manager_serves_under_the_name_that_was_called(bench: Any) -> None:
    result = call(bench, MANAGER + "return {name: arguments}", to="Ada")

    assert {"send_letter": {"to": "Ada"}} == result


def test_a_look_up_tool_stands_before_the_manager(bench: Any) -> None:
    domain = bench.coded(MANAGER + "return 'coded'", lookups=bench.domain().lookups)

    assert {"score": 4} == bench.toolbox(domain).tools.call("get_score", parcel_id="PX1")


def test_each_run_has_its_own_manager(bench: Any) -> None:
    domain = bench.coded(
        "class ParcelManager:\n"
        "    def __init__(self): self.calls = 0\n"
        "    def process_tool_call(self, name, arguments):\n"
        "        self.calls += 1\n"
        "        return self.calls\n"
    )
    factory = load_manager_factory(domain)

    first, second = factory(bench.task()), factory(bench.task())
    first.process_tool_call("send_letter", {})

    assert 1 == second.process_tool_call("send_letter", {})


def test_row_and_folder_are_filled_without_the_expected_answer(bench: Any) -> None:
    source = (
        "class ParcelManager:\n"
        "    def __init__(self, domain_dir, row=None, other=3):\n"
        "        self.told = {'row': row, 'dir': str(domain_dir), 'other': other}\n"
        "    def process_tool_call(self, name, arguments):\n"
        "        return self.told\n"
    )

    told = call(bench, source)

    task = bench.task()
    assert {**task.inputs, **task.results} == told["row"]
    assert str(bench.folder) == told["dir"]
    assert 3 == told["other"]


def test_a_manager_cannot_change_the_row_of_another_run(bench: Any) -> None:
    source = (
        "class ParcelManager:\n"
        "    def __init__(self, row): self.row = row\n"
        "    def process_tool_call(self, name, arguments):\n"
        "        self.row['parts'].append('c')\n"
        "        return self.row['parts']\n"
    )
    task = bench.task()
    domain = bench.coded(source)

    served = [bench.toolbox(domain, task=task).tools.call("send_letter") for _ in range(2)]

    assert [["a", "b", "c"]] * 2 == served


def test_a_manager_cannot_rewrite_the_record(bench: Any) -> None:
    toolbox = bench.toolbox(
        bench.coded(
            "class ParcelManager:\n"
            "    kept = []\n"
            "    def process_tool_call(self, name, arguments):\n"
            "        arguments['to'] = 'changed'\n"
            "        self.kept.append(name)\n"
            "        return self.kept\n"
        )
    )

    for _ in range(2):
        toolbox.tools.call("send_letter", to="Ada")

    assert [{"to": "Ada"}] * 2 == [one.arguments for one in toolbox.log.calls]
    assert ["send_letter"] == toolbox.log.calls[0].result


@pytest.mark.parametrize(
    ("statement", "said"),
    [
        pytest.param("raise ValueError('no such parcel')", "no such parcel", id="refusal"),
        pytest.param("raise KeyError('PX1')", "KeyError: 'PX1'", id="fault"),
        pytest.param("raise ValueError", "ValueError", id="no-text"),
        pytest.param("raise SystemExit(3)", "SystemExit: 3", id="exit"),
        pytest.param("assert False, 'odd'", "AssertionError: odd", id="assertion"),
    ],
)
def test_whatever_a_manager_raises_is_a_tool_error_on_record(
    bench: Any, statement: str, said: str
) -> None:
    toolbox = bench.toolbox(bench.coded(MANAGER + statement))

    with pytest.raises(ToolError) as caught:
        toolbox.tools.call("send_letter")

    assert said == str(caught.value) == toolbox.log.calls[0].error
    assert caught.value.__cause__ is caught.value.__context__ is None
    assert not toolbox.log.calls[0].bad


def test_a_manager_may_raise_our_own_error(bench: Any) -> None:
    source = "from pytest_sopbench.errors import ToolArgumentError\n" + MANAGER

    with pytest.raises(ToolError, match=r"^not that one$"):
        call(bench, source + "raise ToolArgumentError('not that one')")


def test_an_exception_without_readable_text_is_still_told(bench: Any) -> None:
    source = "class Odd(Exception):\n    def __str__(self): raise RuntimeError\n" + MANAGER

    with pytest.raises(ToolError, match="Odd: <its text cannot be read: RuntimeError>"):
        call(bench, source + "raise Odd")


def test_ctrl_c_inside_a_manager_is_no_tool_error(bench: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        call(bench, MANAGER + "raise KeyboardInterrupt")


def test_what_a_manager_prints_goes_to_the_runs_output(
    bench: Any, capfd: pytest.CaptureFixture[str]
) -> None:
    source = (
        "import sys\n"
        "print('importing')\n"
        "class ParcelManager:\n"
        "    def __init__(self): print('making')\n"
        "    def process_tool_call(self, name, arguments):\n"
        "        print('serving', name); print('oh', file=sys.stderr)\n"
    )
    toolbox = bench.toolbox(bench.coded(source))

    toolbox.tools.call("send_letter")

    assert "making\nserving send_letter\noh\n" == toolbox.output.text
    assert ("", "") == capfd.readouterr()


def test_a_managers_result_is_said_in_plain_words(bench: Any) -> None:
    assert {"when": "2026-01-02", "where": "/x"} == call(
        bench,
        "import datetime, pathlib\n"
        + MANAGER
        + "return {'when': datetime.date(2026, 1, 2), 'where': pathlib.PurePosixPath('/x')}",
    )


def test_an_imported_manager_is_not_the_domains_own(bench: Any) -> None:
    source = "from logging import Manager as LogManager, Manager\n" + MANAGER + "return 'own'"

    assert "own" == call(bench, source)


def test_a_base_beside_its_heir_is_no_rival(bench: Any) -> None:
    source = MANAGER + "return self.word\nclass PostManager(ParcelManager):\n    word = 'heir'\n"

    assert "heir" == call(bench, source)


@pytest.mark.parametrize(
    ("source", "said"),
    [
        pytest.param("", "no class defined here", id="none"),
        pytest.param("class ParcelManager: pass", "no class defined here", id="no-method"),
        pytest.param(
            MANAGER + "...\nclass B" + MANAGER[6:] + "...",
            "more than one manager is defined here: BParcelManager, ParcelManager",
            id="two",
        ),
        pytest.param("x = 1\nx +", "row 2: it cannot be imported: SyntaxError", id="syntax"),
        pytest.param("\n\nx = y", "row 3: it cannot be imported: NameError", id="name"),
        pytest.param("raise SystemExit", "row 1: it cannot be imported: SystemExit", id="exit"),
        pytest.param(
            MANAGER + "...\n    def __init__(self, db): ...",
            r"ParcelManager\(\) needs 'db'",
            id="unknown-parameter",
        ),
        pytest.param(
            "class Meta(type):\n    def __getattribute__(kind, name): raise OSError(name)\n"
            "class ParcelManager(metaclass=Meta):\n    def process_tool_call(*_): ...",
            "row 2: it cannot be looked at: OSError: __module__",
            id="hostile-class",
        ),
        pytest.param(
            "class Meta(type):\n    def __getattribute__(kind, name): raise OSError(name)\n"
            "class Odd(Exception, metaclass=Meta): ...\nraise Odd('no data')",
            "row 4: it cannot be imported: Odd: no data",
            id="hostile-exception",
        ),
    ],
)
def test_a_tools_file_that_cannot_be_used_is_a_fault_of_the_set_up(
    bench: Any, source: str, said: str
) -> None:
    with pytest.raises(ToolSpecError, match=said):
        load_manager_factory(bench.coded(source))


def test_a_manager_that_cannot_be_made_is_a_fault_of_the_set_up(bench: Any) -> None:
    source = MANAGER + "...\n    def __init__(self): raise OSError('no data')"

    with pytest.raises(
        ToolSpecError, match=r"row 4.*cannot be made for task PX1: OSError: no data"
    ):
        bench.toolbox(bench.coded(source))


def test_ctrl_c_while_code_is_imported_or_made_stops_everything(bench: Any) -> None:
    with pytest.raises(KeyboardInterrupt):
        load_manager_factory(bench.coded("raise KeyboardInterrupt"))
    with pytest.raises(KeyboardInterrupt):
        bench.toolbox(bench.coded(MANAGER + "...\n    def __init__(self): raise KeyboardInterrupt"))


def test_importing_leaves_no_trace_in_the_process_or_the_folder(bench: Any) -> None:
    (bench.folder / "shelves.py").write_text("ROOM = 'cold'\n")
    domain = bench.coded("import shelves\n" + MANAGER + "return shelves.ROOM")
    path, modules = list(sys.path), set(sys.modules)

    result = bench.toolbox(domain).tools.call("send_letter")

    assert "cold" == result
    assert path == sys.path
    new = sys.modules.keys() - modules
    assert all(name.startswith("_sopbench_domain_") for name in new)
    assert [] == list(bench.folder.glob("__pycache__/tools*"))


def test_two_domains_with_files_of_one_name_stay_apart(tmp_path: Path, bench: Any) -> None:
    results = []
    for word in ("cold", "warm"):
        bench.folder = tmp_path / word
        bench.folder.mkdir()
        (bench.folder / "shelves.py").write_text(f"ROOM = {word!r}\n")
        domain = bench.coded("import shelves\n" + MANAGER + "return shelves.ROOM")
        results.append(bench.toolbox(domain).tools.call("send_letter"))

    assert ["cold", "warm"] == results


def test_code_may_clear_the_path_by_itself(bench: Any) -> None:
    source = "import sys\nsys.path.remove(__file__.rpartition('/')[0])\n" + MANAGER + "return 1"

    assert 1 == call(bench, source)


def test_code_may_define_dataclasses(bench: Any) -> None:
    source = (
        "from __future__ import annotations\nfrom dataclasses import dataclass\n"
        "@dataclass\nclass Parcel:\n    id: str\n" + MANAGER + "return Parcel('PX1')"
    )

    assert {"id": "PX1"} == call(bench, source)


def test_a_domain_without_code_has_no_manager_and_no_policy(bench: Any) -> None:
    with pytest.raises(ToolSpecError, match=r"has no tools\.py"):
        load_manager_factory(bench.domain())
    with pytest.raises(LoadingError, match=r"has no policy\.py"):
        load_policy(bench.domain())


def test_a_policy_decides_over_inputs_and_tools(bench: Any) -> None:
    path = bench.folder / "policy.py"
    path.write_text(
        "def decide(inputs, call):\n    return {'shelf': call('get_score', **inputs)}\n"
    )

    decide = load_policy(bench.domain(policy_file=path))

    assert {"shelf": ("get_score", {"a": 1})} == decide({"a": 1}, lambda name, **a: (name, a))


@pytest.mark.parametrize(
    ("source", "said"),
    [
        pytest.param("decide = 3", "defines no function 'decide'", id="no-function"),
        pytest.param(
            "def __getattr__(name): raise OSError(name)",
            "row 1: it cannot be looked at: OSError: decide",
            id="hostile-module",
        ),
        pytest.param("import nothing_of_that_name", "row 1: .*ModuleNotFoundError", id="import"),
    ],
)
def test_a_policy_that_cannot_be_used_is_told(bench: Any, source: str, said: str) -> None:
    path = bench.folder / "policy.py"
    path.write_text(source)

    with pytest.raises(LoadingError, match=said):
        load_policy(bench.domain(policy_file=path))
