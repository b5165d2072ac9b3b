"""Sessions on a domain with a world: every way to make a run comes to the same."""

from __future__ import annotations

import json
import threading
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any, cast

import pytest

import pytest_sopbench
from pytest_sopbench._running.tools import policy_states
from tests.builders.commands import ran
from tests.builders.pages import RETURNS, blocks, write_returns

SOP = "--sop-domain=returns"
WRONG = {"T-2": "wrong", "T-3": "wrong"}

AGENTS = """
import os

import urllib3

from pytest_sopbench.errors import ToolError

WRONG_ORDER = {"order_id": "O-11", "amount": "40.00"}
WRONG_AMOUNT = {"order_id": None, "amount": "1.00"}


def right(inputs, tools, **instead):
    order_id = inputs["order_id"]
    try:
        order = tools.call("get_order", order_id=order_id)
    except ToolError:
        return {"decision": "refuse"}
    if order["status"] not in {"lost", "late"}:
        return {"decision": "refuse"}
    tools.call("refund_order", **{"order_id": order_id, "amount": order["paid"], **instead})
    tools.call("close_order", order_id=order_id)
    return {"decision": "refund"}


def wrong_order(inputs, tools):
    return right(inputs, tools, order_id="O-11")


def wrong_amount(inputs, tools):
    return right(inputs, tools, amount="1.00")


def asks(inputs, tools):
    reply = urllib3.request("POST", os.environ["STUB"], json={"order": inputs["order_id"]})
    return right(inputs, tools, **reply.json())


def dies(inputs, tools):
    answer = right(inputs, tools)
    if inputs["task"] == "T-2":
        import os
        os._exit(3)
    return answer
"""


@pytest.fixture
def desk(pytester: pytest.Pytester) -> Path:
    """The domain of the how-to page, its agent as `desk:agent`, and others as `hands:...`."""
    pytester.makepyfile(desk=write_returns(pytester.path), hands=AGENTS)
    return pytester.path / "domains" / "returns"


def saved(pytester: pytest.Pytester, name: str = "last") -> dict[str, dict[str, Any]]:
    path = pytester.path / ".sop" / "sessions" / f"{name}.jsonl"
    lines = [json.loads(line) for line in path.read_text().splitlines()]
    runs = {one["task"]: one for one in lines if one["type"] == "run"}
    for run in runs.values():
        for changing in ("duration_s", "crc", "trace", "text"):
            run.pop(changing, None)
    return runs


@pytest.mark.parametrize("agent", ["wrong_order", "wrong_amount"])
def test_right_answers_with_one_wrong_argument_are_caught_on_every_task_that_writes(
    pytester: pytest.Pytester, desk: Path, agent: str
) -> None:
    result = pytester.runpytest(SOP, f"--sop-agent=hands:{agent}")

    result.assert_outcomes(passed=2, failed=3)
    result.stdout.fnmatch_lines(
        ["ECR   100.0% answered, 5 of 5*", "wrong  3 (3 by its state)"], consecutive=True
    )


def test_the_right_agent_passes(pytester: pytest.Pytester, desk: Path) -> None:
    pytester.runpytest(SOP, "--sop-agent=hands:right").assert_outcomes(passed=5)


@pytest.mark.parametrize("how", ["-n2", "--sop-concurrency=4", "-n2 --sop-concurrency=4"])
def test_workers_and_runs_in_flight_come_to_the_same(
    pytester: pytest.Pytester, desk: Path, how: str
) -> None:
    pytester.runpytest(SOP, "--sop-agent=desk:agent", "-p", "no:randomly")
    alone = saved(pytester)

    pytester.runpytest(SOP, "--sop-agent=desk:agent", *how.split())

    assert alone == saved(pytester)
    assert WRONG == {name: one["outcome"] for name, one in alone.items() if one["mismatches"] == []
                     and one["outcome"] != "correct"}  # fmt: skip


def test_a_resumed_session_takes_the_state_over(pytester: pytest.Pytester, desk: Path) -> None:
    pytester.runpytest(SOP, "--sop-agent=desk:agent")
    whole = saved(pytester)
    pytester.runpytest(SOP, "--sop-agent=desk:agent", "-k", "T-1 or T-2 or T-4")

    result = pytester.runpytest(SOP, "--sop-agent=desk:agent", "--sop-resume=last")

    assert whole == saved(pytester)
    result.stdout.fnmatch_lines(["wrong state: orders[[]O-12].status is 'lost', expected 'closed'"])


