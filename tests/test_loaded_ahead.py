"""Once a run may have begun nothing of ours is imported: a run may break what imports need."""

from __future__ import annotations

import json

import pytest

WATCH = """
import sys
from pathlib import Path
import pytest

class Watcher:
    def find_spec(self, name, path=None, target=None):
        if name.startswith("pytest_sopbench."):
            with open("late.txt", "a") as file:
                file.write(name + "\\n")

@pytest.hookimpl(tryfirst=True)
def pytest_runtestloop(session):
    sys.meta_path.insert(0, Watcher())
"""
AGENT = """
import time

def agent(inputs):
    if inputs["sample_id"] == "T_3":
        raise RuntimeError("no answer")
    if inputs["sample_id"] == "T_4":
        time.sleep(5)
    return {"grade": "pass"}
"""
METADATA = {"name": "lab", "input_columns": ["sample_id"], "output_columns": ["grade"]}
ROWS = "sample_id,grade\nT_1,pass\nT_2,fail\nT_3,pass\nT_4,pass\n"


@pytest.fixture
def project(pytester: pytest.Pytester) -> None:
    """Four tasks, of which an agent gets one right, one wrong, and two not at all."""
    folder = pytester.path / "domains" / "lab"
    folder.mkdir(parents=True)
    (folder / "sop.md").write_text("Grade the sample.\n", "utf-8")
    (folder / "metadata.json").write_text(json.dumps(METADATA), "utf-8")
    (folder / "data.csv").write_text(ROWS, "utf-8")
    pytester.makeconftest(WATCH)
    pytester.makepyfile(desk=AGENT)


@pytest.mark.usefixtures("project")
@pytest.mark.parametrize(
    "options",
    [
        pytest.param((), id="default"),
        pytest.param(("--sop-concurrency=4",), id="in flight"),
        pytest.param(("--sop-concurrency=4", "-x"), id="in flight, stopped"),
        pytest.param(("--sop-trials=2", "-v"), id="trials"),
        pytest.param(("--sop-gate=tsr=90%", "-osop_traces=all"), id="gate"),
        pytest.param(("-q", "--junitxml=junit.xml"), id="quiet"),
    ],
)
def test_nothing_is_imported_after_the_first_run(
    pytester: pytest.Pytester, options: tuple[str, ...]
) -> None:
    words = ("--sop-domain=lab", "--sop-agent=desk:agent", "--sop-timeout=1", *options)

    result = pytester.runpytest_subprocess(*words)

    late = pytester.path / "late.txt"
    assert "" == (late.read_text() if late.exists() else "")
    assert 1 == result.ret


@pytest.mark.usefixtures("project")
def test_runs_with_tools_and_a_contract_import_nothing_of_ours_at_once(
    pytester: pytest.Pytester,
) -> None:
    result = pytester.runpytest_subprocess(
        "--sop-domain=order_fulfillment",
        "--sop-agent=reference-policy",
        "--sop-limit=12",
        "--sop-concurrency=8",
    )

    assert 0 == result.ret
    assert not (pytester.path / "late.txt").exists()
