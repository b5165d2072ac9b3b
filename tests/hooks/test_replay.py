"""`--sop-replay`: model traffic recorded once, and served again without a network."""

from __future__ import annotations

import json
import re
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import urllib3  # noqa: F401 - what a session inside of a test imports is imported once

from pytest_sopbench._replay.cassette_lines import checksum
from tests.builders.commands import ran

from .conftest import ReadSaved

AGENTS = '''
import itertools
import os
import subprocess
import sys
import threading
import time
from datetime import datetime, timedelta
from uuid import uuid4
from concurrent.futures import ThreadPoolExecutor
from contextvars import copy_context
import urllib3
from pytest_sopbench import Unavailable

MORE = os.environ.get("MORE", "")
NUMBERS = itertools.count(time.time_ns() % 10**6)
POOL = urllib3.PoolManager(retries=False)
PROMPT = os.environ.get("PROMPT", "Grade it.")

def ask(sample, step, **more):
    body = {"model": "m-1", "prompt": PROMPT, "sample": sample, "step": step, **more}
    url = os.environ["STUB"] + "/v1/grade?key=planted-in-query"
    reply = POOL.request("POST", url, json=body, headers={"authorization": "Bearer planted"})
    return reply.json()

def two_steps(inputs, tools):
    sample = inputs["sample_id"]
    tools.report(usage={"cost_usd": 0.5})
    tools.call(ask(sample, 1)["tool"], sample_id=sample)
    return {"grade": ask(sample, 2)["grade"]}

def stubborn(inputs, tools):
    try:
        return two_steps(inputs, tools)
    except BaseException:
        return {"grade": "pass"}

def unseen(inputs, tools):
    return {"grade": "pass"}

def broken_first(inputs, tools):
    raise KeyError("sample")

def one_step(inputs, tools):
    ask(inputs["sample_id"], 1)
    return {"grade": "pass"}

# Two sessions may begin within one second.
NOW = datetime.now() + timedelta(seconds=os.getpid())

def dated(inputs, tools):
    """Says with each request when and by which id it is sent, in fields and in its prompt."""
    sample = inputs["sample_id"]
    said = {
        "sent_at": f"{datetime.now():%Y-%m-%dT%H:%M:%S.%f}",
        "metadata": {"trace_id": uuid4().hex, "run": f"run-{uuid4()}", "request": next(NUMBERS)},
        "prompt": f"Grade it. It is {NOW:%d %B %Y, %H:%M:%S}.{MORE}",
    }
    tools.call(ask(sample, 1, **said)["tool"], sample_id=sample)
    return {"grade": ask(sample, 2, **said)["grade"]}

def fetching(inputs, tools):
    if "FETCH" in os.environ:
        POOL.request("GET", os.environ["FETCH"])
    return two_steps(inputs, tools)

def in_a_thread(inputs, tools):
    found = []
    thread = threading.Thread(target=lambda: found.append(two_steps(inputs, tools)))
    thread.start()
    thread.join()
    return found[0]

CHILD = """
import json, os, sys, urllib.request
body = {"model": "m-1", "sample": sys.argv[1], "step": 2}
url = os.environ["OPENAI_BASE_URL"] + "/grade"
sent = urllib.request.Request(url, json.dumps(body).encode())
print(json.load(urllib.request.urlopen(sent))["grade"])
"""

def in_a_child(inputs, tools):
    sample = inputs["sample_id"]
    tools.call("measure", sample_id=sample)
    command = [sys.executable, "-c", CHILD, sample]
    child = subprocess.run(command, capture_output=True, text=True)
    return {"grade": child.stdout.strip() or child.stderr}

def on_threads(inputs, tools):
    asked = [one["function"]["name"] for one in ask(inputs["sample_id"], 3)["tool_calls"]]
    with ThreadPoolExecutor(2) as pool:
        for name in sorted(asked, reverse=bool(os.environ.get("REVERSED"))):
            pool.submit(copy_context().run, tools.call, name, **inputs).result()
    return {"grade": ask(inputs["sample_id"], 2)["grade"]}

def fails_on_second(inputs, tools):
    answer = two_steps(inputs, tools)
    if inputs["sample_id"] == "T_02":
        raise ValueError("broken")
    return answer

def dies_on_second(inputs, tools):
    answer = two_steps(inputs, tools)
    if inputs["sample_id"] == "T_02":
        os._exit(7)
    return answer

def away_first(inputs, tools, seen={}):
    sample = inputs["sample_id"]
    seen[sample] = seen.get(sample, 0) + 1
    if seen[sample] == 1:
        ask(sample, 9)
        raise Unavailable("a moment")
    return two_steps(inputs, tools)

def leaking(inputs, tools):
    ask(inputs["sample_id"], 1, note="sk-" + "abcDEF0123456789abcd")
    return two_steps(inputs, tools)
'''
ONE = ("--sop-domain=lab", "--sop-agent=mine=asking:two_steps")
RECORD, ONLY, AUTO = "--sop-replay=record", "--sop-replay=only", "--sop-replay=auto"
GRADES = ("pass", "retest", "fail")
TWO = [{"id": name, "function": {"name": name, "arguments": "{}"}} for name in ("weigh", "measure")]


