"""Rules about a domain's own tools: their code is run in a process of its own."""

from __future__ import annotations

import json
import os
import sys
from pathlib import Path
from textwrap import indent
from typing import Any

import pytest
from parcels import SOUND, spec, with_code, write_lab

from pytest_sopbench._audit.audit import audit
from pytest_sopbench._audit.model import Finding
from pytest_sopbench._audit.observing.sandbox import Limits
from pytest_sopbench._audit.policy_source import changing_calls


def test_sound_tools_have_no_finding(run_lab: Any) -> None:
    with_code(run_lab)

    assert [] == run_lab.findings()


UNSOUND = {
    "nothing": ("return None", "stub"),
    "an_empty_object": ("return {}", "stub"),
    "a_constant": ('return {"weight_kg": 20}', "constant-tool"),
    "a_failure": ('raise NotImplementedError("later")', "tool-fails"),
    "an_exit": ('sys.exit("bye")', "tool-fails"),
    "another_value": (
        'return {"weight_kg": int(ROWS[parcel_id]["weight_kg"]) + 1}',
        "answer-differs",
    ),
    "not_a_number": ('return {"kilograms": float("nan")}', "not-json"),
    "a_set": ('return {"weights": {1, 2}}', "not-json"),
    "a_clock": ('return {"kilograms": time.perf_counter_ns()}', "random-tool"),
    "the_id": ('return {"kilograms": hash(parcel_id) % 40}', "blind-tool"),
}
"""The body of each tool, and the rule that it does not keep."""


@pytest.fixture(scope="module")
def unsound(tmp_path_factory: pytest.TempPathFactory) -> list[Finding]:
    """What is found in one domain with all of these tools: a process takes most of a second."""
    folder = tmp_path_factory.mktemp("unsound") / "parcels"
    lab = write_lab(folder)
    bodies = "".join(
        f"        if name == {name!r}:\n{indent(body, ' ' * 12)}\n"
        for name, (body, _) in UNSOUND.items()
    )
    with_code(lab)
    code = (folder / "tools.py").read_text("utf-8")
    head = "        parcel_id = arguments['parcel_id']\n"
    first = '        if name == "weigh":\n'
    lab.write(tools_py=code.replace(first, f"{head}{bodies}{first}"), policy_py=None)
    lab.specs(*(spec(name) for name in ("weigh", "screen", *UNSOUND)))
    return list(audit(folder).findings)


@pytest.mark.parametrize(("tool", "rule"), [(tool, rule) for tool, (_, rule) in UNSOUND.items()])
def test_a_tool_that_is_unsound_is_told(unsound: list[Finding], tool: str, rule: str) -> None:
    assert rule in {one.rule for one in unsound if one.place.tool == tool}


@pytest.mark.parametrize("body", ["pass", "...", '"""Weigh it."""', "return None"])
def test_a_method_without_a_body_is_told_where_it_could_not_be_called(
    run_lab: Any, body: str
) -> None:
    with_code(run_lab, body, more=", seal")
    run_lab.write(policy_py=None)
    run_lab.specs(spec("screen"), spec("weigh", seal={"type": "string"}))

    assert "weigh" == run_lab.only("stub").place.tool


def test_a_library_that_is_not_installed_is_named_with_how_to_install_it(run_lab: Any) -> None:
    with_code(run_lab, top="raise ModuleNotFoundError(\"No module named 'pandas'\", name='pandas')")

    hint = "pip install pandas; the extra 'pandas' brings it"
    assert hint in str(run_lab.findings("code-fails")[0].do)


def test_sound_tools_beside_unsound_ones_are_not_told(unsound: list[Finding]) -> None:
    assert set() == {one.place.tool for one in unsound} & {"weigh", "screen"}


def test_rows_where_a_tool_differs_from_the_column_are_named(run_lab: Any) -> None:
    with_code(run_lab, f'if parcel_id == "L003":\n    return {{"weight_kg": 7}}\n{SOUND}')

    found = run_lab.only("answer-differs")

    assert ("weight_kg", 4) == (found.place.column, found.place.line)


def test_an_argument_that_changes_nothing_is_told(run_lab: Any) -> None:
    with_code(run_lab, more=", destination")
    run_lab.specs(
        {
            "name": "weigh",
            "description": "",
            "parameters": {
                "type": "object",
                "properties": {"parcel_id": {"type": "string"}, "destination": {"type": "string"}},
                "required": ["parcel_id", "destination"],
            },
        },
        {
            "name": "screen",
            "description": "",
            "parameters": {
                "type": "object",
                "properties": {"parcel_id": {"type": "string"}},
                "required": ["parcel_id"],
            },
        },
    )

    assert "'destination'" in run_lab.only("ignored-argument").what


