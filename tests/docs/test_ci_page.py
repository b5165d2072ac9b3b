"""The workflow of the page on CI: its shell steps run in their order, as a runner runs them."""

from __future__ import annotations

import os
import re
import subprocess
import sys
from pathlib import Path
from typing import NamedTuple

import pytest

from pytest_sopbench import load_session
from tests.builders.pages import DOCS, write_late_returns

WHOLE = (DOCS / "how-to" / "run-in-ci.md").read_text(encoding="utf-8")
PAGE = WHOLE.partition("## The workflow")[2]
STEP = re.compile(r"^      - (?=\w)", re.MULTILINE)
RUN = re.compile(r"^(?: {8})?run: (?:\|\n((?: {10}.*\n|\n)+)|(.*)\n)", re.MULTILINE)


class Step(NamedTuple):
    """One shell step, and the condition under which a runner takes it."""

    condition: str
    script: str


def steps_of(job: str) -> list[Step]:
    (workflow,) = re.findall(r"```yaml\n(.*?)```", PAGE, re.DOTALL)
    (text,) = re.findall(rf"^  {job}:\n((?:    .*\n|\n)+)", workflow, re.MULTILINE)
    steps: list[Step] = []
    for part in STEP.split(text)[1:]:
        if found := RUN.search(part):
            condition = re.search(r"^(?: {8})?if: (.*)$", part, re.MULTILINE)
            script = found[1] or found[2]
            steps.append(Step(condition[1] if condition else "", script.replace("          ", "")))
    return steps


@pytest.fixture
def repository(pytester: pytest.Pytester) -> Path:
    """The files of the page, and the domain and agent of the reference page."""
    desk = write_late_returns(pytester.path)
    (pytester.path / "desk.py").write_text(desk, encoding="utf-8")
    for name, text in re.findall(r"# file: (\S+)\n(.*?)```", PAGE, re.DOTALL):
        path = pytester.path / name
        path.parent.mkdir(exist_ok=True)
        path.write_text(text, encoding="utf-8")
    return pytester.path


class Runner:
    """Runs the shell steps of a job until one fails."""

    def __init__(self, folder: Path, event: str) -> None:
        self._folder = folder
        self._event = event
        self.summary = folder / "summary.md"
        self.output = ""

    def run(self, job: str, **secrets: str) -> int:
        taken = (step for step in steps_of(job) if self._is_taken(step))
        return next((status for step in taken if (status := self._status(step, secrets))), 0)

    def _is_taken(self, step: Step) -> bool:
        if not step.condition:
            return True
        assert "github.event_name != 'pull_request'" == step.condition
        return self._event != "pull_request"

    def _status(self, step: Step, secrets: dict[str, str]) -> int:
        # What is to be installed is installed.
        script = f"pip() {{ test \"$*\" = 'install -r requirements.txt'; }}\n{step.script}"
        bin_folder = Path(sys.executable).parent
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", script],  # noqa: S607 - as a runner does it
            cwd=self._folder,
            env={
                **os.environ,
                **secrets,
                "PATH": f"{bin_folder}{os.pathsep}{os.environ['PATH']}",
                "CI": "true",
                "GITHUB_EVENT_NAME": self._event,
                "GITHUB_STEP_SUMMARY": str(self.summary),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        self.output += done.stdout + done.stderr
        return done.returncode


def test_without_a_key_the_unit_tests_run(repository: Path) -> None:
    runner = Runner(repository, "pull_request")

    status = runner.run("unit")

    assert 0 == status, runner.output
    assert "1 passed" in runner.output


def test_a_push_leaves_a_baseline_and_a_pull_request_is_held_against_it(repository: Path) -> None:
    push = Runner(repository, "push")
    assert 0 == push.run("agent", OPENAI_API_KEY="a-long-secret"), push.output
    # A domain's own tasks and the tests of them share one run of the agent each.
    assert "11 passed" in push.output
    assert 5 == len(load_session(repository / "baseline.jsonl").records)
    # Longer as well: Python tells two files of one second apart by their size alone.
    late = (repository / "desk.py").read_text().replace("days <= 30", "days <= 30 + 1")
    (repository / "desk.py").write_text(late)
    (repository / "artifacts" / "session.jsonl").rename(repository / "of-the-push.jsonl")
    request = Runner(repository, "pull_request")

    status = request.run("agent", OPENAI_API_KEY="a-long-secret")

    assert 1 == status, request.output
    assert "lost tasks <= 0 does not hold (got 2)" in request.output
    assert "R-103" in request.summary.read_text()
    assert 2 == len([*(repository / "artifacts" / "session.traces").glob("**/*.jsonl")])
    assert "a-long-secret" not in request.output


def test_a_cache_without_a_baseline_is_said_and_fails_nothing(repository: Path) -> None:
    runner = Runner(repository, "pull_request")

    status = runner.run("agent", OPENAI_API_KEY="a-long-secret")

    assert 0 == status, runner.output
    assert "::warning::the cache has no baseline" in runner.output