class Model(ThreadingHTTPServer):
    """Grades samples as the domain expects it, and counts what it is asked."""

    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.asked: list[dict[str, Any]] = []


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["content-length"])))
        self.server.asked.append(body)  # type: ignore[attr-defined]
        grade = GRADES[int(body["sample"][2:]) % 3]
        replies = {1: {"tool": "measure"}, 2: {"grade": grade}, 3: {"tool_calls": TWO}}
        reply = json.dumps(replies.get(body["step"], {"grade": grade})).encode()
        self.send_response(200)
        self.send_header("content-type", "application/json")
        self.send_header("set-cookie", "session=planted-cookie")
        self.send_header("content-length", str(len(reply)))
        self.end_headers()
        self.wfile.write(reply)

    def log_message(self, *_: object) -> None:
        """Be silent."""


@pytest.fixture
def model(monkeypatch: pytest.MonkeyPatch) -> Iterator[Model]:
    with Model() as server:
        threading.Thread(target=server.serve_forever, args=(0.02,), daemon=True).start()
        monkeypatch.setenv("STUB", f"http://127.0.0.1:{server.server_port}")
        yield server
        server.shutdown()


@pytest.fixture(autouse=True)
def asking(pytester: pytest.Pytester, lab: Path, model: Model) -> Path:
    pytester.makepyfile(asking=AGENTS)
    return lab


def with_its_checksum(recording: str) -> str:
    """Return a recording of one trial as if it had been made so."""
    first, trial, *exchanges = recording.splitlines()
    said = json.loads(trial)
    said["crc"] = checksum(said, [one.encode() for one in exchanges])
    return "\n".join([first, json.dumps(said, separators=(",", ":")), *exchanges, ""])


def told(result: pytest.RunResult) -> str:
    return "\n".join([*result.outlines, *result.errlines])


def cassettes(pytester: pytest.Pytester) -> dict[str, str]:
    files = (one for one in (pytester.path / "sop_cassettes").rglob("*") if one.is_file())
    return {one.name: one.read_text("ascii") for one in sorted(files)}


@pytest.fixture
def recorded(pytester: pytest.Pytester, model: Model) -> dict[str, str]:
    assert 0 == pytester.runpytest(*ONE, RECORD, "--sop-save=main").ret
    model.asked.clear()
    return cassettes(pytester)


def runs_of(saved: ReadSaved, path: str = ".sop/sessions/last.jsonl") -> list[dict[str, Any]]:
    names = ("task", "outcome", "answer", "calls", "trajectory", "usage")
    return [{name: run[name] for name in names} for run in saved(path).runs]


