"""Code that hangs as it is imported: the session ends by the time limit, and says where."""

from __future__ import annotations

import json
from pathlib import Path

import pytest

HANGS = """
import threading

threading.Event().wait(300)
"""
# A busy machine has come to the line that hangs within the second of each limit.


@pytest.mark.usefixtures("lab")
def test_an_agent_that_hangs_when_it_is_imported_is_named(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(hangs=HANGS)

    result = pytester.runpytest_subprocess(
        "--sop-domain=lab", "--agent=hangs:agent", "--sop-timeout=1"
    )

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(
        [
            "ERROR: agent 'hangs:agent': importing it took longer than 1 s at *hangs.py:[34]",
            "raise --sop-timeout, or let it do less when imported",
        ]
    )


def test_tools_that_hang_when_they_are_imported_are_named(
    pytester: pytest.Pytester, lab: Path
) -> None:
    (lab / "tools.py").write_text(HANGS)
    (lab / "metadata.json").write_text(
        '{"name": "lab", "output_columns": ["grade"], "input_columns": ["sample_id"]}'
    )

    result = pytester.runpytest_subprocess(
        "--sop-domain=lab", "--agent=habits:right", "--sop-timeout=1"
    )

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(
        ["ERROR: the tools of domain lab: importing it took longer than 1 s at *tools.py:4"]
    )


def test_comparer_that_hangs_at_import_is_refused(pytester: pytest.Pytester, lab: Path) -> None:
    metadata = json.loads((lab / "metadata.json").read_text())
    metadata["outputs"] = {"grade": {"compare": "call", "comparer": "asleep:same"}}
    (lab / "metadata.json").write_text(json.dumps(metadata))
    pytester.makepyfile(asleep=HANGS)

    result = pytester.runpytest_subprocess(
        "--sop-domain=lab", "--agent=habits:right", "--sop-timeout=1"
    )

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*the comparers of domain lab: importing it took longer than*"])
