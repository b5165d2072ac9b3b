"""What a plain session imports: what it uses, and no feature that nobody asked for."""

from __future__ import annotations

import json
import subprocess
import sys

import pytest

AT_EXIT = """
import atexit, pathlib, sys
def tell():
    pathlib.Path("modules.txt").write_text("\\n".join(sys.modules))
atexit.register(tell)
"""
START = "import sys, pytest; sys.exit(pytest.main(sys.argv[1:]))"
METADATA = {"name": "lab", "input_columns": ["sample_id"], "output_columns": ["grade"]}
NOT_USED = ("boto3", "jinja2", "openai", "pandas", "pytest_sopbench.agents", "syrupy")
"""Optional libraries, and what needs them; our own modules are loaded where they are imported."""


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


@pytest.mark.parametrize("name", NOT_USED)
def test_a_plain_session_imports_nothing_of_a_feature_that_is_not_used(
    imported: frozenset[str], name: str
) -> None:
    assert set() == {one for one in imported if one == name or one.startswith(f"{name}.")}
