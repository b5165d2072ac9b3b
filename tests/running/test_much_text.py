"""A hundred megabytes where a line was expected: refused as a whole, and said so, at once."""

from __future__ import annotations

from typing import Any

import pytest

from pytest_sopbench._core.answers.find import read_returned
from pytest_sopbench._core.model.trace import FindingKind, ReturnedKind
from pytest_sopbench._core.values.json import TEXT_LIMIT
from pytest_sopbench.errors import ToolError

MUCH = "x" * 100_000_000
RETURNING = """
class ParcelManager:
    def process_tool_call(self, name, arguments):
        return ["x" * 1_000_000] * 5
"""


@pytest.mark.parametrize(
    "value",
    [
        pytest.param(MUCH, id="a text"),
        pytest.param(f'{{"route": "north"}} {MUCH} {{"route": "south"}}', id="with answers around"),
        pytest.param({"route": MUCH}, id="a field"),
        pytest.param({"route": "north", "why": [MUCH]}, id="beside a field"),
        pytest.param({"route": "north", MUCH: 1}, id="a key"),
        pytest.param({"output": {"route": MUCH}, "success": True}, id="in a wrapper"),
        pytest.param([{"type": "text", "text": MUCH}], id="blocks"),
        pytest.param(MUCH.encode(), id="bytes"),
    ],
)
def test_an_answer_that_nobody_reads_is_none(value: object) -> None:
    """Cut, it could be right: what stands at its end takes back what stands before."""
    read = read_returned(value)

    assert ReturnedKind.UNUSABLE is read.kind
    assert f"the agent returned more than {TEXT_LIMIT:,} characters, which nobody reads" == (
        read.problem
    )
    assert ("", {}) == (read.text, read.mapping)


def test_an_answer_of_many_pages_is_read() -> None:
    text = "x" * (TEXT_LIMIT - 100)

    assert text == read_returned(text).text


def test_arguments_of_any_length_are_a_bad_call(bench: Any) -> None:
    toolbox = bench.toolbox()

    with pytest.raises(ToolError):
        toolbox.tools.call("send_letter", to=MUCH)

    (call,) = toolbox.calls
    assert f"[more than {TEXT_LIMIT:,} characters]" == call.arguments
    assert call.bad


def test_a_name_of_any_length_is_kept_in_a_line(bench: Any) -> None:
    toolbox = bench.toolbox()

    with pytest.raises(ToolError):
        toolbox.tools.call(MUCH)

    (call,) = toolbox.calls
    assert call.name == f"{'x' * 1_000}... (100,000,000 characters)"
    assert [FindingKind.UNKNOWN_TOOL] == [one.kind for one in call.findings]


def test_a_result_that_is_too_long_is_a_failure_of_the_tool(bench: Any) -> None:
    toolbox = bench.toolbox(bench.coded(RETURNING))

    with pytest.raises(ToolError, match="the tool returned more than 4,000,000 characters"):
        toolbox.tools.call("send_letter", to="a")

    (call,) = toolbox.calls
    assert (None, False) == (call.result, call.succeeded)
