"""One run, from start to end, whatever the agent does."""

from __future__ import annotations

import asyncio
import contextvars
import gc
import json
import os
import signal
import sys
import threading
import time
from collections.abc import Callable
from pathlib import Path
from threading import Event
from types import SimpleNamespace
from typing import Any

import pytest

import pytest_sopbench
from pytest_sopbench import Trace
from pytest_sopbench._core.answers.find import read_returned
from pytest_sopbench._core.model.trace import Ending, FindingKind, ReturnedKind, Usage, has_ended
from pytest_sopbench._core.values.json import TEXT_LIMIT
from pytest_sopbench._running import runner
from pytest_sopbench._running.agents.caller import AgentCaller
from pytest_sopbench._running.event_loop import LoopThread
from pytest_sopbench._running.observing import is_ours
from pytest_sopbench._running.runner import run_task
from pytest_sopbench._running.tools.toolbox import _registry
from pytest_sopbench.errors import ToolError, Unavailable

# ruff: noqa: T201 - what agents print is a part of a run


Run = Callable[..., Trace]


@pytest.fixture
def run(bench: Any, clock: Any) -> Run:
    def make(agent: object, *, max_calls: int = 100, **options: Any) -> Trace:
        domain = options.pop("domain", None) or bench.domain()
        toolbox = bench.toolbox(domain, max_calls=max_calls)
        return run_task(
            AgentCaller(agent),
            domain,
            bench.task(),
            toolbox,
            clock=clock,
            unavailable=lambda error: issubclass(type(error), Unavailable),
            **options,
        )

    return make


def never(_error: BaseException) -> bool:
    return False


def raising(error: BaseException) -> Callable[[], None]:
    def agent() -> None:
        raise error

    return agent


def test_what_the_agent_returns_ends_the_run(run: Run) -> None:
    def agent(inputs: Any, tools: Any) -> Any:
        tools.call("get_score", parcel_id=inputs["parcel_id"])
        return {"shelf": "A"}

    trace = run(agent)

    assert Ending.RETURNED is trace.ending
    assert trace.returned is not None
    assert {"shelf": "A"} == trace.returned.mapping
    assert ["get_score"] == [call.name for call in trace.calls]
    assert 1.0 == trace.duration
    assert trace.problem is None


def test_an_async_agent_is_waited_for(run: Run) -> None:
    async def agent(tools: Any) -> Any:
        await asyncio.sleep(0)
        await tools.acall("send_letter")
        return "text"

    trace = run(agent)

    assert trace.returned is not None
    assert (ReturnedKind.TEXT, "text") == (trace.returned.kind, trace.returned.text)
    assert 1 == len(trace.calls)


def test_a_function_may_return_an_awaitable(run: Run) -> None:
    async def later() -> str:
        return "later"

    def agent() -> Any:
        return later()

    trace = run(agent)

    assert trace.returned is not None
    assert "later" == trace.returned.text


def test_an_async_agent_runs_where_a_loop_is_running_already(run: Run) -> None:
    async def agent() -> str:
        return threading.current_thread().name

    async def test() -> Trace:
        return run(agent)

    trace = asyncio.run(test())

    assert trace.returned is not None
    assert "sopbench-thread" == trace.returned.text


def test_what_an_async_agent_raises_there_is_an_ending_as_well(run: Run) -> None:
    async def agent() -> None:
        raise SystemExit

    async def test() -> Trace:
        return run(agent)

    trace = asyncio.run(test())

    assert Ending.RAISED is trace.ending


def test_frames_of_a_bundled_policy_are_the_domains_own() -> None:
    ours = Path(pytest_sopbench.__file__).parent

    assert is_ours(str(ours / "_running" / "runner.py"))
    assert not is_ours(str(ours / "bundled" / "some_domain" / "policy.py"))


def test_a_run_needs_no_main_thread(run: Run) -> None:
    traces: list[Trace] = []

    async def agent() -> None:
        raise KeyboardInterrupt

    thread = threading.Thread(target=lambda: traces.append(run(agent)))
    thread.start()
    thread.join()

    assert Ending.RAISED is traces[0].ending


