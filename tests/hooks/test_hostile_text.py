"""Task ids, arguments and texts that try to give commands: to a terminal, a shell, a CI server."""

from __future__ import annotations

import json
import re
import subprocess
from pathlib import Path
from shutil import which

import pytest
from click.testing import CliRunner

from pytest_sopbench.cli import main

BASH = which("bash") or "/bin/bash"
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
KEY = "\x1b]0;e\x07\n::x::'s"
HOSTILE = "x\n::add-mask::e\n  ::error::PWN ##[error]a ##vso[task.x]b"
RUN = ("--sop-domain=lab", "--sop-agent=hostile:agent", f"--sop-agent-arg=key={KEY}", "--color=no")

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


def test_approved(sop_run, sop_snapshot):
    assert sop_run.trajectory == sop_snapshot
"""


@pytest.fixture
def hostile(lab: Path, pytester: pytest.Pytester) -> Path:
    """The domain `lab` with such ids, in rows of JSON; and an agent that repeats its text."""
    (lab / "data.csv").unlink()
    rows = [{"task_id": one, "sample_id": one, "reading": 50, "grade": "retest"} for one in IDS]
    (lab / "tasks.jsonl").write_text("".join(f"{json.dumps(one)}\n" for one in rows))
    pytester.makepyfile(hostile=AGENT, test_own=TESTS)
    return lab


@pytest.fixture
def hostile_session(
    hostile: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> Path:
    """The saved session of such a run, in the folder of the project."""
    title = json.loads((hostile / "metadata.json").read_text())
    title["title"] = f"a\x1b]0;x\x07 {HOSTILE}"
    (hostile / "metadata.json").write_text(json.dumps(title))
    pytester.runpytest(
        "--sop-domain=lab", "--sop-agent=hostile:agent", f"--sop-agent-arg=key={KEY}"
    )
    monkeypatch.chdir(pytester.path)
    return hostile


def session(pytester: pytest.Pytester, *more: str) -> pytest.RunResult:
    return pytester.runpytest(
        "--sop-domain=lab", "--sop-agent=hostile:agent", f"--sop-agent-arg=key={KEY}",
        "--sop-report=md=page.md", "--junitxml=junit.xml", "-rA", "--color=no", "-psyrupy",
        "--sop-gate=tsr=90%", "domains/lab/tasks.jsonl", "test_own.py", *more,
    )  # fmt: skip


def test_nothing_of_a_session_is_a_command(
    hostile: Path, pytester: pytest.Pytester, workers: tuple[str, ...]
) -> None:
    result = session(pytester, *workers)

    assert 1 == result.ret
    assert not COMMAND.search(result.stdout.str())
    assert not CONTROL.search(result.stdout.str())
    result.stdout.fnmatch_lines(["*again    pytest *", "*no snapshot of lab/*"])
    for name in ("page.md", "junit.xml"):
        assert not COMMAND.search((pytester.path / name).read_text("utf-8"))
    assert len(IDS) <= (pytester.path / "junit.xml").read_text("utf-8").count(": :add-mask::e")


SIGNS = "".join(map(chr, [
    *range(9), 11, 12, 13, *range(14, 32), *range(0x7F, 0xA0), 0x061C, 0x200E, 0x200F,
    *range(0x2028, 0x202F), *range(0x2066, 0x206A),
]))  # fmt: skip
EVERY_WAY = f"""
import logging, sys, warnings

SIGNS = {SIGNS!r}

def printing(inputs, tools):
    print("out" + SIGNS)
    print("err" + SIGNS, file=sys.stderr)
    logging.getLogger("agent").warning("log" + SIGNS)
    warnings.warn("warning" + SIGNS)
    tools.report(notes="note" + SIGNS, messages=[{{"content": SIGNS}}], model="m/" + SIGNS)
    try:
        tools.call("tool" + SIGNS, **{{"argument" + SIGNS: SIGNS}})
    except Exception:
        pass
    number = int(inputs["sample_id"][-1])
    if number == 1:
        raise type("Error" + SIGNS[1:], (Exception,), {{}})("raised" + SIGNS)
    if number == 2:
        return {{"output": "x" + SIGNS, "error": "told" + SIGNS}}
    if number == 3:
        sys.exit("left" + SIGNS)
    return {{"grade": "answered" + SIGNS, "key" + SIGNS: SIGNS}}