def test_a_tool_that_computes_from_its_arguments_is_not_blind(run_lab: Any) -> None:
    """It reads no data, and is right all the same: exchanged rows change its arguments."""
    body = 'return {"doubled": 2 * len(destination)}'
    with_code(run_lab, body, more=', destination="island"')
    properties = {"parcel_id": {"type": "string"}, "destination": {"type": "string"}}
    weigh = {
        "name": "weigh",
        "description": "",
        "parameters": {"type": "object", "properties": properties},
    }
    run_lab.specs(weigh, {**weigh, "name": "screen"}).write(policy_py=None)

    assert [] == run_lab.findings("blind-tool")


def test_a_tool_with_a_file_of_its_own_may_answer_by_the_id(run_lab: Any) -> None:
    top = 'OWN = json.loads((Path(__file__).parent / "own.json").read_text())'
    with_code(run_lab, 'return {"kilograms": OWN[parcel_id]}', top=top).write(policy_py=None)
    own = {f"L{number:03}": number % 40 for number in range(1, 129)}
    run_lab.write(own_json=json.dumps(own))

    assert [] == run_lab.findings()


def test_a_tool_that_records_may_answer_the_same_to_everybody(run_lab: Any) -> None:
    with_code(run_lab, rest='def stamp(self, parcel_id):\n    return {"status": "stamped"}')
    code = (run_lab.folder / "tools.py").read_text("utf-8")
    policy = (run_lab.folder / "policy.py").read_text("utf-8")
    first = '        if name == "weigh":\n'
    stamp = '        if name == "stamp":\n            return self.stamp(**arguments)\n'
    call = '    call("stamp", parcel_id=inputs["parcel_id"])\n'
    run_lab.write(
        tools_py=code.replace(first, f"{stamp}{first}"),
        policy_py=policy.replace("    weight =", f"{call}    weight ="),
    )
    run_lab.specs(*(spec(name) for name in ("weigh", "screen", "stamp")))

    assert [] == run_lab.findings()


def test_a_tool_that_needs_what_no_column_has_is_noted(run_lab: Any) -> None:
    with_code(run_lab, more=", comment")
    run_lab.specs(spec("weigh", comment={"type": "string"}), spec("screen")).write(policy_py=None)

    found = run_lab.only("tool-not-called")

    assert "'comment'" in found.what


def test_parameters_of_spec_and_method_are_compared(run_lab: Any) -> None:
    with_code(run_lab, more=", office")

    found = run_lab.only("parameter-not-accepted")

    assert "needs 'office'" in found.what


def test_a_tool_that_the_manager_does_not_know_is_told(run_lab: Any) -> None:
    with_code(run_lab)
    code = (run_lab.folder / "tools.py").read_text("utf-8")
    run_lab.write(tools_py=code.replace('if name == "screen"', 'if name == "sceen"'))

    assert "screen" == run_lab.only("spec-without-tool").place.tool


def test_a_method_that_no_spec_names_is_told(run_lab: Any) -> None:
    with_code(run_lab, rest="def stamp(self, parcel_id):\n    return {}")

    assert "stamp" == run_lab.only("tool-without-spec").place.tool


def test_the_source_of_chance_is_told_with_its_line(run_lab: Any) -> None:
    with_code(run_lab, top="import random\nLOT = random.randint(1, 6)")

    found = run_lab.only("random-source")

    assert "random.randint()" in found.what
    assert (
        "LOT" in (run_lab.folder / "tools.py").read_text().splitlines()[(found.place.line or 1) - 1]
    )


