"""Code that closes or replaces what pytest writes to, as it is imported, ends no session untold."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

from tests.builders.commands import ran

CLOSES = {
    "stdin": "os.close(0)",
    "stdout": "os.close(1)",
    "stderr": "os.close(2)",
    "all of them": "os.closerange(0, 3)",
}
REPLACES = {"replaced": "os.dup2(os.open(os.devnull, os.O_RDONLY), 1)"}
STREAMS = {"the stream": "sys.stdout.close()", "that of errors": "sys.stderr.close()"}
PLACES = [
    *(("habits", what) for what in (*CLOSES, *REPLACES, *STREAMS)),
    *(("workers", what) for what in ("stdout", "all of them")),
]


@pytest.mark.parametrize(("where", "what"), PLACES)
def test_what_is_closed_at_import_is_put_back_and_told(
    pytester: pytest.Pytester, lab: Path, where: str, what: str
) -> None:
    assert lab.is_dir()
    path = pytester.path / "habits.py"
    code = path.read_text()
    path.write_text(f"import os, sys\n{ {**CLOSES, **REPLACES, **STREAMS}[what] }\n{code}")
    words = ("-n1",) if where == "workers" else ()

    result = pytester.runpytest_subprocess("--sop-domain=lab", "--agent=habits:right", *words)

    asked = ran("gate", "last", "--fail-under=1")
    assert [1, 1] == [result.ret, asked.ret]
    result.stdout.fnmatch_lines(["TSR   100.0% correct, 6 of 6*", "* was closed *"])
    assert "INTERNALERROR" not in f"{result.stdout}{result.stderr}"


TOOLS = """
import os
{}

class DeskManager:
    def process_tool_call(self, name, arguments):
        return {{"grade": "pass"}}
"""
SPECS = [
    {
        "name": "look_up",
        "description": "The grade of a sample.",
        "parameters": {
            "type": "object",
            "properties": {"sample": {"type": "string"}},
            "required": ["sample"],
        },
    }
]
KEYS = {"name": "desk", "input_columns": ["sample"], "output_columns": ["grade"]}


@pytest.mark.parametrize("what", [*CLOSES.values(), *REPLACES.values()], ids=[*CLOSES, *REPLACES])
def test_what_tools_close_as_they_are_imported_is_put_back_and_told(
    pytester: pytest.Pytester, what: str
) -> None:
    folder = pytester.mkdir("domains") / "desk"
    folder.mkdir()
    for name, text in {
        "sop.md": "Look the grade up.\n",
        "metadata.json": json.dumps(KEYS),
        "toolspecs.json": json.dumps(SPECS),
        "data.csv": "sample,grade\nS-1,pass\nS-2,pass\n",
        "tools.py": TOOLS.format(what),
    }.items():
        (folder / name).write_text(text, "utf-8")
    pytester.makepyfile(
        asking="""
        def agent(inputs, tools):
            return tools.call("look_up", sample=inputs["sample"])
        """
    )

    result = pytester.runpytest_subprocess("--sop-domain=desk", "--agent=asking:agent")

    assert 1 == result.ret
    result.stdout.fnmatch_lines(
        [
            "TSR   100.0% correct, 2 of 2*",
            "* was closed or replaced while the tools of domain desk *",
        ]
    )
    assert "INTERNALERROR" not in f"{result.stdout}{result.stderr}"
