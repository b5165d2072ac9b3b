"""A session tells how far it has come: live on a terminal, a line now and then elsewhere."""

from __future__ import annotations

from collections.abc import Iterator
from io import StringIO
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest

import pytest_sopbench._hooks.printing.progress
from pytest_sopbench import Outcome, RunKey, RunRecord
from pytest_sopbench._hooks.printing.progress import LIVE_SECONDS, LOG_SECONDS, ProgressHooks
from pytest_sopbench._running.limits import EngineStatus

KEY = RunKey("lab", "T_01", 1, "a")
RIGHT = RunRecord(domain="lab", task="T_01", outcome=Outcome.CORRECT, duration_s=2.0)
STANDING: EngineStatus[RunKey] = EngineStatus(
    started=9, ended=5, queued=0, peak=4, limit=4, retried=0, running=((KEY, 7.0),)
)


class Terminal:
    """As much of pytest's reporter as is written to."""

    def __init__(self, *, tty: bool, verbosity: int = 0) -> None:
        self._tw = SimpleNamespace(fullwidth=100, width_of_current_line=0)
        self.verbosity = verbosity
        self.live: list[str] = []
        self.said: list[str] = []
        self._tty = tty

    def isatty(self) -> bool:
        return self._tty

    def rewrite(self, line: str, *, erase: bool) -> None:
        assert erase
        self.live.append(line)

    def ensure_newline(self) -> None: ...

    def write_line(self, line: str) -> None:
        self.said.append(line)


class Flights:
    """Calls whoever watches, as an item that waits does."""

    status: EngineStatus[RunKey] | None = STANDING

    def watch(self, look: Any) -> None:
        self.look = look

    def standing(self) -> EngineStatus[RunKey] | None:
        return self.status


class Stage:
    """The hooks with a terminal, and a clock that the test moves."""

    def __init__(self, terminal: Terminal, *, typed: bool = True) -> None:
        self.now, self.terminal, self.flights = 0.0, terminal, Flights()
        self.registered: list[Any] = []
        manager = SimpleNamespace(
            get_plugin=lambda name: terminal if "term" in name else None,
            register=self.registered.append,
            unregister=self.registered.remove,
        )
        plan = SimpleNamespace(
            tests=SimpleNamespace(keys={}),
            builtin=SimpleNamespace(keys=dict.fromkeys("abcdefghij")),
            planned={},
            key=lambda nodeid: KEY if nodeid == "row" else None,
        )
        sop: Any = SimpleNamespace(
            config=SimpleNamespace(pluginmanager=manager),
            options=SimpleNamespace(typed_domains=typed, gates=(), concurrency=None),
            plan=plan,
        )
        flights: Any = self.flights
        self.hooks = ProgressHooks(sop, flights, clock=lambda: self.now)
        self._loop: Iterator[object] = self.hooks.pytest_runtestloop()
        next(self._loop)

    def wait(self, seconds: float) -> None:
        self.now += seconds
        self.flights.look()

    def end(self) -> None:
        with pytest.raises(StopIteration):
            self._loop.__next__()

    def letter(self, nodeid: str) -> Any:
        result: Any = ("passed", ".", "PASSED")
        for plugin in self.registered:
            status: Any = plugin.pytest_report_teststatus(SimpleNamespace(nodeid=nodeid))
            next(status)
            with pytest.raises(StopIteration) as stopped:
                status.send(result)
            result = stopped.value.value
        return result