@pytest.mark.parametrize(
    ("source", "calls"),
    [
        ("import uuid\nx = uuid.uuid4()", ["uuid.uuid4"]),
        ("from uuid import uuid4 as new\nx = new()", ["uuid.uuid4"]),
        ("from datetime import datetime\nx = datetime.now()", ["datetime.now"]),
        ("import datetime as d\nx = d.date.today()", ["date.today"]),
        ("import random\nrandom.seed(1)\nx = random.random()", []),
        ("import random\nx = random.Random(4).random()", []),
        ("import uuid\nx = uuid.uuid5(uuid.NAMESPACE_DNS, 'a')", []),
        ("def f(:", []),
    ],
)
def test_what_differs_each_time_is_found_in_the_source(source: str, calls: list[str]) -> None:
    assert calls == [name for _, name in changing_calls(source)]


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param("time.sleep(1_000)", "hangs", id="sleeps"),
        pytest.param(
            f"if parcel_id == 'L003':\n    os.fork()\n{SOUND}",
            "forks",
            id="forks",
            marks=pytest.mark.skipif(not hasattr(os, "fork"), reason="there is no fork here"),
        ),
        pytest.param(
            f"print('x' * 100_000)\n{SOUND}",
            "prints megabytes",
            id="prints",
        ),
        pytest.param("os._exit(3)", "ends the process (status 3", id="ends"),
        pytest.param("os.abort()", "kills the process (signal SIGABRT", id="crashes"),
    ],
)
def test_code_that_disturbs_its_process_is_a_finding(run_lab: Any, body: str, said: str) -> None:
    with_code(run_lab, body)

    found = audit(run_lab.folder, limits=Limits(stall=4)).findings

    assert any(one.rule == "code-fails" and said in one.what for one in found)


STARTING = """
import subprocess, sys
if not Path({left!r}).exists():
    program = "import os, time; open({left!r}, 'w').write(str(os.getpid())); time.sleep(1_000)"
    {daemon}
    while not Path({left!r}).exists() or not Path({left!r}).read_text():
        time.sleep(0.01)
"""
IN_A_SESSION = "subprocess.Popen([sys.executable, '-c', program], start_new_session=True)"
OF_A_CHILD = f"""outer = "import subprocess, sys; program = sys.argv[1]; {IN_A_SESSION}"
    subprocess.run([sys.executable, "-c", outer, program])"""


def is_running(number: str) -> bool:
    """Whether a process is; of one that has ended and was not waited for, no command is known."""
    try:
        return bool(Path("/proc", number, "cmdline").read_bytes())
    except OSError:
        return False


@pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="needs Linux")
@pytest.mark.parametrize(
    "daemon",
    [pytest.param(IN_A_SESSION, id="a child"), pytest.param(OF_A_CHILD, id="a grandchild")],
)
def test_what_the_code_has_started_is_ended_with_it(
    run_lab: Any, tmp_path: Path, daemon: str
) -> None:
    left = tmp_path / "its_number"
    with_code(run_lab, top=STARTING.format(left=str(left), daemon=daemon))

    run_lab.findings()

    assert not is_running(left.read_text())


@pytest.mark.skipif(sys.platform != "linux", reason="other systems do not bound it")
def test_code_that_takes_gigabytes_is_a_finding(run_lab: Any) -> None:
    with_code(run_lab, f"bytearray(3 << 30)\n{SOUND}")

    found = run_lab.findings()

    assert any("MemoryError" in f"{one.what} {one}" for one in found)


@pytest.mark.parametrize(
    ("code", "said"),
    [
        pytest.param("raise LookupError('no table')", "LookupError: no table", id="raises"),
        pytest.param("import os\nos._exit(5)", "ends the process (status 5)", id="exits"),
        pytest.param("x = 1", "process_tool_call", id="no manager"),
    ],
)
def test_tools_that_cannot_be_imported_are_a_finding(run_lab: Any, code: str, said: str) -> None:
    run_lab.metadata(tools=None).write(tools_py=code)

    assert said in run_lab.only("code-fails").what


def test_the_code_has_no_environment_and_leaves_no_trace(
    run_lab: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PARCELS_KEY", "secret")
    top = 'Path("left").write_text("x")\nassert "PARCELS_KEY" not in os.environ, "it is there"'
    with_code(run_lab, top=top)

    assert [] == run_lab.findings()
    assert not (run_lab.folder / "left").exists()
    assert not (run_lab.folder / "__pycache__").exists()


def test_code_is_not_run_where_that_was_said(run_lab: Any) -> None:
    run_lab.metadata(tools=None).write(tools_py="raise LookupError")

    assert () == audit(run_lab.folder, run_code=False).findings


def test_the_policy_that_hangs_is_a_finding(run_lab: Any) -> None:
    run_lab.write(policy_py="import time\ndef decide(inputs, call):\n    time.sleep(1_000)\n")

    found = audit(run_lab.folder, limits=Limits(stall=4)).findings

    assert ["code-fails"] == [one.rule for one in found]
    assert "policy.py" in found[0].place.file
