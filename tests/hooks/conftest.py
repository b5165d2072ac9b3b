"""A small domain and agents for the tests that run pytest as a user would.

The domain `lab` is that of `tests/builders/lab.py`.
"""

from __future__ import annotations

import hashlib
import json
import shutil
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.builders.lab import write_lab
from tests.builders.saved import followed

AGENTS = '''
"""Agents of a user, each with one habit."""

import asyncio
import os


def right(inputs, tools):
    reading = tools.call("measure", sample_id=inputs["sample_id"])["reading"]
    return {"grade": "pass" if reading > 70 else "retest" if reading > 40 else "fail"}


async def right_later(inputs, tools):
    await asyncio.sleep(0)
    result = await tools.acall("measure", sample_id=inputs["sample_id"])
    reading = result["reading"]
    return {"grade": "pass" if reading > 70 else "retest" if reading > 40 else "fail"}


def always_pass(inputs):
    return "<final_decision>pass</final_decision>"


def wrong(inputs):
    return {"grade": "unknown"}


def silent(inputs):
    return "I have read the procedure."


def empty(inputs):
    return ""


def counted(inputs, tools):
    """Right, and leaves one line in a file for each call."""
    with open("calls.txt", "a") as file:
        file.write(inputs["sample_id"] + "\\n")
    return right(inputs, tools)


def raising(inputs):
    raise RuntimeError(f"no model for {inputs['sample_id']}")


def number(inputs):
    return int(inputs["sample_id"].rpartition("_")[2])


def fifths_and_sevenths(inputs, tools):
    """Wrong on every fifth task, raises on every seventh, calls a tool wrongly on each third."""
    if number(inputs) % 3 == 0:
        tools.execute_tool("measure", {})
    if number(inputs) % 7 == 0:
        raise ValueError("every seventh")
    answer = right(inputs, tools)
    return {"grade": "unknown"} if number(inputs) % 5 == 0 else answer


def loses_second(inputs, tools):
    return {"grade": "unknown"} if number(inputs) == 2 else right(inputs, tools)


def loses_three(inputs, tools):
    return {"grade": "unknown"} if number(inputs) in {3, 4, 6} else right(inputs, tools)


def dying(inputs, tools):
    if number(inputs) == 3:
        os._exit(7)
    return right(inputs, tools)
'''

MakeDomain = Callable[..., Path]


@pytest.fixture(autouse=True)
def alone(request: pytest.FixtureRequest, monkeypatch: pytest.MonkeyPatch) -> None:
    """Let the runs inside a test meet no other plugin than those they name."""
    if "pytester" in request.fixturenames:
        # It clears the variable when it is made.
        request.getfixturevalue("pytester")
    # A plugin that is only switched off is looked up all the same, which takes two thirds of the
    # time of a session with two workers. A test switches on what it needs, with `-p NAME`.
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-psopbench -pxdist")


@pytest.fixture
def make_domain(pytester: pytest.Pytester) -> MakeDomain:
    """Write a domain like `lab`, under a name and with a number of tasks, into a folder."""

    def make(name: str = "lab", *, tasks: int = 6, under: str = "domains") -> Path:
        return write_lab(pytester.path / under, name, tasks=tasks)

    return make


@pytest.fixture
def lab(make_domain: MakeDomain, pytester: pytest.Pytester) -> Path:
    """The domain `lab` with six tasks in `domains/`, and agents in `habits.py`."""
    pytester.makepyfile(habits=AGENTS)
    return make_domain()


@pytest.fixture(params=[pytest.param((), id="plain"), pytest.param(("-n2",), id="two workers")])
def workers(request: pytest.FixtureRequest) -> tuple[str, ...]:
    """How the session is distributed."""
    chosen: tuple[str, ...] = request.param
    return chosen


@pytest.fixture(scope="session")
def kept_sessions(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Where the first test that begins with a session keeps it for the others."""
    return tmp_path_factory.mktemp("kept")


@pytest.fixture
def passed(pytester: pytest.Pytester, lab: Path, kept_sessions: Path) -> Callable[..., None]:
    """Begin with a session of the right agent on `lab`, made once for all folders like this one."""

    def begin(*words: str) -> None:
        files = sorted(one for one in pytester.path.rglob("*") if one.is_file())
        like = [(str(one.relative_to(pytester.path)), one.read_bytes()) for one in files]
        kept = kept_sessions / hashlib.sha256(repr((like, words)).encode()).hexdigest()
        if kept.exists():
            shutil.copytree(kept, ".sop", symlinks=True)
            return
        asked = (f"--sop-domain={lab.name}", "--sop-agent=habits:right", *words)
        assert 0 == pytester.runpytest(*asked).ret
        shutil.copytree(".sop", kept, symlinks=True)

    return begin


@pytest.fixture
def baseline(pytester: pytest.Pytester, passed: Callable[..., None]) -> Path:
    """The saved session `main`, of the right agent on `lab`."""
    passed("--sop-save=main")
    return pytester.path / ".sop" / "sessions" / "main.jsonl"


@dataclass(frozen=True, slots=True)
class Saved:
    """The lines of a saved session, parsed."""

    header: dict[str, Any]
    runs: list[dict[str, Any]]
    summary: dict[str, Any]

    @property
    def outcomes(self) -> dict[str, str]:
        return {run["task"]: run["outcome"] for run in self.runs}


ReadSaved = Callable[..., Saved]


@pytest.fixture
def saved(pytester: pytest.Pytester) -> ReadSaved:
    """Read a saved session of the folder; the last one unless another is named."""

    def read(path: str = ".sop/sessions/last.jsonl") -> Saved:
        text = followed(pytester.path / path).read_text("ascii")
        header, *runs, summary = [json.loads(line) for line in text.splitlines()]
        return Saved(header, runs, summary)

    return read


@pytest.fixture
def newest(pytester: pytest.Pytester) -> Callable[[], Path | None]:
    """Find the file of the session that was begun last, whether it has ended or not."""

    def find() -> Path | None:
        found = sorted((pytester.path / ".sop/sessions").glob("2*-*-*-*.jsonl"))
        return found[-1] if found else None

    return find


# Right in the first trial of each task, wrong in its later ones: runs leave a mark in a folder.
SECOND_WRONG = """
import os

def agent(inputs, tools):
    os.makedirs("seen", exist_ok=True)
    name = f"seen/{inputs['sample_id']}"
    number = 1
    while True:
        try:
            os.close(os.open(f"{name}.{number}", os.O_CREAT | os.O_EXCL))
            break
        except FileExistsError:
            number += 1
    reading = tools.call("measure", sample_id=inputs["sample_id"])["reading"]
    right = "pass" if reading > 70 else "retest" if reading > 40 else "fail"
    return {"grade": right if number == 1 else "unknown"}
"""


@pytest.fixture
def tired(lab: Path, pytester: pytest.Pytester) -> Path:
    """The domain `lab`, and an agent `tired:agent` that is right in first trials only."""
    pytester.makepyfile(tired=SECOND_WRONG)
    return lab


WriteTasks = Callable[..., Path]


@pytest.fixture
def write_tasks(pytester: pytest.Pytester) -> WriteTasks:
    """Write the tasks file: what is said of each task of `lab`, a day for one that may fail."""

    def write(name: str = "sop_tasks.toml", **tasks: str) -> Path:
        path = pytester.path / name
        may_fail = 'may_fail = "two invoices"\nuntil = {}'
        said = {task: may_fail.format(one) if one[0] == "2" else one for task, one in tasks.items()}
        path.write_text("".join(f'["lab/{task}"]\n{one}\n\n' for task, one in said.items()))
        return path

    return write
