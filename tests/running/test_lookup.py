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
