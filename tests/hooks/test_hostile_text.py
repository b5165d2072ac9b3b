"""Task ids, arguments and texts that try to give commands: to a terminal, a shell, a CI server."""

from __future__ import annotations

import json
import re
from pathlib import Path

import pytest

COMMAND = re.compile(r"(?:\A|[\r\n])[^\S\r\n]*::\S|##(?:\[|vso\[)", re.IGNORECASE)
CONTROL = re.compile("[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")

IDS = (
    "a\x1b]0;title\x07",
    "b\x1b[2J\x1b]8;;http://e\x1b\\",
    "c\r\x08\x08d",
    "d\u202eb\u2066",
    "e\n::error::PWN",
    "f\u2028::error::PWN",
)
HOSTILE = "x\n::add-mask::e\n  ::error::PWN ##[error]a ##vso[task.x]b"

AGENT = f"""
TEXT = {HOSTILE!r}


def agent(inputs, tools, key):
    print(TEXT)
    try:
        tools.call("measure\\n" + TEXT, sample_id=TEXT)
    except Exception as error:
        pass
    if inputs["sample_id"].startswith("a"):
        raise ValueError(TEXT)
    return {{"grade": TEXT}}
"""

TESTS = """
from hostile import TEXT


def test_own(sop_run):
    assert sop_run.answer is None, TEXT


def test_called(sop_run):
    sop_run.assert_called("measure", times=3)
"""


@pytest.fixture
def hostile(lab: Path, pytester: pytest.Pytester) -> Path:
    """The domain `lab` with such ids, in rows of JSON; and an agent that repeats its text."""
    (lab / "data.csv").unlink()
    rows = [{"task_id": one, "sample_id": one, "reading": 50, "grade": "retest"} for one in IDS]
    (lab / "tasks.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    pytester.makepyfile(hostile=AGENT, test_own=TESTS)
    return lab


def test_nothing_of_a_session_is_a_command(
    hostile: Path, pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    result = pytester.runpytest(
        "--sop-domain=lab", "--sop-agent=hostile:agent", "--sop-agent-arg=key=\x1b]0;e\x07\n::x::",
        "--sop-report=md=page.md", "--junitxml=junit.xml", "-rA", "--color=no",
        "--sop-gate=tsr=90%", "domains/lab/tasks.jsonl", "test_own.py", *workers,
    )  # fmt: skip

    assert 1 == result.ret
    text = "\n".join(result.outlines)
    assert not COMMAND.search(text)
    assert not CONTROL.search(text)
    result.stdout.fnmatch_lines(["*again    pytest *"])
    for name in ("page.md", "junit.xml"):
        assert not COMMAND.search((pytester.path / name).read_text("utf-8"))
    assert len(IDS) <= (pytester.path / "junit.xml").read_text("utf-8").count(": :add-mask::e")
