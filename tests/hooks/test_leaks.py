"""Thirty secrets, planted wherever an agent can put one; nothing that a session leaves has any.

Nobody has named them. The agent reads them from a file of its own, the only place where they are.
"""

from __future__ import annotations

import base64
import json
import sys
from pathlib import Path

import pytest

from tests.builders.commands import SOPBENCH
from tests.core.test_hiding import HEX, KEYS, NAMED

PLANTED = "planted.json"
AGENT = '''
"""An agent that is careless in another way with each task."""

import json
import logging
import sys
import threading
import warnings
from http.server import BaseHTTPRequestHandler, HTTPServer
from pathlib import Path

import urllib3

SAID = json.loads(Path("planted.json").read_text())


class Echo(BaseHTTPRequestHandler):
    """Refuses every request, and says of each header and of its address what it was."""

    def do_POST(self):
        self.rfile.read(int(self.headers.get("Content-Length", 0)))
        told = {name: value for name, value in self.headers.items()}
        key = self.headers.get("X-Api-Key", "")
        told = {"error": f"refused {self.path}: {told}", "cut": f"no key {key[:5]}***{key[-4:]}"}
        data = json.dumps(told).encode()
        self.send_response(401)
        self.send_header("Content-Type", "application/json")
        self.send_header("X-Request-Id", key)
        self.send_header("Content-Length", str(len(data)))
        self.end_headers()
        self.wfile.write(data)

    def log_message(self, *_):
        pass


SERVER = HTTPServer(("127.0.0.1", 0), Echo)
threading.Thread(target=SERVER.serve_forever, args=(0.02,), daemon=True).start()
POOL = urllib3.PoolManager()


def ask(headers, query=""):
    url = f"http://127.0.0.1:{SERVER.server_port}/v1/chat{query}"
    body = json.dumps({"model": "m", "messages": []})
    return POOL.request("POST", url, headers=headers, body=body).data.decode()


def careless(inputs, tools):
    number = int(inputs["sample_id"][-2:])
    told = " and ".join(SAID["whole"])
    replies = [
        ask({"Authorization": f"Bearer {SAID['bearer']}", "X-Api-Key": SAID["sent"]}),
        ask({"Cookie": f"session={SAID['sent']}"}, f"?subscription-key={SAID['sent']}&a=1"),
    ]
    if number == 1:
        print(told)
        print(told, file=sys.stderr)
        logging.getLogger("agent").error("it is %s", told)
        warnings.warn(told)
        return {"grade": "unknown", "seen": SAID["whole"]}
    if number == 2:
        return {"grade": f"unknown {told}"}
    if number == 3:
        tools.execute_tool("measure", {"sample_id": inputs["sample_id"], "note": told})
        tools.execute_tool(SAID["whole"][0], {SAID["whole"][1]: SAID["objects"]})
        return {"grade": "unknown"}
    if number == 4:
        raise RuntimeError(told)
    if number == 5:
        return "I say " + told + " ".join(replies)
    raise ValueError("refused: " + replies[0])
'''
# What has no form of its own: it is known because it is sent, or by the name beside it.
SENT = "q7Lw9Zk2pXv81mTn"


@pytest.fixture
def secrets(pytester: pytest.Pytester) -> list[str]:
    beside = [text for text, _ in NAMED.values()]
    objects = {"api-key": HEX[::-1], "subscription_key": f"{HEX}{HEX}"[3:60]}
    planted = {
        "whole": [*KEYS.values(), *beside],
        "objects": objects,
        "bearer": KEYS["openai"],
        "sent": SENT,
    }
    (pytester.path / PLANTED).write_text(json.dumps(planted))
    pytester.makepyfile(careless=AGENT)
    lines = [line for key in KEYS.values() for line in key.splitlines() if len(line) > 30]
    return [*lines, *(key for _, key in NAMED.values()), *objects.values()]


def left_in(pytester: pytest.Pytester, results: list[pytest.RunResult]) -> dict[str, str]:
    """Return all that was printed, and all that lies there but what the user has written."""
    mine = {PLANTED, "careless.py", "habits.py"}
    files = (path for path in pytester.path.rglob("*") if path.is_file())
    found = {
        str(path.relative_to(pytester.path)): path.read_bytes().decode("utf-8", "replace")
        for path in files
        if path.name not in mine and path.suffix != ".pyc"
    }
    for number, result in enumerate(results):
        found[f"printed {number}"] = "\n".join([*result.outlines, *result.errlines])
    return found


def test_nothing_that_a_session_leaves_has_a_secret_in_it(
    pytester: pytest.Pytester, lab: Path, secrets: list[str]
) -> None:
    pages = [f"--sop-report={one}=page.{one}" for one in ("md", "csv", "json", "html")]
    words = (
        *(f"--sop-domain={lab.name}", "--sop-agent=careless:careless", "-osop_traces=all", "-rA"),
        *("--junitxml=junit.xml", "--log-file=log.txt", "-osop_junit_misses=failure", "-vv"),
        *("-ojunit_logging=all", *pages),
    )
    run = (sys.executable, "-m", "pytest")

    results = [
        pytester.run(*run, *words, "--sop-replay=record", "--sop-save=one.jsonl"),
        pytester.run(*run, *words, "--sop-replay=only", "--sop-save=two.jsonl"),
        pytester.run(*SOPBENCH, "show", "one.jsonl", "T_03"),
        pytester.run(*SOPBENCH, "cassettes", "check"),
    ]

    # Of runs that raise nothing is recorded; nothing else is wrong with the recordings.
    assert ["careless:careless, lab: no recording of T_04 and 1 more"] == results[-1].outlines
    results[0].stdout.fnmatch_lines(["record *8 requests*"])
    found = left_in(pytester, results)
    assert {"junit.xml", "page.html", "page.json", "one.jsonl", "log.txt"} < {*found}
    assert any(name.startswith("sop_cassettes") for name in found)
    assert "***" in found["one.jsonl"]
    # What only the recording can know, since it was sent: no form of its own names it.
    parts = (SENT, base64.b64encode(SENT.encode()).decode().rstrip("="), SENT[:5], SENT[-4:])
    recorded = {name: text for name, text in found.items() if name.startswith("sop_cassettes")}
    assert [] == [(name, one) for one in parts for name, text in recorded.items() if one in text]
    assert [] == [(name, one) for one in secrets for name, text in found.items() if one in text]
