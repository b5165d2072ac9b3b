"""What overlaps, by a counter and not by the clock: which calls began before others had ended."""

from __future__ import annotations

import asyncio
import threading
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context, copy_context
from dataclasses import dataclass
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.trajectory.calls import stands_before
from pytest_sopbench._running.tools.calls import GIVEN_UP, CallLog, OpenCall, replies_seen
from pytest_sopbench.errors import ToolError

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
    return [call.overlaps for call in toolbox.calls]


@pytest.fixture(params=["look-up", "code"])
def toolbox(request: pytest.FixtureRequest, bench: Any) -> Any:
    return bench.toolbox(bench.coded(QUICK)) if request.param == "code" else bench.toolbox()


def test_calls_that_are_gathered_overlap_however_fast_their_tools_are(toolbox: Any) -> None:
    tools = toolbox.tools

    async def agent() -> None:
        await asyncio.gather(*(tools.acall("send_letter", to=str(at)) for at in range(3)))

    asyncio.run(agent())

    assert [2, 1, 0] == overlaps(toolbox)
    assert ["0", "1", "2"] == [call.arguments["to"] for call in toolbox.calls]


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
    assert stands_before(toolbox.calls, a, c)
    assert not stands_before(toolbox.calls, a, b)


def test_calls_of_threads_overlap_where_one_waits_in_its_tool(bench: Any) -> None:
    toolbox = bench.toolbox(bench.coded(WAITING))
    manager: Any = toolbox._desk._manager
    with ThreadPoolExecutor(2) as pool:
        first = pool.submit(toolbox.tools.call, "get_score", parcel_id="PX1")
        manager.entered.wait(60)
        second = pool.submit(toolbox.tools.call, "send_letter")
        while len(toolbox.calls) < 2:
            threading.Event().wait(0.001)
        manager.go_on.set()
        first.result(60)
        second.result(60)

    assert [1, 0] == overlaps(toolbox)


def test_a_call_in_flight_at_the_end_of_the_run_overlaps_all_that_came_after_it(bench: Any) -> None:
    toolbox = bench.toolbox()
    ledger = toolbox._desk.ledger
    ledger.begin("get_score", {})
    toolbox.tools.call("send_letter")
    toolbox.tools.call("send_letter")

    toolbox.close()

    assert [2, 0, 0] == overlaps(toolbox)
    assert not toolbox.calls[0].succeeded


def test_a_call_that_was_given_up_before_its_tool_was_asked_is_never_made(bench: Any) -> None:
    toolbox = bench.toolbox()

    async def agent() -> None:
        task = asyncio.ensure_future(toolbox.tools.acall("send_letter"))
        await asyncio.sleep(0)
        task.cancel()
        await asyncio.wait([task])
        await toolbox.tools.acall("get_score", parcel_id="PX1")

    asyncio.run(agent())

    assert [(GIVEN_UP, 0), (None, 0)] == [(call.error, call.overlaps) for call in toolbox.calls]


def test_a_call_that_was_given_up_at_work_ends_with_its_tool(bench: Any) -> None:
    toolbox = bench.toolbox(bench.coded(WAITING))
    manager: Any = toolbox._desk._manager

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
    assert "send_letter" == toolbox.calls[0].result


async def _unknown(tools: Any) -> None:
    await tools.acall("nothing")


def test_an_approval_tells_how_many_calls_had_begun(bench: Any) -> None:
    toolbox = bench.toolbox()

    toolbox.tools.record_approval("early", by="Ada")
    toolbox.tools.call("send_letter")
    toolbox.tools.record_approval("late", by="Ada")

    assert [0, 1] == [approval.calls for approval in toolbox.approvals]


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
        toolbox.enter()
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
        toolbox.enter()
        for name in ("send_letter", "get_score"):
            await asyncio.to_thread(toolbox.tools.execute_tool, name, {})

    with replies_seen(lambda: next(coming)):
        asyncio.run(agent())

    assert [0, 0] == overlaps(toolbox)
