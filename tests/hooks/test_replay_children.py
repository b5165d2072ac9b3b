"""`--sop-replay` with an agent that asks its model in another process."""

from __future__ import annotations

import threading
from pathlib import Path

import pytest

from .conftest import ReadSaved
from .test_replay import ONE, ONLY, RECORD, Model, cassettes, runs_of, told

AGENT = """
import json
import subprocess
import sys

PROGRAM = '''
import json, os, sys, urllib.request
url = os.environ["OPENAI_BASE_URL"] + "/grade"
body = json.dumps({"model": "m-1", "sample": sys.argv[1], "step": 2}).encode()
request = urllib.request.Request(url, body, {"Content-Type": "application/json"})
print(urllib.request.urlopen(request).read().decode())
'''

def two_steps(inputs, tools):
    sample = inputs["sample_id"]
    tools.call("measure", sample_id=sample)
    command = [sys.executable, "-S", "-c", PROGRAM, sample]
    done = subprocess.run(command, capture_output=True, text=True)
    return json.loads(done.stdout or "{}")
"""


def test_a_child_of_each_run_is_recorded_and_replayed(
    pytester: pytest.Pytester, lab: Path, saved: ReadSaved, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytester.makepyfile(asking=AGENT)
    with Model() as model:
        threading.Thread(target=model.serve_forever, daemon=True).start()
        monkeypatch.setenv("OPENAI_BASE_URL", f"http://127.0.0.1:{model.server_port}/v1")
        recording = pytester.runpytest(*ONE, RECORD, "--sop-concurrency=6", "--sop-save=main")
        model.shutdown()

    replay = pytester.runpytest(*ONE, ONLY, "--sop-concurrency=6")

    assert (0, 0) == (recording.ret, replay.ret), told(replay)
    assert 6 == len(model.asked)
    assert runs_of(saved) == runs_of(saved, ".sop/sessions/main.jsonl")
    assert all("127.0.0.1" not in text for text in cassettes(pytester).values())