class Model(ThreadingHTTPServer):
    """Says what is to be paid back otherwise than the order says: of one order, too little."""

    daemon_threads = True
    asked = 0

    class RequestHandlerClass(BaseHTTPRequestHandler):
        def do_POST(self) -> None:
            cast("Model", self.server).asked += 1
            order = json.loads(self.rfile.read(int(self.headers["content-length"])))["order"]
            self.send_response(200)
            self.end_headers()
            self.wfile.write(json.dumps({"amount": "1.00"} if order == "O-12" else {}).encode())

        def log_message(self, *_: object) -> None:
            """Be silent."""


def test_the_policies_of_bundled_worlds_are_right_in_two_workers(
    pytester: pytest.Pytester,
) -> None:
    bundled = Path(pytest_sopbench.__file__).parent / "bundled"
    names = sorted(path.parent.name for path in bundled.glob("*/world.json"))

    result = pytester.runpytest(
        *(f"--sop-domain={name}" for name in names),
        "--sop-agent=reference-policy",
        "--sop-fail-under=1",
        "--sop-gate=expected_calls=1",
        "--sop-gate=contract=1",
        "-n2",
        "--sop-sample=first:30",
    )

    assert {"order_fulfillment", "patient_intake"} <= {*names}
    result.assert_outcomes(passed=30 * len(names))
    assert 0 == result.ret


def verdicts(runs: dict[str, dict[str, Any]]) -> dict[str, list[Any]]:
    """What was done and how it was judged; not how often a model was asked."""
    names = ("outcome", "reason", "answer", "calls", "state", "state_differs", "rules")
    return {task: [run.get(name) for name in names] for task, run in runs.items()}


@pytest.mark.parametrize("how", ["-n0", "-n2 --sop-concurrency=4"])
def test_a_replayed_session_comes_to_the_same(
    pytester: pytest.Pytester, desk: Path, monkeypatch: pytest.MonkeyPatch, how: str
) -> None:
    with Model(("127.0.0.1", 0), Model.RequestHandlerClass) as model:
        threading.Thread(target=model.serve_forever, args=(0.02,), daemon=True).start()
        monkeypatch.setenv("STUB", f"http://127.0.0.1:{model.server_port}/v1/pay")
        pytester.runpytest(SOP, "--sop-agent=hands:asks", "--sop-replay=record")
        model.shutdown()
    recorded = saved(pytester)

    result = pytester.runpytest(SOP, "--sop-agent=hands:asks", "--sop-replay=only", *how.split())

    assert 5 == model.asked
    assert verdicts(recorded) == verdicts(saved(pytester))
    assert ["T-2"] == [name for name, one in recorded.items() if one["outcome"] == "wrong"]
    result.stdout.fnmatch_lines(
        ["sop: replaying 5 recordings*", "wrong state: refunds[[]R-2].amount is '1.00'*"]
    )


@pytest.mark.parametrize("logs", [True, False], ids=["by its event log", "by its record"])
def test_a_rescored_session_comes_to_the_same(
    pytester: pytest.Pytester, desk: Path, logs: bool
) -> None:
    pytester.runpytest(SOP, "--sop-agent=desk:agent", "--sop-save=s")
    if not logs:
        for path in (pytester.path / ".sop" / "sessions").rglob("*.traces/**/*.jsonl"):
            path.unlink()

    result = ran("rescore", "s", "--scoring=exact", "--out=s2")

    assert "0 runs have another outcome" in result.outlines
    before, after = saved(pytester, "s"), saved(pytester, "s2")
    assert before == after


def test_a_policy_says_what_is_right_in_a_session_and_when_it_is_rescored(
    pytester: pytest.Pytester, desk: Path
) -> None:
    (desk / "expected_state.jsonl").unlink()
    (desk / "policy.py").write_text(
        "from hands import right\n"
        "class Calls:\n"
        "    def __init__(self, call): self.call = call\n"
        "def decide(inputs, call): return right(inputs, Calls(call))\n"
    )

    pytester.runpytest(SOP, "--sop-agent=desk:agent", "--sop-save=s")
    result = pytester.run("sopbench", "rescore", "s", "--scoring=exact", "--out=s2")

    assert WRONG == {name: one["outcome"] for name, one in saved(pytester, "s").items()
                     if one["outcome"] != "correct"}  # fmt: skip
    assert "0 runs have another outcome" in result.outlines


