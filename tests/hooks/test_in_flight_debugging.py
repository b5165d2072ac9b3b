"""A debugger that opens in a run has the terminal to itself, however many are in flight."""

from __future__ import annotations

from threading import Thread
from types import SimpleNamespace

import pytest

from pytest_sopbench._hooks.outgoing import Debugging

LAB = "--sop-domain=lab"

WHERE = """
import threading
from habits import right


def agent(inputs, tools):
    with open("where.txt", "a") as file:
        file.write(f"{threading.current_thread() is threading.main_thread()}\\n")
    return right(inputs, tools)
"""

IN_MAIN = "sop: runs are made one at a time in the main thread, without a limit of time"


@pytest.mark.usefixtures("lab")
def test_trace_stops_before_the_run_and_makes_it_in_the_main_thread(
    pytester: pytest.Pytester,
) -> None:
    pytester.makepyfile(where=WHERE)

    child = pytester.spawn_pytest(
        f"{LAB}::T_03 --agent=where:agent --trace --sop-concurrency=4", expect_timeout=60
    )
    child.expect_exact(IN_MAIN)
    child.expect("Pdb")
    child.sendline("c")
    rest = child.read().decode()

    assert "1 passed" in rest
    assert ["True"] == (pytester.path / "where.txt").read_text().split()


@pytest.mark.usefixtures("lab")
def test_the_debugger_opens_in_an_agent_in_flight(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(
        stops="""
        from habits import right

        def agent(inputs, tools):
            if inputs["sample_id"] == "T_03":
                breakpoint()
            return right(inputs, tools)
        """
    )

    child = pytester.spawn_pytest(
        f"{LAB} --agent=stops:agent --sop-concurrency=4", expect_timeout=60
    )
    child.expect("stops.py")
    child.expect("Pdb")
    child.sendline("p inputs")
    child.expect("'sample_id': 'T_03'")
    child.sendline("c")
    rest = child.read().decode()

    assert "6 passed" in rest


@pytest.mark.usefixtures("lab")
@pytest.mark.parametrize("options", ["--sop-concurrency=4", ""])
def test_who_quits_the_debugger_ends_the_session(pytester: pytest.Pytester, options: str) -> None:
    pytester.makepyfile(stops="def agent(inputs):\n    breakpoint()\n    return 'pass'")

    child = pytester.spawn_pytest(f"{LAB} --agent=stops:agent {options}", expect_timeout=60)
    child.expect("Pdb")
    child.sendline("q")
    rest = child.read().decode()

    assert "Exit: Quitting debugger" in rest
    assert "not_run" in rest


@pytest.mark.usefixtures("lab")
def test_the_debugger_opens_in_a_thread_of_a_test(pytester: pytest.Pytester) -> None:
    """It belongs to no run, so that nobody stands still for it."""
    pytester.makepyfile(
        test_thread="""
        import threading

        def test_thread(sop_run):
            if sop_run.task.id == "T_02":
                thread = threading.Thread(target=breakpoint)
                thread.start()
                thread.join()
        """
    )

    child = pytester.spawn_pytest(
        f"{LAB} --agent=habits:right --sop-concurrency=4 test_thread.py", expect_timeout=60
    )
    child.expect("Pdb")
    child.sendline("c")
    rest = child.read().decode()

    assert "6 passed" in rest


class HalfSuspended:
    """The capture of pytest as two threads leave it: it takes itself for suspended, and is not."""

    def __init__(self) -> None:
        self.says_suspended, self.is_suspended = True, False

    def resume(self) -> None:
        if self.says_suspended:
            self.says_suspended = self.is_suspended = False

    def suspend(self, *, in_: bool) -> None:
        if not self.says_suspended:
            self.says_suspended = self.is_suspended = in_


def test_a_debugger_gets_the_terminal_whatever_the_capture_takes_itself_for(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    capture = HalfSuspended()
    manager = pytest.PytestPluginManager()
    manager.register(capture, "capturemanager")
    debugging = Debugging(SimpleNamespace(pluginmanager=manager))  # type: ignore[arg-type]
    monkeypatch.setattr(f"{Debugging.__module__}.is_kept_apart", lambda: True)
    debugger = SimpleNamespace(set_quit=lambda: None)
    opening = Thread(target=debugging.pytest_enter_pdb, args=(debugger,))
    opening.start()

    while opening.is_alive():
        # As the main thread does while it waits for a run; it stands still until the user leaves.
        standing = Thread(target=debugging.look)
        standing.start()
        opening.join(0.05)
        if not opening.is_alive():
            debugging.pytest_leave_pdb(debugger)
        standing.join(0.05)

    assert capture.is_suspended
