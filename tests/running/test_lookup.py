"""What a look-up tool serves, and what it never serves."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_sopbench._running.tools.lookup import equals_cell
from pytest_sopbench._running.tools.toolbox import ToolboxFactory
from pytest_sopbench.errors import ToolArgumentError, ToolError, ToolSpecError


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
