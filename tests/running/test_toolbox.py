"""The record of calls: complete, in order, and out of everybody's reach."""

from __future__ import annotations

import threading
from contextlib import suppress
from typing import Any

import pytest

from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._running.tools.calls import REFUSALS
from pytest_sopbench._running.tools.toolbox import ToolboxFactory
from pytest_sopbench.errors import (
    ClosedToolboxError,
    RunOverError,
    ToolError,
    ToolSpecError,
    UnknownToolError,
)


def test_a_call_is_recorded_with_its_result_and_times(bench: Any) -> None:
    toolbox = bench.toolbox()

    toolbox.tools.call("get_score", parcel_id="PX1")

    (call,) = toolbox.calls
    assert ("get_score", {"parcel_id": "PX1"}, {"score": 4}, None) == (
        call.name,
        call.arguments,
        call.result,
        call.error,
    )
    assert (1.0, 1.0) == (call.started, call.duration)


def test_a_failed_call_is_recorded_with_its_error(bench: Any) -> None:
    toolbox = bench.toolbox()

    with pytest.raises(ToolError):
        toolbox.tools.call("get_score", parcel_id="PX2")

    assert "no record with parcel_id = 'PX2'" == toolbox.calls[0].error
    assert not toolbox.calls[0].succeeded


def test_an_unknown_tool_is_recorded_and_the_nearest_is_named(bench: Any) -> None:
    toolbox = bench.toolbox()

    with pytest.raises(UnknownToolError, match="did you mean get_score"):
        toolbox.tools.call("getScore", parcel_id="PX1")

    assert ["unknown_tool"] == [one.kind for one in toolbox.calls[0].findings]


def test_an_unknown_tool_like_no_other_is_answered_with_all_names(bench: Any) -> None:
    with pytest.raises(UnknownToolError, match="tools: get_score, send_letter"):
        bench.toolbox().tools.call("zzz")


def test_the_agent_cannot_rewrite_what_it_gave_or_got(bench: Any) -> None:
    domain = bench.lookup(returns=("parts",))
    toolbox = bench.toolbox(domain)
    given = {"parcel_id": ["PX1"]}

    got: Any = toolbox.tools.call("get_score", **given)
    given["parcel_id"].append("later")
    got["parts"].append("later")
    again = toolbox.tools.call("get_score", parcel_id="PX1")

    assert {"parcel_id": ["PX1"]} == toolbox.calls[0].arguments
    assert {"parts": ["a", "b"]} == toolbox.calls[0].result
    assert {"parts": ["a", "b"]} == again


def test_no_run_can_change_the_row_of_another(bench: Any) -> None:
    task = bench.task()
    factory = ToolboxFactory(bench.lookup(returns=("parts",)))

    for _ in range(2):
        toolbox = factory.open(task, max_calls=5, clock=lambda: 0.0)
        got: Any = toolbox.tools.call("get_score")
        got["parts"].clear()

    assert ["a", "b"] == task.results["parts"]
    assert {"parts": ["a", "b"]} == toolbox.calls[0].result


def test_the_call_that_is_one_too_many_closes_the_toolbox(bench: Any) -> None:
    toolbox = bench.toolbox(max_calls=2)
    for _ in range(2):
        toolbox.tools.call("send_letter")
    assert not toolbox.over_limit

    for _ in range(3):
        with pytest.raises(ToolError, match="the limit of 2 tool calls is passed"):
            toolbox.tools.call("send_letter")

    assert toolbox.over_limit
    assert [None, None, "the limit of 2 tool calls is passed: the run is over"] == [
        call.error for call in toolbox.calls
    ]


def test_nothing_is_served_or_recorded_after_the_end(bench: Any) -> None:
    toolbox = bench.toolbox()
    tools = toolbox.tools
    toolbox.close()
    toolbox.close()

    with pytest.raises(ToolError, match="the run is over"):
        tools.call("send_letter")
    tools.report(usage={"input_tokens": 5}, messages=["late"])
    tools.record_approval("step", "Ada")

    assert () == toolbox.calls == toolbox.messages == toolbox.approvals
    assert Usage() == toolbox.usage
    assert ("get_score", "send_letter") == tools.names


def test_a_call_that_outlives_the_run_is_recorded_as_one_that_did_not_end(bench: Any) -> None:
    source = """
import threading
entered, go_on = threading.Event(), threading.Event()
class ParcelManager:
    entered, go_on = entered, go_on
    def process_tool_call(self, name, arguments):
        entered.set()
        go_on.wait(60)
        return 'late'
"""
    toolbox = bench.toolbox(bench.coded(source))
    manager = toolbox._desk._manager
    thread = threading.Thread(target=toolbox.tools.call, args=("send_letter",), daemon=True)

    thread.start()
    assert manager.entered.wait(60)
    toolbox.close()
    manager.go_on.set()
    thread.join(60)

    (call,) = toolbox.calls
    assert "the call had not ended when the run did" == call.error
    assert call.result is None


def test_a_manager_is_not_asked_once_the_run_is_over(bench: Any) -> None:
    toolbox = bench.toolbox(
        bench.coded("class ParcelManager:\n def process_tool_call(self, name, arguments): ...")
    )
    toolbox._desk._manager = None  # as `close` in another thread leaves it

    result = toolbox.tools.execute_tool("send_letter", {})

    assert {"error": "the run is over: no tool can be called any more"} == result