"""


@pytest.mark.parametrize(
    "options",
    [
        pytest.param((), id="plain"),
        pytest.param(("-s",), id="not captured"),
        pytest.param(("-n2", "-v"), id="two workers"),
        pytest.param(("-vv", "--showlocals", "test_printing.py"), id="an own test"),
    ],
)
def test_no_sign_that_moves_a_cursor_or_turns_the_order_of_letters_is_shown(
    lab: Path, pytester: pytest.Pytester, options: tuple[str, ...]
) -> None:
    passing = "def test_lab(sop_run):\n    print('own' + chr(27) + chr(8))\n"
    pytester.makepyfile(printing=EVERY_WAY, test_printing=passing)

    result = pytester.runpytest(
        "--sop-domain=lab", "--sop-agent=printing:printing", "-rA", "--color=no", "-Wdefault",
        "--sop-report=md=page.md", "--sop-report=html=page.html", "--sop-report=csv=page.csv",
        "--junitxml=junit.xml", *options,
    )  # fmt: skip

    files = ("page.md", "page.html", "page.csv", "junit.xml")
    texts = [result.stdout.str(), result.stderr.str()]
    texts += [(pytester.path / name).read_text("utf-8") for name in files]
    assert "raised\\x00" in texts[0]
    assert "warning\\x00" in texts[0]
    for text in texts:
        assert not CONTROL.search(text.replace("\r\n", "\n"))


def test_the_heading_of_a_built_in_test_is_no_command(
    hostile: Path, pytester: pytest.Pytester
) -> None:
    """Without a gate each miss is a failure, and pytest writes a heading above it."""
    result = pytester.runpytest(*RUN, "domains/lab/tasks.jsonl")

    result.stdout.fnmatch_lines(["*___ lab[[]a*title*[]] ___*"])
    assert not COMMAND.search(result.stdout.str())
    assert not CONTROL.search(result.stdout.str())


def test_the_line_that_makes_a_run_again_can_be_pasted(
    hostile: Path, pytester: pytest.Pytester
) -> None:
    (pytester.path / "test_own.py").unlink()
    saved = pytester.runpytest(*RUN)
    lines = [line.strip() for line in saved.outlines if line.startswith("again")]
    assert len(IDS) == len(lines)
    for line in lines:
        command = line.removeprefix("again").strip()
        words = subprocess.run(
            [BASH, "-c", f"printf '%s\\0' {command}"], check=True, capture_output=True
        ).stdout.decode().split("\0")[:-1]  # fmt: skip
        assert f"--sop-agent-arg=key={KEY}" in words
    again = pytester.runpytest(*words[1:])
    again.assert_outcomes(failed=1)
    assert IDS[-1] == json.loads(last_run(pytester))["task"]


def last_run(pytester: pytest.Pytester) -> str:
    lines = (pytester.path / ".sop/sessions/last.jsonl").read_text("ascii").split("\n")
    return next(line for line in lines if '"type":"run"' in line)


COMMANDS = (
    ("show", "last"),
    ("show", "last", "--all"),
    ("show", "last", IDS[4]),
    ("show", "last", "no\x1b]0;x\x07\n::error::task"),
    ("show", "last", IDS[0], "--json"),
    ("list", "-vv"),
    ("list", "no\x1b]0;x\x07\n::error::domain"),
    ("report", "last"),
    ("gate", "last", "--gate", "no\x1b]0;x\x07\n::error::x=1"),
    ("gate", "last", "--no\x1b]0;x\x07\n::error::x"),
    ("no\x1b]0;x\x07\n::error::x",),
)


@pytest.mark.usefixtures("hostile_session")
def test_nothing_that_sopbench_prints_is_a_command() -> None:
    for words in COMMANDS:
        result = CliRunner().invoke(main, words)

        assert not isinstance(result.exception, Exception), words
        assert result.output, words
        assert not COMMAND.search(result.output), words
        assert not CONTROL.search(result.output), words


@pytest.mark.parametrize(
    "option",
    [
        "--sop-domain=lab::no\x1b]0;x\x07\n::error::e",
        "--sop-agent=no\x1b]0;x\x07\n::error::e",
        "--sop-agent-arg=\x1b]0;x\x07\n::error::e",
        "--sop-sample=\x1b]0;x\x07\n::error::e",
    ],
)
def test_a_usage_error_is_no_command(hostile: Path, pytester: pytest.Pytester, option: str) -> None:
    result = pytester.runpytest("--sop-domain=lab", option)

    assert 4 == result.ret
    assert result.errlines
    assert not COMMAND.search(result.stderr.str())
    assert not CONTROL.search(result.stderr.str())