@pytest.mark.parametrize(
    "how",
    [
        pytest.param((), id="plain"),
        pytest.param(("--sop-concurrency=64",), id="64 in flight"),
        pytest.param(("-n2", "--sop-concurrency=64"), id="two workers"),
    ],
)
def test_replayed_session_is_the_recorded_one_without_a_network(
    pytester: pytest.Pytester,
    recorded: dict[str, str],
    model: Model,
    saved: ReadSaved,
    how: tuple[str, ...],
) -> None:
    result = pytester.runpytest(*ONE, ONLY, *how, "--sop-report=md=page.md")

    assert 0 == result.ret, told(result)
    assert not model.asked
    assert "6 of 6 runs, from recorded model traffic" in (pytester.path / "page.md").read_text()
    assert runs_of(saved) == runs_of(saved, ".sop/sessions/main.jsonl")
    assert "sop: replaying 6 recordings, oldest 0 days, m-1" in told(result)
    assert "replay 6 runs replayed, $3.00 when recorded" in told(result)
    assert all(any("replayed" in note for note in run["notes"]) for run in saved().runs)
    assert saved().header["options"]["replay"] == "only"
    assert cassettes(pytester) == recorded


def test_recordings_hold_neither_keys_nor_hosts_nor_cookies(
    pytester: pytest.Pytester, recorded: dict[str, str], model: Model
) -> None:
    assert {".gitattributes", *(f"T_0{n}.jsonl" for n in range(1, 7))} == recorded.keys()
    for hidden in ("planted", "127.0.0.1", str(pytester.path)):
        assert not any(hidden in text for text in recorded.values())


def test_changed_prompt_makes_runs_unavailable_and_is_counted_once_for_all(
    pytester: pytest.Pytester,
    recorded: dict[str, str],
    model: Model,
    monkeypatch: pytest.MonkeyPatch,
    saved: ReadSaved,
) -> None:
    monkeypatch.setenv("PROMPT", "Grade it well.")
    pytester.makeini("[pytest]\naddopts = --sop-replay=only\nsop_fail_under = 0.5")

    result = pytester.runpytest(*ONE, "-v")

    assert {"unavailable"} == {run["outcome"] for run in saved().runs}
    assert 1 == result.ret
    assert not model.asked
    result.stdout.fnmatch_lines(
        [
            "unavailable: no recording: prompt differs:*",
            "  prompt differs:",
            '    recorded  "Grade it."',
            '    sent      "Grade it well."',
            "  in request 1 of the run, POST /v1/grade",
            "gate * inconclusive *",
            "replay 6 runs send what is not recorded, first at:",
            "       prompt 6",
        ]
    )
    assert saved().header["options"]["replay_misses"] == {"prompt": 6}


@pytest.mark.parametrize("kind", ["ini", "toml"])
def test_what_changes_with_every_run_is_left_out_by_the_lines_that_are_printed(
    pytester: pytest.Pytester, model: Model, monkeypatch: pytest.MonkeyPatch, kind: str
) -> None:
    """Nothing is recorded anew, and what is changed for good is a miss as before."""
    ini = "[pytest]\nsop_replay_ignore = user\n"
    toml = "[tool.pytest.ini_options]\nsop_replay_ignore = ['user']\n"
    file = pytester.path / ("pytest.ini" if kind == "ini" else "pyproject.toml")
    file.write_text(ini if kind == "ini" else toml)
    run = (sys.executable, "-m", "pytest", "--sop-domain=lab", "--sop-agent=mine=asking:dated")
    pytester.run(*run, "--sop-replay=record")
    sent = len(model.asked)

    missed = pytester.run(*run, ONLY)
    lines = missed.outlines
    begin = next(n for n, one in enumerate(lines) if one.startswith("sop_replay_ignore ="))
    end = next(n for n, one in enumerate(lines) if n > begin and not _is_setting(one))
    settings = "\n".join(lines[begin:end])
    file.write_text(f"{file.read_text().splitlines()[0]}\n{settings}\n")
    served = pytester.run(*run, ONLY)
    check = ran("cassettes", "check")
    monkeypatch.setenv("MORE", " Be strict.")
    changed = pytester.run(*run, ONLY)

    missed.stdout.fnmatch_lines(["*it changes with every run: the summary has a line*"])
    assert "record anew" not in told(missed)
    for name in ("user", "sent_at", "metadata.trace_id", "metadata.run", "metadata.request"):
        assert name in settings
    assert "text:" in settings
    served.stdout.fnmatch_lines(["TSR*100.0% correct, 6 of 6*", "replay 6 runs replayed*"])
    assert "6 recordings made by other entries" in told(check)
    changed.stdout.fnmatch_lines(["*prompt differs*", "*record anew*"])
    assert sent == len(model.asked)


