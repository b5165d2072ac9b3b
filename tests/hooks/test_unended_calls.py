"""What is written while no call of the agent waits for it: it is judged, or is not known."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

TOOLS = """
import time
class PayManager:
    def __init__(self, world):
        self.payments = world["payments"]
    def process_tool_call(self, name, arguments):
        n = len(self.payments) + 1
        self.payments[n] = {"n": n, "id": arguments["id"]}
        if n > 1:
            time.sleep(SECONDS)
        return {"n": n}
"""
AGENTS = """
import asyncio
import threading
import time


def thread(inputs, tools):
    tools.call("pay", id=inputs["id"])
    again = ("pay", {"id": inputs["id"]})
    threading.Thread(target=tools.execute_tool, args=again, daemon=True).start()
    time.sleep(0.1)
    return {"d": "done"}


async def impatient(inputs, tools):
    await tools.acall("pay", id=inputs["id"])
    try:
        await asyncio.wait_for(tools.acall("pay", id=inputs["id"]), 0.1)
    except TimeoutError:
        pass
    return {"d": "done"}


def once(inputs, tools):
    tools.call("pay", id=inputs["id"])
    return {"d": "done"}
"""
CHILD = """
import json, os, sys, urllib.request
request = json.load(sys.stdin)
for _ in range(2):
    body = json.dumps({"id": request["inputs"]["id"]}).encode()
    asked = urllib.request.Request(os.environ["SOPBENCH_TOOLS"] + "/pay", body, method="POST")
    try:
        urllib.request.urlopen(asked, timeout=0.3).read()
    except TimeoutError:
        pass
print(json.dumps({"d": "done"}))
"""
RULES = [
    {"id": "once", "clause": "1", "severity": "must", "at_most": {"pay": 1}},
    {"id": "as-declared", "clause": "1", "severity": "must", "as_expected": ["pay"]},
    {
        "id": "one-payment",
        "clause": "1",
        "severity": "must",
        "state": {"table": "payments", "at_most": 1, "per": ["id"]},
    },
]


def write_pay(folder: Path, tools: str) -> None:
    pay = folder / "domains" / "pay"
    pay.mkdir(parents=True)
    metadata = {
        "name": "pay",
        "id_column": "id",
        "input_columns": ["id"],
        "output_columns": ["d"],
        "judged": ["answer", "state"],
        "contract": {"rules": RULES},
    }
    number = {"type": "object", "properties": {"id": {"type": "string"}}, "required": ["id"]}
    specs = [{"name": "pay", "description": "Pays.", "parameters": number}]
    world = {"tables": {"payments": {"key": "n", "columns": ["n", "id"], "rows": []}}}
    state = [{"task": one, "state": {"payments": [{"n": 1, "id": one}]}} for one in ("T-1", "T-2")]
    calls = [
        {"task": one, "calls": [{"name": "pay", "arguments": {"id": one}}]}
        for one in ("T-1", "T-2")
    ]
    (pay / "sop.md").write_text("1. Pay each case once.\n")
    (pay / "data.csv").write_text("id,d\nT-1,done\nT-2,done\n")
    (pay / "tools.py").write_text(tools)
    for name, value in (("metadata", metadata), ("toolspecs", specs), ("world", world)):
        (pay / f"{name}.json").write_text(json.dumps(value))
    for name, rows in (("expected_state", state), ("expected_calls", calls)):
        lines = [json.dumps(one) for one in rows]
        (pay / f"{name}.jsonl").write_text("\n".join(lines) + "\n")


@pytest.fixture
def pay(pytester: pytest.Pytester) -> pytest.Pytester:
    write_pay(pytester.path, TOOLS.replace("SECONDS", "0.5"))
    pytester.makepyfile(hands=AGENTS, child=CHILD)
    return pytester


def test_who_pays_once_passes(pay: pytest.Pytester) -> None:
    result = pay.runpytest("--sop-domain=pay", "--agent=hands:once")

    result.assert_outcomes(passed=2)


@pytest.mark.parametrize("agent", ["hands:thread", "hands:impatient", "exec:python child.py"])
def test_a_call_that_is_at_work_at_the_answer_is_waited_for_and_judged(
    pay: pytest.Pytester, agent: str
) -> None:
    result = pay.runpytest("--sop-domain=pay", f"--agent={agent}", "-v")

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*wrong state: payments: one too many*"])
    for rule in ("once", "as-declared", "one-payment"):
        result.stdout.fnmatch_lines([f"*{rule} (1, must) broken in 2 of 2*"])
    shown = pay.run("sopbench", "show", "last", "pay/T-1").stdout.str()
    assert "the call had not ended" not in shown


@pytest.mark.parametrize("more", [(), ("-n2",), ("--sop-timeout=0",)], ids=" ".join)
def test_a_call_that_never_ends_makes_no_run_right_and_holds_nobody_up(
    pay: pytest.Pytester, more: tuple[str, ...]
) -> None:
    (pay.path / "domains" / "pay" / "tools.py").write_text(TOOLS.replace("SECONDS", "600"))
    pay.makeconftest("from pytest_sopbench._running import runner\nrunner.LAST_CALLS = 0.2\n")

    result = pay.runpytest_subprocess(
        "--sop-domain=pay", "--agent=hands:thread", "-v", *more, timeout=60
    )

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*state: a call had not ended when the run did*"])
    result.stdout.fnmatch_lines(["*once (1, must) broken in 2 of 2*"])


# What `tools.py` changes by itself.

BY_ITSELF = """
import threading
class PayManager:
    def __init__(self, world):
        self.payments = world["payments"]
    def process_tool_call(self, name, arguments):
        row = self.payments[1] = {"n": 1, "id": arguments["id"]}
        thread = threading.Thread(target=row.__setitem__, args=("id", "T-9"))
        threading.Timer(0.05, thread.start).start()
        return {"n": 1}
"""
WAITS = """
import time


def agent(inputs, tools):
    tools.call("pay", id=inputs["id"])
    time.sleep(0.5)
    return {"d": "done"}
"""


def test_what_a_tool_changes_after_its_call_is_judged(pytester: pytest.Pytester) -> None:
    write_pay(pytester.path, BY_ITSELF)
    pytester.makepyfile(waits=WAITS)

    result = pytester.runpytest("--sop-domain=pay", "--agent=waits:agent")

    result.assert_outcomes(failed=2)
    result.stdout.fnmatch_lines(["*wrong state: payments[[]1].id is 'T-9', expected 'T-1'*"])


def test_a_manager_that_writes_as_it_is_made_is_named(pytester: pytest.Pytester) -> None:
    made = 'self.payments = world["payments"]'
    write_pay(
        pytester.path, TOOLS.replace(made, f"{made}; self.payments[7] = {{'n': 7, 'id': 'x'}}")
    )
    pytester.makepyfile(waits=WAITS)

    result = pytester.runpytest("--sop-domain=pay", "--agent=waits:agent")

    assert 0 != result.ret
    result.assert_outcomes(errors=2)
    result.stdout.fnmatch_lines(["*tools.py: its constructor changes the world: payments[[]7]*"])
    result.stdout.no_fnmatch_line("*Traceback*")
