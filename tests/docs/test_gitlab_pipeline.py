"""The pipeline of the suite for GitLab: it parses, and runs what the workflows of the suite run.

The commands themselves are run in `test_example_workflows.py`.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest
import yaml

ROOT = Path(__file__).parents[2]
PIPELINE = (ROOT / "example_suite/.gitlab-ci.yml").read_text("utf-8")
OURS = re.compile(r"(?:pytest|sopbench|git (?:fetch|show|add|commit)) .*")
NAMES = {
    "$CI_NODE_INDEX": "$PART",
    "$CI_NODE_TOTAL": "$PARTS",
    '"$CI_DEFAULT_BRANCH"': "main",
    "$CI_COMMIT_SHA": "$GITHUB_SHA",
    ' --junitxml="shards/junit-$PART.xml"': "",
}
"""What GitLab calls otherwise, and what it has beside."""

ONLY_GITHUB = (" --to annotations", " --sop-report=md=github")


def pipeline() -> Mapping[str, Any]:
    found: Mapping[str, Any] = yaml.safe_load(PIPELINE)
    return found


def workflow_scripts(job: str) -> list[str]:
    name = "sop-baseline.yml" if job == "refresh" else "sop.yml"
    text = (ROOT / "example_suite/.github/workflows" / name).read_text("utf-8")
    return [one["run"] for one in yaml.safe_load(text)["jobs"][job]["steps"] if "run" in one]


def commands(scripts: list[str]) -> Iterator[str]:
    """The commands of ours, each on one line, with single blanks."""
    for line in "\n".join(scripts).replace("\\\n", " ").splitlines():
        command = " ".join(line.split())
        if OURS.fullmatch(command):
            yield command


def as_github(command: str) -> str:
    for name, other in NAMES.items():
        command = command.replace(name, other)
    return command


def as_gitlab(command: str) -> str:
    for one in ONLY_GITHUB:
        command = command.replace(one, "")
    return command


@pytest.mark.parametrize(
    ("job", "there"),
    [
        pytest.param("unit", "unit", id="unit"),
        pytest.param("replay", "replay", id="replay"),
        pytest.param("shard", "shard", id="shard"),
        pytest.param("gate", "gate", id="gate"),
        pytest.param("baseline", "refresh", id="baseline"),
    ],
)
def test_its_jobs_run_the_commands_of_the_workflows(job: str, there: str) -> None:
    here = [*map(as_github, commands(pipeline()[job]["script"]))]

    assert here
    assert [*map(as_gitlab, commands(workflow_scripts(there)))] == here


def test_each_job_has_a_stage_that_is_there_and_keeps_what_the_next_needs() -> None:
    found = pipeline()

    jobs = {name: one for name, one in found.items() if "script" in one}
    assert {"unit", "replay", "shard", "gate", "baseline"} == {*jobs}
    assert {one["stage"] for one in jobs.values()} == {*found["stages"]}
    assert ["shards/"] == jobs["shard"]["artifacts"]["paths"]
    assert "always" == jobs["shard"]["artifacts"]["when"] == jobs["gate"]["artifacts"]["when"]
    assert found["default"]["before_script"] == ["pip install -r requirements.txt"]