@pytest.mark.parametrize(
    ("error", "kind", "message"),
    [
        pytest.param(ValueError("no"), "ValueError", "no", id="exception"),
        pytest.param(SystemExit(3), "SystemExit", "3", id="exit"),
        pytest.param(KeyboardInterrupt(), "KeyboardInterrupt", "", id="interrupt-by-the-agent"),
        pytest.param(GeneratorExit(), "GeneratorExit", "", id="generator-exit"),
        pytest.param(
            asyncio.CancelledError(), "asyncio.exceptions.CancelledError", "", id="cancel"
        ),
        pytest.param(
            ToolError("bad", hint="try"), "pytest_sopbench.errors.ToolError", "bad\ntry", id="tool"
        ),
        pytest.param(ValueError("\ud83d"), "ValueError", "\\ud83d", id="broken-character"),
    ],
)
def test_what_the_agent_raises_is_a_value(
    run: Run, error: BaseException, kind: str, message: str
) -> None:
    trace = run(raising(error))

    assert Ending.RAISED is trace.ending
    assert trace.returned is None
    assert trace.problem is not None
    assert (kind, message) == (trace.problem.type, trace.problem.message)


def test_a_provider_that_is_away_makes_the_run_unavailable(run: Run) -> None:
    trace = run(raising(Unavailable("429")))

    assert Ending.UNAVAILABLE is trace.ending
    assert trace.problem is not None
    assert "429" == trace.problem.message


def test_the_traceback_leaves_out_frames_of_installed_packages(run: Run) -> None:
    """The lines that parse JSON stand for those of a provider's SDK."""

    def fails() -> None:
        json.loads("{")

    problem = run(fails).problem

    assert problem is not None
    assert "in fails" in problem.traceback
    assert "decoder.py" not in problem.traceback
    assert problem.traceback.rstrip().endswith("(char 1)")


def test_the_traceback_holds_the_users_frames_alone(run: Run) -> None:
    async def inner(tools: Any) -> None:
        try:
            tools.call("nothing")
        except ToolError as error:
            raise LookupError from error

    async def agent(tools: Any) -> None:
        await inner(tools)

    trace = run(agent)

    assert trace.problem is not None
    text = trace.problem.traceback
    assert "in agent" in text
    assert "in inner" in text
    assert "there is no tool 'nothing'" in text
    assert "The above exception was the direct cause" in text
    assert "LookupError" in text
    assert "_running" not in text
    assert "asyncio" not in text


def test_a_group_of_exceptions_is_told_in_full(run: Run) -> None:
    async def failing(tools: Any) -> None:
        await tools.acall("nothing")

    async def agent(tools: Any) -> None:
        async with asyncio.TaskGroup() as group:
            group.create_task(failing(tools))

    trace = run(agent)

    assert trace.problem is not None
    assert "in failing" in trace.problem.traceback
    assert "_running" not in trace.problem.traceback


def test_an_exception_that_cannot_be_told_is_still_an_ending(run: Run) -> None:
    class OddError(Exception):
        def __str__(self) -> str:
            raise RuntimeError

        @property
        def __notes__(self) -> Any:
            raise RuntimeError

    trace = run(raising(OddError()))

    assert trace.problem is not None
    assert "<its text cannot be read: RuntimeError>" == trace.problem.message
    assert trace.problem.traceback


@pytest.mark.parametrize("fault", [SystemExit, KeyboardInterrupt, GeneratorExit])
def test_an_exception_whose_text_ends_the_process_is_still_an_ending(
    run: Run, fault: type[BaseException]
) -> None:
    class OddError(Exception):
        def __str__(self) -> str:
            raise fault

    trace = run(raising(OddError()))

    assert trace.problem is not None
    assert f"<its text cannot be read: {fault.__name__}>" == trace.problem.message


def test_an_exception_that_hides_its_attributes_is_still_an_ending(run: Run) -> None:
    class OddError(Exception):
        def __getattribute__(self, name: str) -> Any:
            raise RuntimeError(name)

    trace = run(raising(OddError("odd")))

    assert trace.problem is not None
    assert "odd" == trace.problem.message


