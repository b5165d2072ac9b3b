"""What a plain session imports: what it uses, and nothing of an extra, so it works without any."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import tomllib
from importlib.metadata import packages_distributions
from pathlib import Path

import pytest

AT_EXIT = """
import atexit, pathlib, sys
def tell():
    pathlib.Path("modules.txt").write_text("\\n".join(sys.modules))
atexit.register(tell)
"""
START = "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"
METADATA = {"name": "lab", "input_columns": ["sample_id"], "output_columns": ["grade"]}


def not_used() -> list[str]:
    """Return the names by which libraries of extras, and what needs them, are imported.

    Our own other modules are loaded where they are imported.
    """
    project = tomllib.loads((Path(__file__).parents[1] / "pyproject.toml").read_text("utf-8"))
    extras = project["project"]["optional-dependencies"]
    wanted = [one for extra in extras.values() for one in extra]
    names = {re.split(r"[^\w.-]", one)[0].lower().replace("_", "-") for one in wanted}
    libraries = (
        module
        for module, found in packages_distributions().items()
        if not names.isdisjoint(name.lower().replace("_", "-") for name in found)
        and not module.startswith(("pytest_sopbench", "_"))
    )
    return ["pytest_sopbench.agents", *libraries]


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> frozenset[str]:
    """What a session of two tasks has imported from its start to its end."""
    tmp_path = tmp_path_factory.mktemp("project")
    folder = tmp_path / "domains" / "lab"
    folder.mkdir(parents=True)
    (folder / "sop.md").write_text("Grade the sample.\n", "utf-8")
    (folder / "metadata.json").write_text(json.dumps(METADATA), "utf-8")
    (folder / "data.csv").write_text("sample_id,grade\nT_1,pass\nT_2,pass\n", "utf-8")
    (tmp_path / "agents.py").write_text("def agent(inputs):\n    return {'grade': 'pass'}\n")
    (tmp_path / "conftest.py").write_text(AT_EXIT, "utf-8")
    options = ("-q", "-p", "pytest_sopbench.plugin", "--sop-domain=lab", "--sop-agent=agents:agent")

    subprocess.run(
        [sys.executable, "-I", "-c", START, *options],
        cwd=tmp_path,
        env={"PYTEST_DISABLE_PLUGIN_AUTOLOAD": "1"},
        check=True,
        timeout=300,
    )

    return frozenset((tmp_path / "modules.txt").read_text("utf-8").split())


def test_a_plain_session_imports_nothing_of_a_feature_that_is_not_used(
    imported: frozenset[str],
) -> None:
    inside = tuple(f"{name}." for name in not_used())

    assert [] == [one for one in imported if f"{one}.".startswith(inside)]


def test_the_extras_are_those_that_are_looked_for() -> None:
    assert {"boto3", "jinja2", "mcp", "openai", "pandas", "rapidfuzz", "xdist"} <= {*not_used()}
