"""A program that calls pytest has its process back after each session, as it was.

The list of what a session touches stands in docs/explanation/reliability.md.
"""

from __future__ import annotations

import json
import sys
from collections.abc import Sequence
from typing import Any

import pytest

HELD = '''
import asyncio, atexit, faulthandler, gc, logging, os, signal, sys, threading, warnings

STREAMS = ("stdin", "stdout", "stderr", "__stdin__", "__stdout__", "__stderr__")
CLIENTS = {
    "httpx": ("HTTPTransport", "handle_request"),
    "urllib3": ("HTTPConnectionPool", "urlopen"),
}


def functions(*names):
    found = {}
    for module in list(sys.modules.values()):
        for name, value in list(getattr(module, "__dict__", {}).items()):
            if callable(value) and getattr(value, "__name__", None) in names:
                found[f"{module.__name__}.{name}"] = repr(value)
    return found


def held():
    """Return what this process has one of, as texts that can be compared."""
    umask = os.umask(0)
    os.umask(umask)
    streams = {name: getattr(sys, name) for name in STREAMS}
    clients = {
        name: repr(getattr(getattr(sys.modules[name], kind), method))
        for name, (kind, method) in CLIENTS.items() if name in sys.modules
    }
    return {
        "exits": functions("_exit", "execv", "execve"),
        "streams": {name: [id(one), sorted(vars(one))] for name, one in streams.items()},
        "descriptors": [[os.fstat(number).st_dev, os.fstat(number).st_ino] for number in range(3)],
        "gc": [gc.isenabled(), gc.get_threshold(), gc.get_freeze_count(), map_repr(gc.callbacks)],
        "imports": [map_repr(sys.meta_path), map_repr(sys.path_hooks), sys.dont_write_bytecode],
        "signals": {str(one): repr(signal.getsignal(one)) for one in signal.valid_signals()},
        "threads": sorted(thread.name for thread in threading.enumerate()),
        "logging": [
            map_repr(logging.root.handlers), map_repr(logging.root.filters),
            logging.root.level, logging.root.manager.disable,
        ],
        "hooks": map_repr([sys.excepthook, threading.excepthook, sys.unraisablehook,
                           sys.displayhook, sys.breakpointhook]),
        "traces": map_repr([sys.gettrace(), sys.getprofile()]),
        "environment": dict(os.environ),
        "folder": [os.getcwd(), umask],
        "warnings": map_repr(warnings.filters),
        "path": list(sys.path),
        "atexit": atexit._ncallbacks(),
        "limits": [sys.getrecursionlimit(), sys.getswitchinterval(), faulthandler.is_enabled()],
        "policy": repr(asyncio.get_event_loop_policy()),
        "clients": clients,
    }


def map_repr(things):
    return [*map(repr, things)]
'''

PROGRAM = """
import json, sys
import httpx, pytest, urllib3
from held import held

# What pytest and libraries do when they are first used is none of ours.
pytest.main(["-q", "test_unit.py"])
states, statuses = [held()], []
for words in json.loads(sys.argv[1]):
    statuses.append(int(pytest.main(["-q", "--sop-domain=lab", *words])))
    states.append(held())
with open("told.json", "w") as file:
    json.dump({"states": states, "statuses": statuses}, file)
"""

AGENT = """
import json, sys
from pathlib import Path

from held import held


def answer(reading):
    Path("meanwhile.json").write_text(json.dumps(held()))
    print("a line of the agent")
    return {"grade": "pass" if reading > 70 else "retest" if reading > 40 else "fail"}


def right(inputs, tools):
    return answer(tools.call("measure", sample_id=inputs["sample_id"])["reading"])


async def later(inputs, tools):
    return answer((await tools.acall("measure", sample_id=inputs["sample_id"]))["reading"])


def breaks(inputs, tools):
    right(inputs, tools)
    sys.stdout.close()
    return {"grade": "unknown"}
"""


@pytest.fixture
def host(pytester: pytest.Pytester, lab: object) -> pytest.Pytester:
    """A program with an agent, beside the domain `lab`."""
    pytester.makepyfile(held=HELD, host=PROGRAM, mine=AGENT, test_unit="def test_unit(): pass")
    return pytester


def told(host: pytest.Pytester, *sessions: Sequence[str]) -> dict[str, Any]:
    """Return the states and statuses that the program told, before and after these sessions."""
    done = host.run(sys.executable, "host.py", json.dumps(sessions))
    assert 0 == done.ret
    found: dict[str, Any] = json.loads((host.path / "told.json").read_text())
    return found


def changed(before: dict[str, Any], after: dict[str, Any]) -> dict[str, Any]:
    return {name: (one, after[name]) for name, one in before.items() if one != after[name]}


SESSIONS = {
    ("--agent=mine:right",): 0,
    ("--agent=mine:right", "-s"): 0,
    ("--agent=mine:later", "--sop-concurrency=4"): 0,
    ("--agent=mine:right", "--sop-replay=record"): 0,
    ("--agent=mine:breaks", "--sop-timeout=600"): 1,
    ("--agent=mine:absent",): 4,
}


@pytest.mark.usefixtures("new_interpreters")
def test_a_program_has_its_process_back_after_each_of_its_sessions(host: pytest.Pytester) -> None:
    """Captured, uncaptured, in flight, recorded, failing and refused; each of them twice."""
    found = told(host, *SESSIONS, *SESSIONS)

    before, *after = found["states"]
    assert [*SESSIONS.values()] * 2 == found["statuses"]
    assert [{}] * 12 == [changed(before, state) for state in after]


@pytest.mark.usefixtures("new_interpreters")
def test_the_look_at_the_process_sees_what_a_session_touches(host: pytest.Pytester) -> None:
    """Else the test above would hold of a session that gives nothing back."""
    found = told(host, ("--agent=mine:right", "--sop-replay=record", "-s"))

    meanwhile = json.loads((host.path / "meanwhile.json").read_text())
    seen = changed(found["states"][0], meanwhile)
    assert {"exits", "streams", "signals", "logging", "imports", "clients"} <= set(seen)
    assert "write" in meanwhile["streams"]["stdout"][1]