def test_what_was_raised_is_described_when_it_is_handled_no_more(run: Run) -> None:
    """Python prints it, and our frames, with what a destructor raises meanwhile."""

    class ToldLateError(Exception):
        def __str__(self) -> str:
            return f"while handling {sys.exc_info()[1]!r}"

    trace = run(raising(ToldLateError()))

    assert trace.problem is not None
    assert "while handling None" == trace.problem.message


def test_a_long_message_loses_its_middle(run: Run) -> None:
    trace = run(raising(ValueError("a" * 50_000 + "z")))

    assert trace.problem is not None
    assert len(trace.problem.message) < 21_000
    assert trace.problem.message.endswith("z")


def test_a_deep_recursion_is_an_error_like_others(run: Run) -> None:
    def agent() -> None:
        agent()

    trace = run(agent)

    assert trace.problem is not None
    assert "RecursionError" == trace.problem.type
    assert len(trace.problem.traceback) < 3_000


@pytest.mark.parametrize("swallow", [True, False], ids=["swallowed", "raised"])
def test_a_call_too_many_ends_the_run_whatever_the_agent_does(run: Run, swallow: bool) -> None:
    def agent(tools: Any) -> str:
        for _ in range(5):
            if swallow:
                tools.execute_tool("send_letter", {})
            else:
                tools.call("send_letter")
        return "done"

    trace = run(agent, max_calls=2)

    assert Ending.OVER_LIMIT is trace.ending
    assert trace.returned is None
    assert 3 == len(trace.calls)


def test_tools_are_closed_after_the_run(run: Run) -> None:
    kept: list[Any] = []

    def agent(tools: Any) -> None:
        kept.append(tools)

    run(agent)

    with pytest.raises(ToolError, match="the run is over"):
        kept[0].call("send_letter")


LATE = """
import threading
class ParcelManager:
    entered, go_on = threading.Event(), threading.Event()
    def process_tool_call(self, name, arguments):
        self.entered.set()
        self.go_on.wait(60)
        return name
"""


def leaving_a_call(tools: Any, then: Callable[[Any], object] | None = None) -> str:
    """Answer while a call is at work in a thread; `then` is called in it once it has ended."""
    entered = threading.Event()

    def call() -> None:
        entered.set()
        tools.execute_tool("send_letter", {})
        if then is not None:
            then(tools)

    threading.Thread(target=call, daemon=True).start()
    entered.wait(60)
    return "done"


def waiting_manager(tools: Any) -> Any:
    manager = _registry[tools]._manager
    assert manager is not None
    return manager


def test_a_call_at_work_at_the_answer_is_waited_for(run: Run, bench: Any) -> None:
    def agent(tools: Any) -> str:
        manager = waiting_manager(tools)
        said = leaving_a_call(tools)
        assert manager.entered.wait(60)
        threading.Timer(0.05, manager.go_on.set).start()
        return said

    trace = run(agent, domain=bench.coded(LATE))

    assert [("send_letter", None)] == [(call.result, call.error) for call in trace.calls]
    assert Ending.RETURNED is trace.ending


def test_no_call_begins_once_the_agent_has_answered(run: Run, bench: Any) -> None:
    late: list[object] = []

    def again(tools: Any) -> None:
        late.append(tools.execute_tool("send_letter", {}))

    def agent(tools: Any) -> str:
        manager = waiting_manager(tools)
        said = leaving_a_call(tools, again)
        assert manager.entered.wait(60)
        threading.Timer(0.05, manager.go_on.set).start()
        return said

    trace = run(agent, domain=bench.coded(LATE))
    for thread in threading.enumerate():
        if "call" in thread.name:
            thread.join(60)

    assert 1 == len(trace.calls)
    assert [{"error": "the run is over: no tool can be called any more"}] == late


