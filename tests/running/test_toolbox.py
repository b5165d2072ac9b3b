"""The record of calls: complete, in order, and out of everybody's reach."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import ApprovalDecision, ApprovalRequest
from pytest_sopbench._core.model.task import ToolSpec
from pytest_sopbench._core.model.trace import FindingKind, Usage
from pytest_sopbench._core.steps import deny_all
from pytest_sopbench._core.trajectory.calls import stands_before
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running.tools.calls import GIVEN_UP, REFUSALS, CallLog, OpenCall, replies_seen
from pytest_sopbench._running.tools.toolbox import ToolboxFactory
from pytest_sopbench.errors import (
    AgentSpecError,
    ClosedToolboxError,
    RunOverError,
    ToolArgumentError,
    ToolError,
    ToolSpecError,
    UnknownToolError,
)


def test_a_call_is_recorded_with_its_result_and_times(bench: Any) -> None:
    toolbox = bench.toolbox()

    toolbox.tools.call("get_score", parcel_id="PX1")

    (call,) = toolbox.log.calls
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

    assert "no record with parcel_id = 'PX2'" == toolbox.log.calls[0].error
    assert not toolbox.log.calls[0].succeeded


def test_an_unknown_tool_is_recorded_and_the_nearest_is_named(bench: Any) -> None:
    toolbox = bench.toolbox()

    with pytest.raises(UnknownToolError, match="did you mean get_score"):
        toolbox.tools.call("getScore", parcel_id="PX1")

    assert ["unknown_tool"] == [one.kind for one in toolbox.log.calls[0].findings]


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

    assert {"parcel_id": ["PX1"]} == toolbox.log.calls[0].arguments
    assert {"parts": ["a", "b"]} == toolbox.log.calls[0].result
    assert {"parts": ["a", "b"]} == again


def test_no_run_can_change_the_row_of_another(bench: Any) -> None:
    task = bench.task()
    factory = ToolboxFactory(bench.lookup(returns=("parts",)))

    for _ in range(2):
        toolbox = factory.open(task, max_calls=5, clock=lambda: 0.0)
        got: Any = toolbox.tools.call("get_score")
        got["parts"].clear()

    assert ["a", "b"] == task.results["parts"]
    assert {"parts": ["a", "b"]} == toolbox.log.calls[0].result


def test_the_call_that_is_one_too_many_closes_the_toolbox(bench: Any) -> None:
    toolbox = bench.toolbox(max_calls=2)
    for _ in range(2):
        toolbox.tools.call("send_letter")
    assert not toolbox.log.over_limit

    for _ in range(3):
        with pytest.raises(ToolError, match="the limit of 2 tool calls is passed"):
            toolbox.tools.call("send_letter")

    assert toolbox.log.over_limit
    assert [None, None, "the limit of 2 tool calls is passed: the run is over"] == [
        call.error for call in toolbox.log.calls
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

    assert () == toolbox.log.calls == toolbox.told.messages == toolbox.told.approvals
    assert Usage() == toolbox.told.consumed()
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
    manager = toolbox._manager
    thread = threading.Thread(target=toolbox.tools.call, args=("send_letter",), daemon=True)

    thread.start()
    assert manager.entered.wait(60)
    toolbox.close()
    manager.go_on.set()
    thread.join(60)

    (call,) = toolbox.log.calls
    assert "the call had not ended when the run did" == call.error
    assert call.result is None


def test_a_manager_is_not_asked_once_the_run_is_over(bench: Any) -> None:
    toolbox = bench.toolbox(
        bench.coded("class ParcelManager:\n def process_tool_call(self, name, arguments): ...")
    )
    toolbox._manager = None  # as `close` in another thread leaves it

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

    assert 1_600 == len(toolbox.log.calls)
    started = [call.started for call in toolbox.log.calls]
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

    assert 50 == sum(call.succeeded for call in toolbox.log.calls)
    assert 51 == len(toolbox.log.calls)


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
    assert 1 == len(toolbox.log.calls)


def test_what_cannot_be_encoded_is_escaped_and_noted(bench: Any) -> None:
    toolbox = bench.toolbox(bench.lookup(result="ok"))

    toolbox.tools.call("get_score", parcel_id="PX1", label="\ud83d")
    toolbox.tools.execute_tool("\udc80", {})

    assert {"parcel_id": "PX1", "label": "\\ud83d"} == toolbox.log.calls[0].arguments
    assert "\\udc80" == toolbox.log.calls[1].name
    assert 1 == len(toolbox.notes)


def test_usage_is_added_up_and_messages_are_appended(bench: Any) -> None:
    toolbox = bench.toolbox()

    toolbox.tools.report(usage={"prompt_tokens": 10, "completion_tokens": 2}, messages={"a": 1})
    toolbox.tools.report(usage=Usage(input_tokens=5, cost_usd=0.25), messages=["b", "c"])
    toolbox.tools.report(usage={"cost": 0.5, "input_tokens": float("nan")})

    assert Usage(input_tokens=15, output_tokens=2, cost_usd=0.75) == toolbox.told.consumed()
    assert ({"a": 1}, "b", "c") == toolbox.told.messages


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

    assert Usage() == toolbox.told.consumed()


def test_the_model_of_a_report_may_stand_beside_its_usage(bench: Any) -> None:
    toolbox = bench.toolbox()

    toolbox.tools.report(usage={"input_tokens": 5, "model": "never"}, model="openai/a")
    toolbox.tools.report(model="openai/b")

    assert Usage(input_tokens=5, model="openai/a, openai/b") == toolbox.told.consumed()


def test_endless_messages_are_cut(bench: Any) -> None:
    toolbox = bench.toolbox()

    toolbox.tools.report(messages=["m"] * 10_001)

    assert 10_000 == len(toolbox.told.messages)
    assert ("only the first 10,000 messages were kept",) == toolbox.notes


def test_approvals_are_kept_with_their_time(bench: Any) -> None:
    toolbox = bench.toolbox()

    toolbox.tools.record_approval("release", by="Ada")

    (approval,) = toolbox.told.approvals
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


# What is found wrong with the arguments of a call, and when the agent is to blame.


def findings(bench: Any, name: str = "get_score", /, **arguments: Any) -> list[tuple[str, str]]:
    toolbox = bench.toolbox(bench.lookup(result="ok"))
    toolbox.tools.execute_tool(name, arguments)
    return [(one.kind.value, one.parameter) for one in toolbox.log.calls[0].findings]


def test_a_good_call_has_no_finding(bench: Any) -> None:
    assert [] == findings(bench, parcel_id="PX1", depth=1)


@pytest.mark.parametrize(
    ("arguments", "expected"),
    [
        pytest.param({}, [("missing_parameter", "parcel_id")], id="missing"),
        pytest.param(
            {"parcel_id": "PX1", "colour": "red"}, [("unknown_parameter", "colour")], id="unknown"
        ),
        pytest.param({"parcel_id": "17"}, [("invalid_value", "parcel_id")], id="pattern"),
        pytest.param(
            {"parcel_id": "PX1", "depth": "deep"}, [("invalid_value", "depth")], id="type"
        ),
        pytest.param(
            {"colour": "red", "depth": 0},
            [
                ("missing_parameter", "parcel_id"),
                ("unknown_parameter", "colour"),
                ("invalid_value", "depth"),
            ],
            id="all-at-once",
        ),
    ],
)
def test_each_departure_is_found(
    bench: Any, arguments: dict[str, Any], expected: list[tuple[str, str]]
) -> None:
    assert expected == findings(bench, **arguments)


def test_a_parameter_that_the_spec_does_not_name_is_unknown_without_being_forbidden(
    bench: Any,
) -> None:
    assert [("unknown_parameter", "cc")] == findings(bench, "send_letter", to="A", cc="B")


@pytest.mark.parametrize(
    "more",
    [
        pytest.param({"additionalProperties": True}, id="any"),
        pytest.param({"additionalProperties": {"type": "string"}}, id="of-a-type"),
        pytest.param({"patternProperties": {"^x": {}}}, id="by-pattern"),
    ],
)
def test_a_spec_may_invite_further_parameters(bench: Any, more: dict[str, Any]) -> None:
    spec = ToolSpec(name="t", description="", parameters={"type": "object", **more})
    domain = bench.domain(tool_specs=(spec,), lookups={"t": bench.domain().lookups["send_letter"]})
    toolbox = bench.toolbox(domain)

    toolbox.tools.call("t", xtra="1")

    assert () == toolbox.log.calls[0].findings


def test_a_value_copied_from_the_inputs_is_not_the_agents_fault(bench: Any) -> None:
    task = bench.task(inputs={"parcel_id": "17"})
    toolbox = bench.toolbox(task=task)

    toolbox.tools.call("get_score", parcel_id="17")

    (call,) = toolbox.log.calls
    assert FindingKind.INVALID_VALUE is call.findings[0].kind
    assert call.findings[0].copied
    assert not call.bad


def test_a_value_copied_from_an_earlier_result_is_not_the_agents_fault(bench: Any) -> None:
    domain = bench.lookup(result={"found": [{"next": "broken id"}]})
    toolbox = bench.toolbox(domain)

    toolbox.tools.call("get_score", parcel_id="PX1")
    toolbox.tools.call("get_score", parcel_id="broken id")

    assert toolbox.log.calls[1].findings[0].copied


def test_a_value_that_stands_nowhere_is_the_agents_own(bench: Any) -> None:
    toolbox = bench.toolbox(bench.lookup(result={"found": [["PX1"], {}]}))

    toolbox.tools.call("get_score", parcel_id="PX1")
    toolbox.tools.call("get_score", parcel_id="broken id")

    assert toolbox.log.calls[1].bad


def test_a_text_that_spells_a_number_of_a_result_is_no_copy_of_it(bench: Any) -> None:
    toolbox = bench.toolbox(bench.lookup(result={"found": [17, 17.0, True]}))

    toolbox.tools.call("get_score", parcel_id="PX1")
    toolbox.tools.call("get_score", parcel_id="17")

    assert toolbox.log.calls[1].bad


def test_a_value_that_a_later_result_holds_is_not_copied(bench: Any) -> None:
    toolbox = bench.toolbox(bench.lookup(result="broken id"))

    toolbox.tools.call("get_score", parcel_id="broken id")

    assert toolbox.log.calls[0].bad


def test_what_only_a_failed_call_was_given_is_not_copied(bench: Any) -> None:
    toolbox = bench.toolbox()

    for _ in range(2):
        with pytest.raises(ToolError):
            toolbox.tools.call("get_score", parcel_id="made up")

    assert toolbox.log.calls[1].bad


def test_the_place_of_a_bad_value_inside_a_parameter_is_told(bench: Any) -> None:
    spec = ToolSpec(
        name="send_letter",
        description="",
        parameters={
            "type": "object",
            "properties": {"to": {"type": "array", "items": {"type": "string"}}},
            "minProperties": 1,
        },
    )
    toolbox = bench.toolbox(bench.domain(tool_specs=(spec,)))

    toolbox.tools.call("send_letter", to=["a", 1])
    toolbox.tools.call("send_letter", to=list(range(50)))
    toolbox.tools.call("send_letter")

    nested, many, whole = (call.findings for call in toolbox.log.calls)
    assert "parameter 'to'[1]: 1 is not of type" in nested[0].message
    assert 10 == len(many)
    assert [""] == [one.parameter for one in whole]


def test_bad_arguments_are_rejected_only_where_the_domain_asks(bench: Any) -> None:
    domain = bench.lookup(result="ok")
    strict = bench.toolbox(bench.domain(lookups=domain.lookups, reject_bad_arguments=True))
    lenient = bench.toolbox(domain)

    with pytest.raises(ToolArgumentError, match="'parcel_id' is missing; parameter 'x' is unknown"):
        strict.tools.call("get_score", x=1)

    assert "ok" == lenient.tools.call("get_score", x=1)
    assert strict.log.calls[0].findings == lenient.log.calls[0].findings


def test_arguments_that_are_no_object_are_always_refused(bench: Any) -> None:
    toolbox = bench.toolbox()

    result = toolbox.tools.execute_tool("get_score", '{"parcel_id": "PX1"}')

    assert "arguments must be an object" in str(result["error"])
    assert toolbox.log.calls[0].bad


@pytest.mark.parametrize(
    ("parameters", "said"),
    [
        pytest.param({"type": "float"}, "float", id="no-such-type"),
        pytest.param({"properties": {"a": {"pattern": "("}}}, "regex", id="broken-pattern"),
        pytest.param({"$ref": "http://127.0.0.1:9/x"}, "never fetched", id="remote-ref"),
    ],
)
def test_an_unusable_schema_is_a_fault_of_the_set_up(
    bench: Any, parameters: dict[str, Any], said: str
) -> None:
    spec = ToolSpec(name="send_letter", description="", parameters=parameters)

    with pytest.raises(ToolSpecError, match=f"'send_letter'.*{said}"):
        ToolboxFactory(bench.domain(tool_specs=(spec,)))


# What overlaps, by a counter and not by the clock: which calls began before others had ended.

WAITING = """
import threading
class ParcelManager:
    go_on = threading.Event()
    entered = threading.Event()
    def process_tool_call(self, name, arguments):
        self.entered.set()
        self.go_on.wait(60)
        return name