@pytest.fixture(autouse=True)
def terminal_of_a_person(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("TERM", "xterm")


def test_a_terminal_has_one_line_that_moves() -> None:
    stage = Stage(Terminal(tty=True))
    stage.hooks.pytest_sop_run_finished(RIGHT)

    stage.wait(LIVE_SECONDS)

    # What is in flight may be the slowest so far.
    assert ["sop: 5 of 10 done, 1 in flight, TSR 100.0%, slowest 7.0 s, 0 s left"] == (
        stage.terminal.live
    )
    assert [] == stage.terminal.said


def test_one_run_of_one_worker_of_several_is_no_estimate() -> None:
    stage = Stage(Terminal(tty=False))
    stage.flights.status = None
    for _ in range(2):
        stage.hooks.pytest_testnodeready()
    stage.now = 40.0
    stage.hooks.pytest_sop_run_finished(RIGHT)

    stage.wait(0)
    stage.hooks.pytest_sop_run_finished(RIGHT)
    stage.wait(LOG_SECONDS)

    # The first run began 2 s before it ended, and not when the workers were started.
    assert [
        "sop: 1 of 10 done, TSR 100.0%, slowest 2.0 s",
        "sop: 2 of 10 done, TSR 100.0%, slowest 2.0 s, 2 min left",
    ] == stage.terminal.said


def test_the_line_is_gone_when_the_session_ends() -> None:
    stage = Stage(Terminal(tty=True))
    stage.wait(LIVE_SECONDS)

    stage.end()

    assert "" == stage.terminal.live[-1]


def test_it_moves_no_faster_than_anyone_reads() -> None:
    stage = Stage(Terminal(tty=True))

    for _ in range(10):
        stage.wait(LIVE_SECONDS / 4)

    assert 2 == len(stage.terminal.live)


def test_where_lines_stay_there_is_one_now_and_then() -> None:
    stage = Stage(Terminal(tty=False))

    stage.wait(LOG_SECONDS - 1)
    before = list(stage.terminal.said)
    stage.wait(1)

    assert [] == before
    assert 1 == len(stage.terminal.said)
    assert [] == stage.terminal.live


def test_q_is_quiet() -> None:
    stage = Stage(Terminal(tty=True, verbosity=-1))

    stage.wait(LOG_SECONDS)

    assert [] == stage.terminal.live + stage.terminal.said


@pytest.mark.parametrize(
    ("stage", "term"),
    [
        pytest.param({"typed": False}, "xterm", id="tests of the project"),
        pytest.param({}, "dumb", id="a terminal that cannot"),
    ],
)
def test_what_others_print_is_not_overwritten(
    monkeypatch: pytest.MonkeyPatch, stage: Any, term: str
) -> None:
    monkeypatch.setenv("TERM", term)
    found = Stage(Terminal(tty=True), **stage)

    found.wait(LIVE_SECONDS)

    assert [] == found.terminal.live
    assert ("passed", ".", "PASSED") == found.letter("row")


def test_the_live_line_stands_for_the_letters_of_runs_and_of_nothing_else() -> None:
    stage = Stage(Terminal(tty=True))

    assert ("passed", "", "") == stage.letter("row")
    assert ("passed", ".", "PASSED") == stage.letter("another test")


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("workers", [pytest.param((), id="plain"), pytest.param(("-n2",), id="n2")])
def test_a_session_in_ci_says_where_it_stands(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch, workers: tuple[str, ...]
) -> None:
    monkeypatch.setattr(pytest_sopbench._hooks.printing.progress, "LOG_SECONDS", 0.0)

    result = pytester.runpytest("--sop-domain=lab", "--agent=habits:right", *workers)

    result.assert_outcomes(passed=6)
    result.stdout.fnmatch_lines(["sop: * of 6 done, *TSR 100.0%, slowest *"])
    result.stdout.no_re_match_line(r"\.+ *sop: ")


@pytest.mark.usefixtures("lab")
def test_a_line_that_is_shown_while_a_test_runs_is_not_its_output(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(pytest_sopbench._hooks.printing.progress, "LOG_SECONDS", 0.0)
    pytester.makepyfile(
        slow="""
        import threading

        def agent(inputs):
            threading.Event().wait(0.5)
            print("mine")
            return {"grade": "unknown"}
        """
    )

    result = pytester.runpytest("--sop-domain=lab::T_01", "--agent=slow:agent", "--tb=short")

    captured = result.stdout.str().partition("Captured stdout call")[2].splitlines()[1:3]
    assert "mine" == captured[0]
    assert not captured[1].startswith("sop:")


@pytest.mark.usefixtures("lab")
def test_a_person_sees_the_line_and_no_letters(pytester: pytest.Pytester, lab: Path) -> None:
    child = pytester.spawn_pytest(
        "--sop-domain=lab --agent=habits:right --sop-concurrency=2", expect_timeout=60
    )
    seen = StringIO(child.read().decode())

    assert "6 passed" in seen.getvalue()
    assert not any(line.startswith("domains/lab/data.csv ...") for line in seen)