def test_a_call_that_never_ends_ends_no_run_less(
    run: Run, bench: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(runner, "LAST_CALLS", 0.01)
    left: list[Any] = []

    def agent(tools: Any) -> str:
        left.append(waiting_manager(tools))
        said = leaving_a_call(tools)
        assert left[0].entered.wait(60)
        return said

    trace = run(agent, domain=bench.coded(LATE))
    left[0].go_on.set()

    assert [False] == [has_ended(call) for call in trace.calls]
    assert Ending.RETURNED is trace.ending


def test_a_real_ctrl_c_ends_the_wait_for_a_call(run: Run, bench: Any) -> None:
    left: list[Any] = []

    def agent(tools: Any) -> str:
        left.append(waiting_manager(tools))
        said = leaving_a_call(tools)
        assert left[0].entered.wait(60)
        threading.Timer(0.05, os.kill, (os.getpid(), signal.SIGINT)).start()
        return said

    with pytest.raises(KeyboardInterrupt):
        run(agent, domain=bench.coded(LATE))
    left[0].go_on.set()


def test_usage_and_messages_come_from_the_report_and_from_what_was_returned(run: Run) -> None:
    def agent(tools: Any) -> Any:
        tools.report(usage={"input_tokens": 3})
        return SimpleNamespace(
            output={"shelf": "A"},
            usage={"input_tokens": 99, "output_tokens": 7},
            messages=["returned"],
        )

    trace = run(agent)

    assert Usage(input_tokens=3, output_tokens=7) == trace.usage
    assert ("returned",) == trace.messages


def test_reported_messages_stand_before_returned_ones(run: Run) -> None:
    def agent(tools: Any) -> dict[str, Any]:
        tools.report(messages=["reported"])
        return {"messages": [{"role": "assistant", "content": "returned"}]}

    assert ("reported",) == run(agent).messages


def test_output_is_kept_and_passed_on(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    trace = run(lambda: print("hello"))

    assert "hello\n" == trace.output
    assert "hello\n" == capsys.readouterr().out


def test_output_may_be_kept_alone(run: Run, capsys: pytest.CaptureFixture[str]) -> None:
    async def agent() -> None:
        print("hello", file=sys.stderr)

    trace = run(agent, capture="keep")

    assert "hello\n" == trace.output
    assert "" == capsys.readouterr().err


def test_what_an_agent_sets_in_its_context_is_gone_with_the_run(run: Run) -> None:
    word = contextvars.ContextVar("word", default="before")

    run(lambda: word.set("changed"))

    assert "before" == word.get()


def test_notes_tell_what_was_changed_once(run: Run) -> None:
    def agent(tools: Any) -> dict[str, str]:
        tools.execute_tool("get_score", {"parcel_id": "\ud83d"})
        return {"shelf": "\ud83d"}

    assert ("a broken character was written as a backslash escape",) == run(agent).notes


def test_the_settling_of_an_awaitable_can_be_left_to_an_engine(run: Run) -> None:
    async def agent() -> str:
        return "never awaited here"

    def settle(value: Any) -> object:
        value.close()
        return "settled"

    trace = run(agent, settle=settle)

    assert trace.returned is not None
    assert "settled" == trace.returned.text


def interrupting(then: Callable[[], object]) -> Callable[[], object]:
    def agent() -> object:
        os.kill(os.getpid(), signal.SIGINT)
        time.sleep(5)
        return then()

    return agent


def test_a_real_ctrl_c_stops_the_session(run: Run) -> None:
    before = signal.getsignal(signal.SIGINT)

    with pytest.raises(KeyboardInterrupt):
        run(interrupting(lambda: None))

    assert before is signal.getsignal(signal.SIGINT)


def test_a_real_ctrl_c_stops_the_session_also_when_swallowed(run: Run) -> None:
    def agent() -> str:
        try:
            interrupting(lambda: None)()
        except KeyboardInterrupt:
            return "I go on"
        return "never"

    with pytest.raises(KeyboardInterrupt):
        run(agent)


def test_a_real_ctrl_c_stops_an_async_agent(run: Run) -> None:
    async def agent() -> None:
        os.kill(os.getpid(), signal.SIGINT)
        await asyncio.sleep(5)

    with pytest.raises(KeyboardInterrupt):
        run(agent)


def test_an_agent_that_sets_its_own_handler_keeps_it(run: Run) -> None:
    before = signal.getsignal(signal.SIGINT)

    try:
        run(lambda: signal.signal(signal.SIGINT, signal.SIG_IGN) and None)
        assert signal.SIG_IGN is signal.getsignal(signal.SIGINT)
    finally:
        signal.signal(signal.SIGINT, before)


def test_an_ignored_ctrl_c_stays_ignored(run: Run) -> None:
    before = signal.signal(signal.SIGINT, signal.SIG_IGN)

    try:
        trace = run(lambda: os.kill(os.getpid(), signal.SIGINT))
        assert Ending.RETURNED is trace.ending
    finally:
        signal.signal(signal.SIGINT, before)


def test_many_runs_at_once_keep_apart(bench: Any) -> None:
    """Threads share nothing: each trace has its own calls, output and answer."""
    traces: dict[int, Trace] = {}

    def make(number: int) -> None:
        def agent(tools: Any) -> dict[str, int]:
            for _ in range(20):
                tools.call("send_letter", to=str(number))
                print(number)
            return {"shelf": number}

        traces[number] = run_task(
            AgentCaller(agent),
            bench.domain(),
            bench.task(),
            bench.toolbox(),
            clock=time.perf_counter,
            unavailable=never,
            capture="keep",
        )

    threads = [threading.Thread(target=make, args=(number,)) for number in range(16)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    for number, trace in traces.items():
        assert trace.returned is not None
        assert {"shelf": number} == trace.returned.mapping
        assert {str(number)} == {call.arguments["to"] for call in trace.calls}
        assert f"{number}\n" * 20 == trace.output


# A hundred megabytes where a line was expected: refused as a whole, and said so, at once.

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

    (call,) = toolbox.log.calls
    assert f"[more than {TEXT_LIMIT:,} characters]" == call.arguments
    assert call.bad


def test_a_name_of_any_length_is_kept_in_a_line(bench: Any) -> None:
    toolbox = bench.toolbox()

    with pytest.raises(ToolError):
        toolbox.tools.call(MUCH)

    (call,) = toolbox.log.calls
    assert call.name == f"{'x' * 1_000}... (100,000,000 characters)"
    assert [FindingKind.UNKNOWN_TOOL] == [one.kind for one in call.findings]


def test_a_result_that_is_too_long_is_a_failure_of_the_tool(bench: Any) -> None:
    toolbox = bench.toolbox(bench.coded(RETURNING))

    with pytest.raises(ToolError, match="the tool returned more than 4,000,000 characters"):
        toolbox.tools.call("send_letter", to="a")

    (call,) = toolbox.log.calls
    assert (None, False) == (call.result, call.succeeded)


# The event loop of all runs, at its end.

HANG_GUARD = 120.0


def test_a_task_that_swallows_its_end_is_never_closed() -> None:
    """Whoever closes it would go on with it for good: at a session's end, the main thread."""
    raised: list[type[BaseException]] = []
    began = Event()

    async def stubborn() -> None:
        while True:
            began.set()
            try:
                await asyncio.sleep(3600)
            except asyncio.CancelledError as error:
                raised.append(type(error))
            except BaseException as error:
                raised.append(type(error))
                raise

    thread = LoopThread()
    thread.call(lambda loop: loop.create_task(stubborn()))
    assert began.wait(HANG_GUARD)

    thread.stop(HANG_GUARD)
    gc.collect()

    assert [asyncio.CancelledError] == raised


def test_a_task_that_ends_when_it_is_told_does_so() -> None:
    ended = Event()
    began = Event()

    async def obedient() -> None:
        began.set()
        try:
            await asyncio.sleep(3600)
        finally:
            ended.set()

    thread = LoopThread()
    thread.call(lambda loop: loop.create_task(obedient()))
    assert began.wait(HANG_GUARD)

    thread.stop(HANG_GUARD)

    assert ended.is_set()