"""
QUICK = """
class ParcelManager:
    def process_tool_call(self, name, arguments):
        return name
"""


def overlaps(toolbox: Any) -> list[int]:
    return [call.overlaps for call in toolbox.log.calls]


@pytest.fixture(params=["look-up", "code"])
def toolbox(request: pytest.FixtureRequest, bench: Any) -> Any:
    return bench.toolbox(bench.coded(QUICK)) if request.param == "code" else bench.toolbox()


def test_calls_that_are_gathered_overlap_however_fast_their_tools_are(toolbox: Any) -> None:
    tools = toolbox.tools

    async def agent() -> None:
        await asyncio.gather(*(tools.acall("send_letter", to=str(at)) for at in range(3)))

    asyncio.run(agent())

    assert [2, 1, 0] == overlaps(toolbox)
    assert ["0", "1", "2"] == [call.arguments["to"] for call in toolbox.log.calls]


def test_async_functions_that_are_gathered_overlap_too(toolbox: Any) -> None:
    send = toolbox.tools.afunctions()[1]

    async def agent() -> None:
        await asyncio.gather(send("a"), send("b"))

    asyncio.run(agent())

    assert [1, 0] == overlaps(toolbox)


def test_calls_that_wait_for_one_another_do_not_overlap(toolbox: Any) -> None:
    tools = toolbox.tools

    async def agent() -> None:
        await tools.acall("send_letter")
        await tools.acall("send_letter")
        tools.call("send_letter")
        tools.functions()[1]("c")

    asyncio.run(agent())

    assert [0, 0, 0, 0] == overlaps(toolbox)


def test_a_call_that_follows_one_of_two_overlaps_the_other(toolbox: Any) -> None:
    """A before C, and B over both: to overlap is not handed on."""
    tools = toolbox.tools

    async def agent() -> None:
        first, second = (asyncio.ensure_future(tools.acall("send_letter", to=x)) for x in "ab")
        await first
        third = asyncio.ensure_future(tools.acall("send_letter", to="c"))
        await asyncio.gather(second, third)

    asyncio.run(agent())

    a, b, c = range(3)
    assert stands_before(toolbox.log.calls, a, c)
    assert not stands_before(toolbox.log.calls, a, b)


def test_calls_of_threads_overlap_where_one_waits_in_its_tool(bench: Any) -> None:
    toolbox = bench.toolbox(bench.coded(WAITING))
    manager: Any = toolbox._manager
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(toolbox.tools.call, "get_score", parcel_id="PX1")
        manager.entered.wait(60)
        second = pool.submit(toolbox.tools.call, "send_letter")
        while len(toolbox.log.calls) < 2:
            threading.Event().wait(0.001)
        manager.go_on.set()
        first.result(60)
        second.result(60)

    assert [1, 0] == overlaps(toolbox)


def test_a_call_in_flight_at_the_end_of_the_run_overlaps_all_that_came_after_it(bench: Any) -> None:
    toolbox = bench.toolbox()
    ledger = toolbox.log
    ledger.begin("get_score", {})
    toolbox.tools.call("send_letter")
    toolbox.tools.call("send_letter")

    toolbox.close()

    assert [2, 0, 0] == overlaps(toolbox)
    assert not toolbox.log.calls[0].succeeded


def test_a_call_that_was_given_up_before_its_tool_was_asked_is_never_made(bench: Any) -> None:
    toolbox = bench.toolbox()

    async def agent() -> None:
        task = asyncio.ensure_future(toolbox.tools.acall("send_letter"))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        await toolbox.tools.acall("get_score", parcel_id="PX1")

    asyncio.run(agent())

    assert [(GIVEN_UP, 0), (None, 0)] == [(call.error, call.overlaps) for call in toolbox.log.calls]


def test_a_call_that_was_given_up_at_work_ends_with_its_tool(bench: Any) -> None:
    toolbox = bench.toolbox(bench.coded(WAITING))
    manager: Any = toolbox._manager

    async def agent() -> None:
        task = asyncio.ensure_future(toolbox.tools.acall("send_letter"))
        await asyncio.to_thread(manager.entered.wait, 60)
        task.cancel()
        await asyncio.wait([task])
        with pytest.raises(ToolError):
            await asyncio.wait_for(_unknown(toolbox.tools), 60)

    asyncio.run(agent())
    manager.go_on.set()
    for thread in threading.enumerate():
        if thread.name == "sopbench-thread":
            thread.join(60)

    assert [1, 0] == overlaps(toolbox)
    assert "send_letter" == toolbox.log.calls[0].result


async def _unknown(tools: Any) -> None:
    await tools.acall("nothing")


def test_an_approval_tells_how_many_calls_had_begun(bench: Any) -> None:
    toolbox = bench.toolbox()

    toolbox.tools.record_approval("early", by="Ada")
    toolbox.tools.call("send_letter")
    toolbox.tools.record_approval("late", by="Ada")

    assert [0, 1] == [approval.calls for approval in toolbox.told.approvals]


@given(st.lists(st.integers(0, 3), max_size=12))
def test_the_record_tells_the_order_of_any_course_of_events(events: list[int]) -> None:
    """An event begins a call, or ends the one of that number that is in flight; no clock moves."""
    ledger = CallLog(max_calls=99, clock=lambda: 0.0)
    began: list[int] = []
    ended: dict[int, int] = {}
    entries: list[Any] = []
    for moment, event in enumerate(events):
        flying = [at for at in range(len(entries)) if at not in ended]
        if event == 0 or not flying:
            entries.append(ledger.begin("a", {}))
            began.append(moment)
        else:
            one = flying[event % len(flying)]
            ledger.answer(entries[one])
            ledger.end(entries[one])
            ended[one] = moment
    ledger.close()

    calls = ledger.calls
    for one in range(len(calls)):
        for other in range(len(calls)):
            before = one in ended and ended[one] < began[other]
            assert before is (one < other and stands_before(calls, one, other))


# Calls that one reply asked for


@dataclass(frozen=True)
class Reply:
    asked: tuple[str, ...]


WEIGH_ALL = Reply(("weigh", "label", "weigh", "file"))
ASKED = [("weigh", 1), ("label", 0), ("weigh", 2), ("file", 0)]


@st.composite
def interleavings(draw: st.DrawFn) -> list[tuple[tuple[str, int], bool]]:
    """Each call twice: where it begins, and where it ends."""
    order = draw(st.permutations([*ASKED, *ASKED]))
    return [(call, call not in order[:at]) for at, call in enumerate(order)]


def taken_down(log: CallLog, order: list[tuple[tuple[str, int], bool]], *, lost: bool) -> None:
    """Have each call made in a context of its own, as a pool of threads does."""
    contexts = {call: Context() if lost else copy_context() for call in ASKED}
    begun: dict[tuple[str, int], OpenCall] = {}
    for (name, number), begins in order:
        context = contexts[name, number]
        if begins:
            begun[name, number] = context.run(log.begin, name, {"number": number})
        else:
            context.run(log.end, begun[name, number])


@given(interleavings(), st.booleans())
def test_calls_of_one_reply_are_told_alike_whatever_threads_make_of_them(
    order: list[tuple[tuple[str, int], bool]], lost: bool
) -> None:
    log = CallLog(max_calls=9, clock=lambda: 0.0)
    with replies_seen(lambda: WEIGH_ALL):
        copy_context().run(lambda: (log.enter(), taken_down(log, order, lost=lost)))

    told = [(one.name, one.arguments, one.overlaps) for one in log.calls]

    assert [(n, {"number": at}, 3 - place) for place, (n, at) in enumerate(ASKED)] == told


def test_calls_of_one_reply_that_the_program_made_one_after_another_stand_so(bench: Any) -> None:
    toolbox = bench.toolbox()

    def agent() -> None:
        toolbox.log.enter()
        for name in ("send_letter", "get_score"):
            toolbox.tools.execute_tool(name, {})

    with replies_seen(lambda: Reply(("send_letter", "get_score"))):
        copy_context().run(agent)

    assert [0, 0] == overlaps(toolbox)


@pytest.mark.parametrize(
    "replies",
    [
        pytest.param([Reply(("send_letter",)), Reply(("get_score",))], id="of two replies"),
        pytest.param([Reply(("send_letter",))] * 2, id="of which one was not asked for"),
        pytest.param([None, None], id="of no reply"),
    ],
)
def test_other_calls_of_threads_stand_where_they_were_made(
    bench: Any, replies: list[Reply | None]
) -> None:
    toolbox = bench.toolbox()
    coming = iter(replies)

    async def agent() -> None:
        toolbox.log.enter()
        for name in ("send_letter", "get_score"):
            await asyncio.to_thread(toolbox.tools.execute_tool, name, {})

    with replies_seen(lambda: next(coming)):
        asyncio.run(agent())

    assert [0, 0] == overlaps(toolbox)


# What an agent is given to ask for approvals, and what a run keeps of it.


@pytest.fixture
def ask(bench: Any) -> Callable[..., Any]:
    """Have an agent ask once; return what it was told, and what the run has kept."""

    def asked(*approver: Callable[[ApprovalRequest], Any]) -> Any:
        def agent(approver: Any) -> Any:
            return approver("7", title="Pay", moment="before", summary="500 pounds")

        toolbox = bench.toolbox()
        caller = AgentCaller(agent)
        for one in approver:
            caller = caller.asking(one)
        decision = caller.call(bench.domain(), bench.task(), toolbox.tools)
        return decision, toolbox.told.approvals

    return asked


def test_where_nobody_is_named_everything_is_approved_and_recorded(ask: Any) -> None:
    decision, (kept,) = ask()

    assert decision
    assert ("7", "auto", True, "") == (kept.step, kept.by, kept.granted, kept.reason)


def test_a_denial_is_recorded_as_one(ask: Any) -> None:
    decision, (kept,) = ask(deny_all)

    assert not decision
    assert ("deny", False, "every approval is denied") == (kept.by, kept.granted, kept.reason)


def test_the_users_approver_sees_what_is_asked_and_decides(ask: Any) -> None:
    seen: list[ApprovalRequest] = []

    def approver(request: ApprovalRequest) -> ApprovalDecision:
        seen.append(request)
        return ApprovalDecision(approved=False, by="the lead", reason="too dear")

    decision, (kept,) = ask(approver)

    assert "too dear" == decision.reason
    assert ("the lead", False, "too dear") == (kept.by, kept.granted, kept.reason)
    assert [
        ApprovalRequest(
            step="7",
            title="Pay",
            moment="before",
            summary="500 pounds",
            domain="parcels",
            task_id="PX1",
        )
    ] == seen


@pytest.mark.parametrize("answer", [True, False])
def test_a_truth_value_is_a_decision(ask: Any, answer: bool) -> None:
    decision, (kept,) = ask(lambda _: answer)

    assert answer is decision.approved is kept.granted
    assert "sop_approver" == kept.by


@pytest.mark.parametrize("answer", [None, "yes", 1, object()], ids=["none", "text", "1", "object"])
def test_anything_else_approves_nothing(ask: Any, answer: object) -> None:
    with pytest.raises(AgentSpecError, match=r"returned a value of type .*\nit must return True"):
        ask(lambda _: answer)


def test_an_agent_may_ask_for_the_steps_of_the_sop(bench: Any) -> None:
    sop = "In general.\n\n1. Weigh it.\n2. Send it.\n"

    def agent(steps: Any) -> Any:
        return steps.general, [(step.number, step.title) for step in steps.steps]

    told = AgentCaller(agent).call(bench.domain(sop=sop), bench.task(), bench.toolbox().tools)

    assert ("In general.", [("1", "Weigh it."), ("2", "Send it.")]) == told