def _is_setting(line: str) -> bool:
    return line.startswith(("    ", "sop_replay_")) and not line.startswith("       ")


def test_a_request_to_no_model_is_named_with_its_host_and_what_to_do(
    pytester: pytest.Pytester,
    recorded: dict[str, str],
    model: Model,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    del recorded
    host = "raw.githubusercontent.com"
    monkeypatch.setenv("FETCH", f"https://{host}/BerriAI/litellm/main/prices.json")

    result = pytester.runpytest("--sop-domain=lab", "--sop-agent=mine=asking:fetching", ONLY)

    result.stdout.fnmatch_lines(
        [
            f"*a request to {host}, which is no provider of a model*",
            "replay 6 runs send what is not recorded, first at:",
            f"       host:{host} 6",
            "sop_replay_ignore =",
            f"    host:{host}",
            "       if litellm fetches its prices there: set LITELLM_LOCAL_MODEL_COST_MAP=True",
        ]
    )


def test_agent_that_answers_in_spite_of_a_miss_is_unavailable_all_the_same(
    pytester: pytest.Pytester, recorded: dict[str, str], saved: ReadSaved
) -> None:
    (pytester.path / "sop_cassettes/mine/lab/T_03.jsonl").unlink()

    result = pytester.runpytest("--sop-domain=lab", "--sop-agent=mine=asking:stubborn", ONLY)

    assert saved().outcomes == {
        **{f"T_0{n}": "correct" for n in range(1, 7)},
        "T_03": "unavailable",
    }
    assert "1 task has no recording: lab/T_03" in told(result)
    assert "nothing is recorded of this run" in told(result)


def test_auto_asks_only_for_what_is_not_recorded(
    pytester: pytest.Pytester, recorded: dict[str, str], model: Model
) -> None:
    (pytester.path / "sop_cassettes/mine/lab/T_03.jsonl").unlink()

    result = pytester.runpytest(*ONE, AUTO)

    assert 0 == result.ret
    assert {"T_03"} == {one["sample"] for one in model.asked}
    assert "replay 5 runs replayed" in told(result)
    assert "record 1 run, 2 requests, in sop_cassettes" in told(result)
    kept = cassettes(pytester)
    assert kept.keys() == recorded.keys()
    assert all(kept[name] == recorded[name] for name in recorded if name != "T_03.jsonl")


def test_run_that_did_not_return_keeps_its_recording_of_before(
    pytester: pytest.Pytester, recorded: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPT", "Grade it well.")

    result = pytester.runpytest(
        "--sop-domain=lab", "--sop-agent=mine=asking:fails_on_second", RECORD
    )

    now = cassettes(pytester)
    assert now["T_02.jsonl"] == recorded["T_02.jsonl"]
    assert all("well" in now[f"T_0{n}.jsonl"] for n in (1, 3, 4, 5, 6))
    assert "record 1 run not recorded: error 1" in told(result)


@pytest.mark.parametrize("mode", [RECORD, ONLY])
def test_what_a_comparer_sends_is_no_traffic_of_the_agent(
    pytester: pytest.Pytester, recorded: dict[str, str], lab: Path, saved: ReadSaved, mode: str
) -> None:
    pytester.makepyfile(
        asks="""
        import asking

        def grades(expected, actual, *, field, task, answer):
            return asking.ask(task.inputs["sample_id"], 2)["grade"] == actual
        """
    )
    metadata = json.loads((lab / "metadata.json").read_text())
    metadata["outputs"] = {"grade": {"compare": "call", "comparer": "asks:grades"}}
    (lab / "metadata.json").write_text(json.dumps(metadata))

    result = pytester.runpytest(*ONE, mode, "--sop-concurrency=4")

    assert cassettes(pytester).keys() == recorded.keys()
    assert "of no run that is known" not in told(result)
    assert {"correct" if mode == RECORD else "unavailable"} == {*saved().outcomes.values()}
    if mode == ONLY:
        assert "not judged: grade: it raised MissingRecordingError" in told(result)


def test_killed_session_leaves_every_recording_whole(
    pytester: pytest.Pytester, recorded: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PROMPT", "Grade it well.")

    agent = "--sop-agent=mine=asking:dies_on_second"
    result = pytester.runpytest_subprocess("--sop-domain=lab", agent, RECORD)

    assert 7 == result.ret
    now = cassettes(pytester)
    assert now.keys() == recorded.keys()
    assert all(now[f"T_0{n}.jsonl"] == recorded[f"T_0{n}.jsonl"] for n in range(2, 7))
    monkeypatch.setenv("PROMPT", "Grade it.")
    assert "5 passed" in told(
        pytester.runpytest(*ONE, ONLY, "--deselect=domains/lab/data.csv::T_01")
    )


def test_another_attempt_begins_the_tape_anew(pytester: pytest.Pytester, model: Model) -> None:
    agent = ("--sop-domain=lab", "--sop-agent=asking:away_first", "--sop-sample=first:1")

    pytester.runpytest(*agent, RECORD, "--sop-retries=1")

    assert [1, 2] == [one["step"] for one in model.asked if one["step"] != 9]
    assert 9 in [one["step"] for one in model.asked]
    lines = cassettes(pytester)["T_01.jsonl"].splitlines()
    assert [1, 2] == [json.loads(line)["request"]["body"]["step"] for line in lines[2:]]


def test_trials_are_replayed_trial_by_trial_and_more_than_recorded_are_refused(
    pytester: pytest.Pytester, model: Model
) -> None:
    few = (*ONE, "--sop-sample=first:2")
    assert 0 == pytester.runpytest(*few, RECORD, "--sop-trials=2", "-n2").ret
    model.asked.clear()

    replayed = pytester.runpytest(*few, ONLY, "--sop-trials=2")
    refused = pytester.runpytest(*few, ONLY, "--sop-trials=3")

    assert 0 == replayed.ret
    assert "replay 4 runs replayed" in told(replayed)
    assert 4 == refused.ret
    assert "--sop-trials=3: 2 tasks have fewer recordings: lab/T_01, lab/T_02 (2 at least)" in told(
        refused
    )
    assert not model.asked


def test_credential_fails_the_recording_and_the_session(
    pytester: pytest.Pytester, model: Model
) -> None:
    agent = ("--sop-domain=lab", "--sop-agent=asking:leaking", "--sop-sample=first:1")

    result = pytester.runpytest(*agent, RECORD)

    assert 1 == result.ret
    assert "record failed: lab/T_01: request 1: body.note holds what looks like a key" in told(
        result
    )
    assert "sop_redact" in told(result)
    assert not cassettes(pytester)


def test_named_secret_is_masked_and_served_to_whoever_has_it(
    pytester: pytest.Pytester, model: Model
) -> None:
    pytester.makeini("[pytest]\nsop_redact = sk-\\w+")
    agent = ("--sop-domain=lab", "--sop-agent=asking:leaking", "--sop-sample=first:1")
    assert 0 == pytester.runpytest(*agent, RECORD).ret

    result = pytester.runpytest(*agent, ONLY)

    assert 0 == result.ret
    assert not any("sk-abc" in text for text in cassettes(pytester).values())


def test_thread_without_the_context_of_its_run_is_refused_with_what_to_do(
    pytester: pytest.Pytester, recorded: dict[str, str], model: Model, saved: ReadSaved
) -> None:
    agent = ("--sop-domain=lab", "--sop-agent=mine=asking:in_a_thread", "--sop-sample=first:1")

    result = pytester.runpytest(*agent, ONLY)

    assert 1 == result.ret
    assert not model.asked
    assert {"unavailable"} == {*saved().outcomes.values()}
    assert "alarm  1 request was refused, of no run that is known:" in told(result)


def test_agent_in_a_process_of_its_own_is_recorded_and_replayed(
    pytester: pytest.Pytester, model: Model, monkeypatch: pytest.MonkeyPatch, saved: ReadSaved
) -> None:
    monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{model.server_port}/v1")
    agent = ("--sop-domain=lab", "--sop-agent=asking:in_a_child", "--sop-sample=first:2")
    live = pytester.runpytest(*agent, RECORD)
    model.asked.clear()

    replayed = pytester.runpytest(*agent, ONLY, "--sop-concurrency=2")
    for path in (pytester.path / "sop_cassettes").rglob("*.jsonl"):
        text = path.read_text().replace('"m-1"', '"m-2"').replace('"key":"', '"key":"x')
        path.write_text(with_its_checksum(text))
    other = pytester.runpytest(*agent, ONLY)

    assert (0, 0) == (live.ret, replayed.ret), told(live) + told(replayed)
    assert not model.asked
    assert "replay 2 runs replayed" in told(replayed)
    assert "unavailable: no recording: model differs:" in told(other)
    assert {"unavailable"} == {*saved().outcomes.values()}


def test_replayed_runs_cost_the_budget_nothing(
    pytester: pytest.Pytester, recorded: dict[str, str]
) -> None:
    replayed = pytester.runpytest(*ONE, ONLY, "--sop-budget=0.6usd")

    assert 0 == replayed.ret, told(replayed)
    assert "6 passed" in told(replayed)


def test_baseline_of_live_runs_is_compared_without_times(
    pytester: pytest.Pytester, recorded: dict[str, str]
) -> None:
    result = pytester.runpytest(*ONE, ONLY, "--sop-compare=main")

    assert "vs main (live)  lost 0, gained 0" in told(result)
    assert not re.search(r"median .* -> ", told(result))


@pytest.mark.parametrize(
    ("options", "message"),
    [
        (("--sop-replay=never",), "--sop-replay=never: one of off, record, only, auto expected"),
        (("-osop_replay_ignore=a..b",), "sop_replay_ignore: a..b: a path of JSON expected"),
        (("-osop_replay_ignore=host:",), "sop_replay_ignore: host:: write host:NAME"),
        (("-osop_replay_max_age=old",), "sop_replay_max_age=old: days expected"),
        ((ONLY,), "sop_cassettes has no recording of a selected task by mine"),
    ],
)
def test_what_cannot_be_replayed_is_refused_before_any_run(
    pytester: pytest.Pytester, options: tuple[str, ...], message: str
) -> None:
    result = pytester.runpytest(*ONE, *options)

    assert 4 == result.ret
    assert message in told(result)


def test_recording_that_is_too_old_is_refused(
    pytester: pytest.Pytester, recorded: dict[str, str]
) -> None:
    path = pytester.path / "sop_cassettes/mine/lab/T_04.jsonl"
    text = re.sub(r'"recorded":"\d{4}', '"recorded":"2020', path.read_text())
    path.write_text(with_its_checksum(text))

    result = pytester.runpytest(*ONE, ONLY, "-osop_replay_max_age=90")

    assert 4 == result.ret
    assert "days old, and 90 are allowed" in told(result)


def test_damaged_recording_is_refused_with_its_name(
    pytester: pytest.Pytester, recorded: dict[str, str]
) -> None:
    path = pytester.path / "sop_cassettes/mine/lab/T_04.jsonl"
    path.write_text(path.read_text()[:-20])

    result = pytester.runpytest(*ONE, ONLY)

    assert 4 == result.ret
    assert "T_04.jsonl: cannot be read" in told(result)


@pytest.mark.parametrize("mode", [ONLY, AUTO])
def test_recording_that_was_changed_by_hand_is_refused_with_what_to_do(
    pytester: pytest.Pytester, recorded: dict[str, str], model: Model, mode: str
) -> None:
    path = pytester.path / "sop_cassettes/mine/lab/T_04.jsonl"
    path.write_text(re.sub('"grade":"[a-z]+"', '"grade":"other"', path.read_text()))

    result = pytester.runpytest(*ONE, mode)

    assert 4 == result.ret
    assert not model.asked
    assert "T_04.jsonl: trial 1: changed since it was recorded" in told(result)
    assert "record it anew with --sop-replay=record" in told(result)


@pytest.mark.parametrize("how", [(ONLY,), (AUTO, "-n2")], ids=["only", "auto, two workers"])
def test_recordings_that_no_run_has_used_are_told(
    pytester: pytest.Pytester, recorded: dict[str, str], how: tuple[str, ...]
) -> None:
    result = pytester.runpytest("--sop-domain=lab", "--sop-agent=mine=asking:unseen", *how)

    assert "alarm  none of 6 recordings was used: does the agent ask its model" in told(result)
    assert cassettes(pytester) == recorded


def test_an_agent_that_asks_nothing_any_more_is_not_right_by_its_recording(
    pytester: pytest.Pytester, recorded: dict[str, str]
) -> None:
    """What it answers without its model was recorded of nobody."""
    agent = ("--sop-domain=lab", "--sop-agent=mine=asking:unseen", "--sop-fail-under=0.5")

    result = pytester.runpytest(*agent, ONLY)

    assert 1 == result.ret
    assert "TSR      n/a (6 of 6 unavailable)" in told(result)
    assert "gate   TSR >= 50% inconclusive" in told(result)


def test_an_agent_that_fails_before_it_asks_has_failed(
    pytester: pytest.Pytester, recorded: dict[str, str], saved: ReadSaved
) -> None:
    agent = ("--sop-domain=lab", "--sop-agent=mine=asking:broken_first")

    pytester.runpytest(*agent, ONLY)

    assert "error" == runs_of(saved)[0]["outcome"]


def test_an_agent_that_asks_for_less_than_is_recorded_is_told_of(
    pytester: pytest.Pytester, recorded: dict[str, str]
) -> None:
    result = pytester.runpytest("--sop-domain=lab", "--sop-agent=mine=asking:one_step", ONLY)

    assert "note   6 runs asked for fewer requests than are recorded" in told(result)


def two_tools(lab: Path, rules: list[dict[str, Any]]) -> None:
    """Give the domain another tool, which is served as the one that it has, and rules on both."""
    metadata = json.loads((lab / "metadata.json").read_text())
    metadata["tools"]["weigh"] = metadata["tools"]["measure"]
    metadata["contract"] = {"rules": rules}
    (lab / "metadata.json").write_text(json.dumps(metadata))
    (spec,) = json.loads((lab / "toolspecs.json").read_text())
    (lab / "toolspecs.json").write_text(json.dumps([spec, {**spec, "name": "weigh"}]))


TOGETHER = """
def test_lab(sop_run, sop_snapshot):
    assert sop_run.trajectory == sop_snapshot
"""


@pytest.mark.parametrize(
    ("demand", "told_of_it", "approved"),
    [
        pytest.param("in_order", "contract 100.0% (6 of 6 runs)", 6, id="listed in an order"),
        pytest.param(
            "before",
            "contract 0.0% (0 of 6 runs)",
            0,
            id="a prerequisite",
        ),
    ],
)
def test_calls_of_one_reply_are_judged_alike_whichever_thread_was_first(
    pytester: pytest.Pytester,
    monkeypatch: pytest.MonkeyPatch,
    saved: ReadSaved,
    demand: str,
    told_of_it: str,
    approved: int,
) -> None:
    """The model knew of neither result, so an order between them is that of threads alone."""
    rules = {"there": ["measure", "weigh"], "back": ["weigh", "measure"]}
    two_tools(
        pytester.path / "domains" / "lab",
        [{"id": one, "clause": "1", demand: tools} for one, tools in rules.items()],
    )
    pytester.makepyfile(test_lab=TOGETHER)
    agent = ("--sop-agent=mine=asking:on_threads", "--sop-domain=lab", "-psyrupy", "test_lab.py")

    recorded = pytester.runpytest(*agent, RECORD, "--snapshot-update")
    of_record = runs_of(saved)
    monkeypatch.setenv("REVERSED", "1")
    replayed = pytester.runpytest(*agent, ONLY)

    assert told_of_it in told(recorded)
    assert told_of_it in told(replayed)
    assert of_record == runs_of(saved)
    replayed.assert_outcomes(passed=approved, failed=6 - approved)