def test_calls_from_many_threads_are_all_recorded(bench: Any) -> None:
    toolbox = bench.toolbox(max_calls=10_000)

    def work() -> None:
        for _ in range(200):
            toolbox.tools.call("get_score", parcel_id="PX1")

    threads = [threading.Thread(target=work) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 1_600 == len(toolbox.calls)
    started = [call.started for call in toolbox.calls]
    assert sorted(started) == started


def test_the_limit_holds_across_threads(bench: Any) -> None:
    toolbox = bench.toolbox(max_calls=50)

    def work() -> None:
        with suppress(RunOverError):
            for _ in range(40):
                toolbox.tools.execute_tool("send_letter", {})

    threads = [threading.Thread(target=work) for _ in range(4)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert 50 == sum(call.succeeded for call in toolbox.calls)
    assert 51 == len(toolbox.calls)


@pytest.mark.parametrize("how", ["call", "execute_tool", "functions"])
def test_an_agent_that_never_stops_asking_is_ended(bench: Any, how: str) -> None:
    """A loop that catches every error would go on with a model that is paid for."""
    toolbox = bench.toolbox(max_calls=0)
    (_, send_letter) = toolbox.tools.functions()
    ask = {
        "call": lambda: toolbox.tools.call("send_letter"),
        "execute_tool": lambda: toolbox.tools.execute_tool("send_letter"),
        "functions": send_letter,
    }[how]

    for _ in range(REFUSALS):
        with suppress(Exception):
            ask()

    with pytest.raises(RunOverError, match="the limit of 0 tool calls is passed"):
        ask()
    assert 1 == len(toolbox.calls)


def test_what_cannot_be_encoded_is_escaped_and_noted(bench: Any) -> None:
    toolbox = bench.toolbox(bench.lookup(result="ok"))

    toolbox.tools.call("get_score", parcel_id="PX1", label="\ud83d")
    toolbox.tools.execute_tool("\udc80", {})

    assert {"parcel_id": "PX1", "label": "\\ud83d"} == toolbox.calls[0].arguments
    assert "\\udc80" == toolbox.calls[1].name
    assert 1 == len(toolbox.notes)


def test_usage_is_added_up_and_messages_are_appended(bench: Any) -> None:
    toolbox = bench.toolbox()

    toolbox.tools.report(usage={"prompt_tokens": 10, "completion_tokens": 2}, messages={"a": 1})
    toolbox.tools.report(usage=Usage(input_tokens=5, cost_usd=0.25), messages=["b", "c"])
    toolbox.tools.report(usage={"cost": 0.5, "input_tokens": float("nan")})

    assert Usage(input_tokens=15, output_tokens=2, cost_usd=0.75) == toolbox.usage
    assert ({"a": 1}, "b", "c") == toolbox.messages


@pytest.mark.parametrize(
    "told",
    [
        pytest.param("many", id="text"),
        pytest.param({"input_tokens": True, "output_tokens": -3, "requests": 1.5}, id="nonsense"),
        pytest.param({"input_tokens": None}, id="null"),
    ],
)
def test_usage_that_cannot_be_read_stays_unknown(bench: Any, told: object) -> None:
    toolbox = bench.toolbox()

    toolbox.tools.report(usage=told)

    assert Usage() == toolbox.usage


def test_the_model_of_a_report_may_stand_beside_its_usage(bench: Any) -> None:
    toolbox = bench.toolbox()

    toolbox.tools.report(usage={"input_tokens": 5, "model": "never"}, model="openai/a")
    toolbox.tools.report(model="openai/b")

    assert Usage(input_tokens=5, model="openai/a, openai/b") == toolbox.usage


def test_endless_messages_are_cut(bench: Any) -> None:
    toolbox = bench.toolbox()

    toolbox.tools.report(messages=["m"] * 10_001)

    assert 10_000 == len(toolbox.messages)
    assert ("only the first 10,000 messages were kept",) == toolbox.notes


def test_approvals_are_kept_with_their_time(bench: Any) -> None:
    toolbox = bench.toolbox()

    toolbox.tools.record_approval("release", by="Ada")

    (approval,) = toolbox.approvals
    assert ("release", "Ada", 1.0) == (approval.step, approval.by, approval.started)


def test_a_tool_that_nothing_serves_is_a_fault_of_the_set_up(bench: Any) -> None:
    with pytest.raises(ToolSpecError, match="nothing serves the tools get_score, send_letter"):
        ToolboxFactory(bench.domain(lookups={}))


def test_notes_of_an_agent_are_kept_up_to_a_limit(bench: Any) -> None:
    toolbox = bench.toolbox()

    toolbox.tools.report(notes="asked again")
    toolbox.tools.report(notes=["x" * 1000, *map(str, range(100))])
    toolbox.tools.report(notes="too late")

    assert ("asked again", "x" * 300, "0") == toolbox.notes[:3]
    assert 20 == len(toolbox.notes)


def test_a_closed_toolbox_says_so_by_the_type_of_its_error(bench: Any) -> None:
    toolbox = bench.toolbox(max_calls=0)

    with pytest.raises(ClosedToolboxError, match="limit of 0 tool calls"):
        toolbox.tools.call("get_score", parcel_id="PX1")
