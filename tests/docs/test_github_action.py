"""The GitHub Action: its steps run in their order, as a runner runs them.

GitHub's own actions are played by folders, and its API by a server on loopback.
"""

from __future__ import annotations

import json
import os
import re
import shutil
import subprocess
import sys
import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
ACTION: dict[str, Any] = yaml.safe_load((ROOT / "action.yml").read_text("utf-8"))
LEFT = shutil.ignore_patterns(".sop", ".pytest_cache", "__pycache__", "session", "replay")
EXPRESSION = re.compile(r"\$\{\{ *(.+?) *\}\}")
NAME = re.compile(r"'[^']*'|[a-z_]+(?:\.[a-z_-]+)+|always\(\)|&&|\|\||!=|==|[^ ]+")
WORDS = {"&&": "and", "||": "or", "always()": "True"}


class Api(ThreadingHTTPServer):
    """GitHub's API: it keeps the checks that are posted, or refuses them."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Handler)
        self.checks: list[dict[str, Any]] = []
        self.status = 201


class _Handler(BaseHTTPRequestHandler):
    server: Api

    def do_POST(self) -> None:
        body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
        self.server.checks.append({"path": self.path, **body})
        self.send_response(self.server.status)
        self.send_header("Content-Length", "0")
        self.end_headers()

    def log_message(self, *_: object) -> None:
        pass


@pytest.fixture(scope="module")
def api() -> Iterator[Api]:
    with Api() as api:
        thread = threading.Thread(target=api.serve_forever)
        thread.start()
        yield api
        api.shutdown()
        thread.join()


class Runner:
    """A runner that takes the steps of `action.yml` in a copy of the example suite."""

    def __init__(self, folder: Path, api: Api) -> None:
        self.folder = folder
        self.suite = folder / "suite"
        self.cache = folder / "cache.jsonl"
        self.artifact = folder / "artifact"
        self.summary = folder / "summary.md"
        self.api = api
        self.output = ""
        self.outputs: dict[str, str] = {}
        shutil.copytree(ROOT / "example_suite", self.suite, ignore=LEFT)

    def change_agent(self, old: str, new: str) -> None:
        path = self.suite / "conftest.py"
        assert old in path.read_text()
        path.write_text(path.read_text().replace(old, new))

    def run(self, event: str, *, fork: bool = False, **inputs: str) -> int:
        """Take each step until one fails, and then those that are always taken."""
        status = 0
        known = self._known(event, fork=fork, inputs=inputs)
        for step in ACTION["runs"]["steps"]:
            condition = step.get("if", "True")
            if (status and "always()" not in condition) or not self._value(condition, known):
                continue
            given = {**step.get("with", {}), **step.get("env", {})}
            filled = {key: self._filled(text, known) for key, text in given.items()}
            taken = self._use(step, filled) if "uses" in step else self._shell(step, filled, event)
            known |= {f"steps.session.outputs.{key}": text for key, text in self.outputs.items()}
            status = status or taken
        return status

    def _known(self, event: str, *, fork: bool, inputs: dict[str, str]) -> dict[str, str]:
        named = {key.replace("_", "-"): text for key, text in inputs.items()}
        defaults = {key: one.get("default", "") for key, one in ACTION["inputs"].items()}
        assert set(named) <= set(defaults)
        return {
            **{f"inputs.{key}": text for key, text in {**defaults, **named}.items()},
            "github.token": "gh-token",
            "github.event_name": event,
            "github.repository": "team/agent",
            "github.event.pull_request.head.repo.full_name": "them/agent" if fork else "team/agent",
            "github.event.pull_request.head.sha": "a" * 40 if event == "pull_request" else "",
            "github.sha": "b" * 40,
            "github.run_id": "7",
            "github.run_attempt": "1",
        }

    def _value(self, expression: str, known: dict[str, str]) -> Any:
        """Return what an expression of the runner comes to."""
        words = [
            WORDS.get(word, repr(known.get(word, "")) if re.match(r"[a-z_]+\.", word) else word)
            for word in NAME.findall(expression)
        ]
        return eval(" ".join(words), {})  # noqa: S307 - an expression of our own action.yml

    def _filled(self, text: str, known: dict[str, str]) -> str:
        def value(found: re.Match[str]) -> str:
            got = self._value(found[1], known)
            return f"{got}".lower() if isinstance(got, bool) else f"{got}"

        return EXPRESSION.sub(value, text)

    def _use(self, step: dict[str, Any], given: dict[str, str]) -> int:
        match step["uses"].partition("@")[0]:
            case "actions/cache/restore" if self.cache.is_file():
                shutil.copy(self.cache, self.suite / Path(given["path"]).name)
            case "actions/cache/save":
                shutil.copy(self.suite / Path(given["path"]).name, self.cache)
            case "actions/upload-artifact":
                shutil.copytree(self.suite / "sop-report", self.artifact, dirs_exist_ok=True)
            case name:
                assert "actions/cache/restore" == name
        return 0

    def _shell(self, step: dict[str, Any], given: dict[str, str], event: str) -> int:
        outputs = self.folder / "outputs"
        kept = ("HOME", "LANG", "TMPDIR")
        environment = {name: os.environ[name] for name in kept if name in os.environ}
        done = subprocess.run(
            ["bash", "-e", "-o", "pipefail", "-c", step["run"]],  # noqa: S607
            cwd=self.suite,
            env={
                **environment,
                **given,
                "PATH": f"{Path(sys.executable).parent}{os.pathsep}{os.environ['PATH']}",
                "PYTEST_ADDOPTS": "-psopbench -psyrupy -pno:cacheprovider",
                "PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1",
                "PYTHONPATH": os.environ.get("PYTHONPATH", ""),
                "GITHUB_ACTION_PATH": str(ROOT),
                "GITHUB_API_URL": f"http://127.0.0.1:{self.api.server_port}",
                "GITHUB_EVENT_NAME": event,
                "GITHUB_OUTPUT": str(outputs),
                "GITHUB_REPOSITORY": "team/agent",
                "GITHUB_STEP_SUMMARY": str(self.summary),
                "GITHUB_WORKSPACE": str(self.suite),
            },
            capture_output=True,
            text=True,
            check=False,
        )
        self.output = done.stdout + done.stderr
        if outputs.is_file():
            rows = outputs.read_text("utf-8").splitlines()
            self.outputs = dict(row.split("=", 1) for row in rows)
        return done.returncode


TASKS = "domains"


@pytest.fixture
def runner(tmp_path: Path, api: Api) -> Runner:
    api.checks.clear()
    api.status = 201
    return Runner(tmp_path, api)


@pytest.fixture(scope="module")
def main_branch(tmp_path_factory: pytest.TempPathFactory, api: Api) -> tuple[int, Runner, Any]:
    """What a push to the main branch came to: its status, its runner, and the checks it posted."""
    runner = Runner(tmp_path_factory.mktemp("main"), api)
    status = runner.run("push", arguments=TASKS, fail_under="0.9")
    return status, runner, [*api.checks]


@pytest.fixture
def pushed(main_branch: tuple[int, Runner, Any], runner: Runner) -> Runner:
    """A runner whose cache, and whose machine, has what the push has left."""
    of_push = main_branch[1]
    shutil.copy(of_push.cache, runner.cache)
    shutil.copytree(of_push.suite, runner.suite, dirs_exist_ok=True)
    return runner


def test_the_main_branch_makes_the_baseline_and_posts_its_verdict(
    main_branch: tuple[int, Runner, Any],
) -> None:
    status, runner, checks = main_branch

    assert 0 == status, runner.output
    [check] = checks
    assert "/repos/team/agent/check-runs" == check["path"]
    assert ("success", "b" * 40) == (check["conclusion"], check["head_sha"])
    assert "94.7 % correct, 18 of 19, 1 may fail; TSR >= 90% holds" == check["output"]["title"]
    assert check["output"]["title"] == runner.outputs["title"]
    assert "# SOP: meter_readings" in check["output"]["summary"]
    assert "# SOP: meter_readings" in runner.summary.read_text()
    assert runner.cache.is_file()
    assert {"session.jsonl", "page.md", "report.json", "junit.xml"} <= {
        path.name for path in runner.artifact.iterdir()
    }


def test_a_pull_request_that_loses_tasks_is_red_and_names_them(pushed: Runner) -> None:
    pushed.change_agent("daily_limit=60", "daily_limit=5")

    status = pushed.run("pull_request", arguments=TASKS)

    [check] = pushed.api.checks
    assert 1 == status
    assert ("failure", "a" * 40) == (check["conclusion"], check["head_sha"])
    assert re.search(
        r"lost tasks <= 0 does not hold \(got \d+\); \d+ lost", check["output"]["title"]
    )
    assert "::error" in pushed.output


def test_a_pull_request_without_a_baseline_says_that_nothing_is_compared(runner: Runner) -> None:
    status = runner.run("pull_request", arguments=TASKS)

    assert 0 == status, runner.output
    assert "::warning::no baseline sop-baseline.jsonl" in runner.output
    assert "success" == runner.api.checks[0]["conclusion"]


def test_a_gate_that_nobody_can_decide_is_a_failure(runner: Runner) -> None:
    status = runner.run("push", arguments=TASKS, gates="tier_score=0.5")

    assert 0 != status
    assert "failure" == runner.api.checks[0]["conclusion"]
    assert "inconclusive" in runner.api.checks[0]["output"]["title"]
    assert not runner.cache.is_file()


def test_a_session_without_a_result_is_a_failure(pushed: Runner) -> None:
    """Also where the report of an earlier session lies there."""
    pushed.cache.unlink()

    status = pushed.run("push", arguments="--no-such-option")

    assert 4 == status
    [check] = pushed.api.checks
    assert "failure" == check["conclusion"] == pushed.outputs["conclusion"]
    output = check["output"]
    said = "unrecognized arguments: --no-such-option"
    assert output["title"].startswith(f"no result: pytest ended with status 4: {said}")
    for place in (output["summary"], pushed.summary.read_text(), pushed.output):
        assert said in place
    assert not pushed.cache.is_file()


def test_a_usage_error_of_the_suite_is_told_where_the_verdict_would_stand(runner: Runner) -> None:
    status = runner.run("push", arguments="--sop-domain=nowhere")

    output = runner.api.checks[0]["output"]
    assert 4 == status
    assert "nowhere" in output["title"]
    assert "    ERROR: " in output["summary"]


def test_a_text_that_github_would_refuse_is_cut_where_its_bytes_are_too_many(
    runner: Runner,
) -> None:
    """GitHub counts bytes, and a page in another script has three for each character."""
    path = runner.suite / "conftest.py"
    page = "def pytest_sessionfinish():\n    __import__('atexit').register(lambda: "
    page += "__import__('pathlib').Path('sop-report/page.md').write_text('\u6c34' * 30_000))\n"
    path.write_text(f"{path.read_text()}\n{page}", encoding="utf-8")

    status = runner.run("push", arguments=TASKS)

    summary = runner.api.checks[0]["output"]["summary"]
    assert 0 == status, runner.output
    assert summary.endswith("\u6c34\n\nCut here; the artifact has the whole page.")
    assert 60_000 < len(summary.encode()) < 65_535


def test_a_check_that_github_refuses_changes_no_verdict(runner: Runner) -> None:
    runner.api.status = 403

    status = runner.run("push", arguments=TASKS)

    assert 0 == status
    assert "::notice::the check could not be posted" in runner.output


def test_a_fork_is_given_recordings_alone(runner: Runner) -> None:
    shutil.copytree(ROOT / "example_suite" / "replay", runner.suite / "replay")
    inputs = {"arguments": ".", "working_directory": "replay"}
    runner.suite /= "replay"

    status = runner.run("pull_request", fork=True, **inputs)

    assert 0 == status, runner.output
    assert "replay" in runner.summary.read_text()


def test_words_of_inputs_are_never_run(runner: Runner) -> None:
    runner.run("push", arguments="domains '-k' '$(touch ran)'", gates="$(touch ran)\n`touch ran`")

    assert not (runner.suite / "ran").exists()
