"""The workflows of the example suite: each shell step runs in its order, as a runner runs it.

GitHub's own actions are played by folders: a bare repository is GitHub, and an artifact or an
entry of the cache is a copy.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

from pytest_sopbench import load_session
from tests.builders.tables import FORMATS

SUITE = Path(__file__).parents[2] / "example_suite"
LEFT = shutil.ignore_patterns(".sop", ".pytest_cache", "__pycache__", "session", "shards")
HTML = re.compile(r"--to html=\S+ \\\n *")
EXPRESSION = re.compile(r"\$\{\{ *([a-z_.]+) *\}\}")
COMMIT = "0123456789abcdef0123456789abcdef01234567"


class GitHub:
    """A bare repository with the suite on its main branch, artifacts and a cache."""

    def __init__(self, folder: Path) -> None:
        self.folder = folder
        self.artifacts = folder / "artifacts"
        self.cache = folder / "cache"
        self.origin = folder / "origin.git"
        clone = folder / "clone"
        shutil.copytree(SUITE, clone, ignore=LEFT)
        self.git(folder, "init", "--quiet", "--bare", "--initial-branch=main", str(self.origin))
        self.git(clone, "init", "--quiet", "--initial-branch=main")
        self.git(clone, "remote", "add", "origin", str(self.origin))
        self.push(clone, "main")

    def git(self, folder: Path, *words: str) -> str:
        return subprocess.run(
            ["git", *words], cwd=folder, env=environment(self.folder), check=True,  # noqa: S607
            capture_output=True, text=True,
        ).stdout  # fmt: skip

    def push(self, clone: Path, branch: str) -> None:
        self.git(clone, "add", "--all")
        self.git(clone, "commit", "--quiet", "--message", branch)
        self.git(clone, "push", "--quiet", "origin", f"HEAD:{branch}")

    def pull_request(self, old: str, new: str) -> None:
        """Offer a branch on which a text of `conftest.py` is another."""
        clone = self.folder / "clone"
        path = clone / "conftest.py"
        path.write_text(path.read_text().replace(old, new))
        self.push(clone, "change")


class Job:
    """A job on a machine of its own, which has the branch and what the job restores."""

    def __init__(
        self, github: GitHub, name: str, *, branch: str, part: int = 0, attempt: int = 1
    ) -> None:
        workflow = "sop-baseline.yml" if name == "refresh" else "sop.yml"
        self._github = github
        text = (SUITE / ".github/workflows" / workflow).read_text("utf-8")
        self._job: dict[str, Any] = yaml.safe_load(text)["jobs"][name]
        self._known = {
            "matrix.part": f"{part}",
            "github.sha": COMMIT,
            "github.run_attempt": f"{attempt}",
        }
        self._branch = branch
        self.folder = github.folder / f"{branch}-{name}-{part}-{attempt}"
        self.summary = github.folder / "summary.md"
        self.output = ""

    def run(self) -> int:
        """Take each step until one fails, and then those that are always taken."""
        status = 0
        for step in self._job["steps"]:
            if not status or step.get("if") == "always()":
                taken = self._use(step) if "uses" in step else self._shell(step["run"])
                status = status or taken
        return status

    def _use(self, step: Mapping[str, Any]) -> int:
        action = step["uses"].partition("@")[0].removeprefix("actions/")
        given = {name: self._filled(f"{one}") for name, one in step.get("with", {}).items()}
        if action == "checkout":
            words = ("clone", "--quiet", "--branch", self._branch, str(self._github.origin))
            self._github.git(self._github.folder, *words, str(self.folder))
        elif action == "upload-artifact":
            copy(self.folder / given["path"], self._github.artifacts / given["name"])
        elif action == "download-artifact":
            for one in sorted(self._github.artifacts.glob(given["pattern"])):
                copy(one, self.folder / given["path"])
        elif action == "cache/save":
            copy(self.folder / given["path"], self._github.cache / given["key"])
        elif action == "cache/restore":
            for one in sorted(self._github.cache.glob(f"{given['restore-keys']}*"))[-1:]:
                copy(one, self.folder / given["path"])
        else:
            assert "setup-python" == action
        return 0

    def _shell(self, script: str) -> int:
        if "html" not in FORMATS:
            script = HTML.sub("", script)
        # What is to be installed is installed.
        pip = "pip() { test \"$*\" = 'install -r requirements.txt'; }"
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", f"{pip}\n{self._filled(script)}"],  # noqa: S607
            cwd=self.folder,
            env={
                **environment(self._github.folder),
                **{k: self._filled(f"{one}") for k, one in self._job.get("env", {}).items()},
                "CI": "true",
                "GITHUB_SHA": COMMIT,
                "GITHUB_WORKSPACE": str(self.folder),
                "GITHUB_STEP_SUMMARY": str(self.summary),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        self.output += done.stdout + done.stderr
        return done.returncode

    def _filled(self, text: str) -> str:
        return EXPRESSION.sub(lambda found: self._known[found[1]], text)


def copy(source: Path, target: Path) -> None:
    # A step that never came to its end may have left nothing to keep.
    if source.exists():
        shutil.copytree(source, target, dirs_exist_ok=True, symlinks=True)


def environment(home: Path) -> dict[str, str]:
    someone = {
        f"GIT_{who}_{what}": "a@example.org"
        for who in ("AUTHOR", "COMMITTER")
        for what in ("NAME", "EMAIL")
    }
    path = f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}"
    return {**os.environ, **someone, "PATH": path, "HOME": str(home), "GIT_CONFIG_NOSYSTEM": "1"}


@pytest.fixture
def github(pytester: pytest.Pytester) -> GitHub:
    return GitHub(pytester.path)


def shards(github: GitHub, branch: str) -> list[Job]:
    return [Job(github, "shard", branch=branch, part=part) for part in (1, 2)]


def test_a_pull_request_that_changes_nothing_passes(github: GitHub) -> None:
    github.pull_request("estimate_per_day=10", "estimate_per_day=10 ")
    unit = Job(github, "unit", branch="change")
    gate = Job(github, "gate", branch="change")
    parts = shards(github, "change")

    statuses = [one.run() for one in (unit, *parts, gate)]

    assert [0, 0, 0, 0] == statuses, gate.output
    assert "::" not in gate.output
    summary = gate.summary.read_text("utf-8")
    assert "**All gates hold**" in summary
    assert "lost 0, gained 0 of 18 paired tasks" in summary
    kept = {one.name for one in (github.artifacts / "sop-session").iterdir()}
    assert {"whole.jsonl", "main.jsonl", "runs.csv", "report.json", "page.md"} <= kept


def test_a_recorded_model_is_replayed_without_a_key(
    github: GitHub, monkeypatch: pytest.MonkeyPatch
) -> None:
    pytest.importorskip("openai", reason="the agent asks its model by the client of OpenAI")
    monkeypatch.delenv("OPENAI_API_KEY", raising=False)
    monkeypatch.setenv("OPENAI_BASE_URL", "http://127.0.0.1:9/v1")
    job = Job(github, "replay", branch="main")

    status = job.run()

    assert 0 == status, job.output
    assert "replay 10 runs replayed" in job.output


def test_a_pull_request_that_loses_tasks_is_refused_at_their_rows(github: GitHub) -> None:
    """Also where it renews the baseline together with the agent."""
    (github.folder / "clone" / "baseline.jsonl").unlink()
    github.pull_request("daily_limit=60", "daily_limit=61")
    parts = shards(github, "change")
    gate = Job(github, "gate", branch="change")

    statuses = [one.run() for one in (*parts, gate)]

    assert [1, 1, 1] == statuses, gate.output
    assert "lost tasks <= 0 does not hold (got 2)" in gate.output
    told = [line for line in gate.output.splitlines() if line.startswith("::")]
    places = [re.findall("file=([^,]+),line=([0-9]+),title=([^,]+)::", line)[0] for line in told]
    assert [
        ("domains/meter_readings/data.csv", "9", "meter_readings/FP-5581%3A lost since main"),
        ("domains/meter_readings/data.csv", "10", "meter_readings/FP-2890%3A lost since main"),
    ] == places
    assert "- lost 2: FP-5581, FP-2890" in gate.summary.read_text("utf-8")
    assert 19 == len(load_session(github.artifacts / "sop-session" / "whole.jsonl").records)


def test_a_job_that_is_run_again_makes_no_run_twice(github: GitHub) -> None:
    first, again = (
        Job(github, "shard", branch="main", part=2, attempt=attempt) for attempt in (1, 2)
    )
    assert 0 == first.run(), first.output

    status = again.run()

    assert 0 == status, again.output
    assert "resumed 10 of 10 runs from last" in again.output


def test_the_main_branch_renews_its_baseline(github: GitHub) -> None:
    before = github.git(github.origin, "show", "main:baseline.jsonl")
    job = Job(github, "refresh", branch="main")

    status = job.run()

    assert 0 == status, job.output
    after = github.git(github.origin, "show", "main:baseline.jsonl")
    assert after != before
    assert f"the main branch at {COMMIT}" in after
    assert "Renew the baseline\n" == github.git(github.origin, "log", "-1", "--format=%s", "main")
    assert "lost 0, gained 0" in job.summary.read_text("utf-8")
