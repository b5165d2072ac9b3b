"""The page for those who come from elsewhere: what it gives them runs as it stands."""

from __future__ import annotations

import csv
import json
import os
import re
import runpy
import shutil
from pathlib import Path

import pytest

from tests.builders.pages import DOCS, write_late_returns

PAGE = (DOCS / "how-to" / "come-from-elsewhere.md").read_text(encoding="utf-8")
FILES = dict(re.findall(r"```python\n# file: (\S+)\n(.*?)```", PAGE, re.DOTALL))
COMMANDS = re.findall(r"^\$ pytest (.*)$", PAGE, re.MULTILINE)
PROVIDER = """
def call_api(prompt, options, context):
    assert "get_order" in prompt and "<decision>" in prompt
    return {"output": "I think <decision>refund</decision>", "member": context["vars"]["member"]}
"""


@pytest.fixture
def project(pytester: pytest.Pytester) -> pytest.Pytester:
    """The domain `late_returns` with its agent, and every file of the page."""
    (pytester.path / "desk.py").write_text(write_late_returns(pytester.path))
    for name, text in FILES.items():
        (pytester.path / name).write_text(text)
    (pytester.path / "provider.py").write_text(PROVIDER)
    return pytester


@pytest.mark.parametrize(("name", "tests"), [("test_deepeval.py", 5), ("test_langsmith.py", 15)])
def test_tests_of_the_page_pass(project: pytest.Pytester, name: str, tests: int) -> None:
    result = project.runpytest(name)

    result.assert_outcomes(passed=tests)


def test_a_provider_of_promptfoo_is_an_agent(project: pytest.Pytester) -> None:
    result = project.runpytest(*COMMANDS[0].split())

    result.assert_outcomes(passed=2, failed=3)


def test_an_agent_of_sop_bench_is_scored_as_published(project: pytest.Pytester) -> None:
    result = project.runpytest(*COMMANDS[1].split())

    result.assert_outcomes(passed=4, failed=1)
    result.stdout.fnmatch_lines(["*published*"])


def test_samples_of_inspect_become_rows(
    project: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    samples = [
        {"id": "R-1", "input": {"member": True, "days": 30}, "target": "refund"},
        {"id": "R-2", "input": {"member": False, "days": 31}, "target": "decline"},
    ]
    domain = project.path / "domains" / "late_returns"
    (domain / "samples.jsonl").write_text("\n".join(map(json.dumps, samples)))
    monkeypatch.chdir(domain)

    runpy.run_path(str(project.path / "samples_to_rows.py"))

    monkeypatch.chdir(project.path)
    with (domain / "data.csv").open(newline="") as file:
        assert ["R-1", "R-2"] == [row["order_id"] for row in csv.DictReader(file)]
    result = project.runpytest("--sop-domain=late_returns", "--agent=desk:agent")
    result.assert_outcomes(passed=2)


def test_a_published_folder_loads_by_its_path_as_the_page_says(pytester: pytest.Pytester) -> None:
    place = os.environ.get("SOPBENCH_DATA")
    if place is None:
        pytest.skip("SOPBENCH_DATA does not say where the public domains lie")
    folder = pytester.path / "published" / "dangerous_goods"
    shutil.copytree(Path(place) / "sop_bench" / "dangerous_goods", folder)
    (folder / "tools.py").write_text(
        "class Manager:\n    def process_tool_call(self, name, arguments): return {name: 1}\n"
    )
    pytester.makepyfile(
        one="""
        class Agent:
            def execute(self, sop, task, tools):
                asked = {"product_id": task["product_id"], "sds_label_text": "none"}
                assert tools.execute_tool("calculate_sds_label_score", asked) != {}
                return "<final_output>{}</final_output>"
        """
    )

    result = pytester.runpytest(
        f"--sop-domain={folder}",
        *("--agent=one:Agent", "--sop-sample=first:5", "--sop-concurrency=5"),
        *("-o", "sop_scoring=published"),
    )

    result.assert_outcomes(failed=5)
    result.stdout.re_match_lines([r"TSR .* 0 of 5 "])


def test_options_that_the_page_names_are_options() -> None:
    options = (DOCS / "reference" / "options.md").read_text("utf-8")

    named = set(re.findall(r"--sop-[a-z-]+", PAGE))

    assert len(named) > 5
    assert [] == [one for one in sorted(named) if one not in options]