def test_a_policy_that_raises_makes_no_run_right(pytester: pytest.Pytester, desk: Path) -> None:
    (desk / "expected_state.jsonl").unlink()
    (desk / "policy.py").write_text("def decide(inputs, call): raise SystemExit('closed')\n")

    result = pytester.runpytest(SOP, "--sop-agent=hands:right")

    assert 0 != result.ret
    result.stdout.fnmatch_lines(
        ["*not judged: state: the reference policy raised SystemExit: closed*"]
    )
    assert {"unavailable"} == {one["outcome"] for one in saved(pytester).values()}


def test_a_policy_that_hangs_makes_no_run_right_and_is_asked_once(
    pytester: pytest.Pytester, desk: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (desk / "expected_state.jsonl").unlink()
    (desk / "policy.py").write_text(
        "import pathlib, threading\n"
        "def decide(inputs, call):\n"
        "    with (pathlib.Path(__file__).parent / 'asked').open('a') as file: file.write('.')\n"
        "    threading.Event().wait()\n"
    )
    monkeypatch.setattr(policy_states, "_SECONDS", 0.5)

    result = pytester.runpytest(SOP, "--sop-agent=hands:right", "-p", "no:randomly")

    assert 0 != result.ret
    result.stdout.fnmatch_lines(
        ["*not judged: state: the reference policy did not end within 0.5 s*", "*not asked again"]
    )
    assert {"unavailable"} == {one["outcome"] for one in saved(pytester).values()}
    assert "." == (desk / "asked").read_text()


def test_a_run_whose_process_died_has_no_state_and_stays_in_the_denominator(
    pytester: pytest.Pytester, desk: Path
) -> None:
    result = pytester.runpytest(SOP, "--sop-agent=hands:dies", "-n1")

    runs = saved(pytester)
    assert ("crash", None) == (runs["T-2"]["outcome"], runs["T-2"].get("state"))
    result.stdout.fnmatch_lines(["TSR*correct, 4 of 5*"])


def test_what_changed_is_shown_beside_its_call(pytester: pytest.Pytester, desk: Path) -> None:
    pytester.runpytest(SOP, "--sop-agent=desk:agent", "--sop-save=s")

    shown = ran("show", "s", "T-3").outlines
    page = ran("report", "s", "--to", "html=page.html")
    text = (pytester.path / "page.html").read_text()

    at = shown.index(
        "  state  refunds[R-2] inserted: refund_id='R-2', order_id='O-13', amount='9.50'"
    )
    assert "  result refund_id: 'R-2'" == shown[at - 1]
    assert "state    refunds: one too many (R-3, O-13, 9.50)" in shown
    assert 0 == page.ret
    assert "refunds[R-3] inserted" in text


def test_a_secret_in_the_state_is_masked_everywhere(pytester: pytest.Pytester, desk: Path) -> None:
    pytester.makeini("[pytest]\nsop_redact = 40[.]00\n")

    result = pytester.runpytest(SOP, "--sop-agent=desk:agent", "-v")

    files = [one.read_text() for one in (pytester.path / ".sop").rglob("*.jsonl")]
    assert "40.00" not in "".join([*files, str(result.stdout)])
    assert "***" in saved(pytester)["T-2"]["state"][0]["after"]["amount"]


def test_that_the_state_is_judged_stands_above_a_session_and_in_the_list(
    pytester: pytest.Pytester, desk: Path
) -> None:
    above = pytester.runpytest(SOP, "--sop-agent=hands:right", "--collect-only")
    listed = ran("list", "returns", "-v")

    above.stdout.fnmatch_lines(["sop: returns, 5 tasks, agent hands:right, state judged"])
    listed.stdout.fnmatch_lines(["  judged *answer, state"])


def test_the_tests_of_the_page_pass(pytester: pytest.Pytester, desk: Path) -> None:
    (code,) = [one for one in blocks(RETURNS, "python") if "def test_" in one]
    pytester.makepyfile(test_desk=code)

    result = pytester.runpytest(SOP, "--sop-agent=hands:right", "test_desk.py")

    result.assert_outcomes(passed=5)


def test_a_test_of_the_state_fails_with_what_differs(pytester: pytest.Pytester, desk: Path) -> None:
    pytester.makepyfile(
        test_desk="""
        import pytest

        def test_state(sop_run):
            sop_run.assert_state({"orders": {"O-12": {"status": "closed"}, "O-77": None}})

        def test_unchanged(sop_run):
            sop_run.assert_unchanged("orders", "refunds")

        def test_no_such_table(sop_run):
            with pytest.raises(ValueError, match="the world has no table 'x'"):
                sop_run.assert_unchanged("x")
            with pytest.raises(ValueError, match="the world has no table 'x'"):
                sop_run.assert_state({"x": {}})
        """
    )

    result = pytester.runpytest(
        f"{SOP}::T-3", "--sop-agent=hands:right", "test_desk.py", "-p", "no:randomly"
    )

    result.stdout.fnmatch_lines(
        [
            "*orders[[]O-12].status is 'lost', expected 'closed'*",
            "*orders[[]O-13] was changed at step 3*",
            "*refunds[[]R-2] was changed at step 2*",
        ]
    )


def test_changes_are_approved_as_a_snapshot(pytester: pytest.Pytester, desk: Path) -> None:
    pytest.importorskip("syrupy")
    pytester.makepyfile(
        test_desk="def test_state(sop_run, sop_snapshot):\n"
        "    assert sop_run.state_changes == sop_snapshot\n"
    )
    run = (SOP, "test_desk.py", "-p", "syrupy")
    pytester.runpytest(*run, "--sop-agent=hands:right", "--snapshot-update")

    same = pytester.runpytest(*run, "--sop-agent=hands:right")
    other = pytester.runpytest(*run, "--sop-agent=hands:wrong_amount")

    assert (0, 1) == (same.ret, other.ret)


def test_an_assertion_that_asks_nothing_of_the_state_is_refused(
    pytester: pytest.Pytester, desk: Path
) -> None:
    pytester.makepyfile(
        test_desk="""
        import pytest

        def test_nothing(sop_run):
            with pytest.raises(ValueError, match="assert_unchanged asks nothing"):
                sop_run.assert_unchanged()
            with pytest.raises(ValueError, match="assert_state asks nothing"):
                sop_run.assert_state({})
            with pytest.raises(ValueError, match="assert_state of the table 'refunds' asks"):
                sop_run.assert_state({"refunds": {}})
            with pytest.raises(ValueError, match="the keys of 'order_id' are texts"):
                sop_run.assert_state({"orders": {12: None}})
        """
    )

    result = pytester.runpytest(f"{SOP}::T-3", "--sop-agent=hands:right", "test_desk.py")

    result.assert_outcomes(passed=1)


BOTH = """
def test_both(sop_run, sop_snapshot):
    assert sop_run.trajectory == sop_snapshot
    assert sop_run.state_changes == sop_snapshot
"""


def test_calls_and_changes_of_one_task_have_two_snapshots(
    pytester: pytest.Pytester, desk: Path
) -> None:
    pytest.importorskip("syrupy")
    pytester.makepyfile(test_desk=BOTH)
    run = (SOP, "test_desk.py", "-p", "syrupy", "--sop-agent=hands:right")

    updated = pytester.runpytest(*run, "--snapshot-update")
    again = pytester.runpytest(*run)

    updated.assert_outcomes(passed=5)
    again.assert_outcomes(passed=5)
    kept = pytester.path / "sop_snapshots" / "returns"
    assert '"name": "refund_order"' in (kept / "T-2.json").read_text()
    assert '"name": "insert refunds"' in (kept / "state" / "T-2.json").read_text()


def test_a_change_that_is_not_approved_says_how_it_is(
    pytester: pytest.Pytester, desk: Path
) -> None:
    pytest.importorskip("syrupy")
    pytester.makepyfile(test_desk=BOTH.replace("sop_run.trajectory == sop_snapshot", "True"))
    run = (f"{SOP}::T-2", "test_desk.py", "-p", "syrupy", "--sop-agent=hands:right")

    missing = pytester.runpytest(*run)
    pytester.runpytest(*run, "--snapshot-update")

    missing.stdout.fnmatch_lines(
        ["*to approve it: run this test again with --snapshot-update"], consecutive=True
    )
    missing.stdout.no_fnmatch_line("*sopbench approve*")
    pytester.runpytest(*run).assert_outcomes(passed=1)


def test_the_snapshot_of_the_state_of_a_task_that_is_gone_is_unused(
    pytester: pytest.Pytester, desk: Path
) -> None:
    pytest.importorskip("syrupy")
    pytester.makepyfile(test_desk=BOTH)
    run = (SOP, "test_desk.py", "-p", "syrupy", "--sop-agent=hands:right")
    pytester.runpytest(*run, "--snapshot-update")
    kept = pytester.path / "sop_snapshots" / "returns" / "state"
    (kept / "T-2.json").rename(kept / "T-9.json")

    result = pytester.runpytest(*run, "--snapshot-update")

    result.stdout.fnmatch_lines(["1 unused snapshot deleted", "  returns/T-9 (state)"])
    assert ["T-1", "T-2", "T-3", "T-4", "T-5"] == sorted(one.stem for one in kept.iterdir())
