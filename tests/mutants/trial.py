"""Run tests against a copy of the source, in a process of their own."""

from __future__ import annotations

import os
import re
import signal
import subprocess
from dataclasses import dataclass
from enum import StrEnum
from pathlib import Path

from mutants.mutant import PACKAGE

ROOT = Path(__file__).resolve().parents[2]
_PYTEST = ("-m", "pytest", "-x", "-q", "-p", "no:cacheprovider")
_LAWS = "core/documents/test_reading.py::"
SLOW = (
    f"{_LAWS}test_a_document_equals_itself_under_any_order_white_space_and_escapes",
    "core/documents/test_reading.py::test_documents_of_one_canonical_spelling_are_equal",
    "core/documents/test_reading.py::test_every_mismatch_makes_a_path_wrong_and_nothing_else_does",
    "core/test_answers.py::test_a_long_text_of_one_part_is_read_to_its_end",
    "core/test_answers.py::test_deep_nesting_neither_recurses_nor_hangs",
    "core/test_answers.py::test_steps_grow_with_the_length_of_the_text_and_no_faster",
    "core/test_hiding.py::test_a_secret_of_backslashes_takes_no_longer_than_another",
    "core/test_tally.py::test_a_run_takes_few_bytes",
    "core/test_tally.py::test_nothing_added_changes_nothing",
    "core/test_tally.py::test_summaries_add",
    "core/test_tally.py::test_the_order_of_arrival_leaves_no_trace",
    "core/test_trials.py::test_intervals_hold_their_rates",
    "reports/html/test_page.py::test_a_large_hostile_session_parses_as_it_is_meant",
)
"""Tests that take seconds, and of which no mutation needs one: of growth, and a few laws."""
_FAILED = re.compile(r"^(?:FAILED|ERROR) (\S+)", re.MULTILINE)
_HELD, _FOUND = 0, 1
_RUNNING: set[int] = set()


class Result(StrEnum):
    """What came of a mutant; only `survived` and `unclear` are failures of the suite."""

    KILLED = "killed"
    TIMED_OUT = "timed out"
    SURVIVED = "survived"
    UNCLEAR = "unclear"


@dataclass(frozen=True, slots=True)
class Ended:
    """How a test process ended: `status` is `None` where it was stopped, `by` the test that failed.

    `words` are the last of its output.
    """

    status: int | None
    by: str
    words: str

    @property
    def result(self) -> Result:
        if self.status is None:
            return Result.TIMED_OUT
        # Another status says that no test has judged: nothing was collected, or pytest broke.
        return {_HELD: Result.SURVIVED, _FOUND: Result.KILLED}.get(self.status, Result.UNCLEAR)


def run_tests(python: Path, tests: tuple[str, ...], *, seconds: float) -> Ended:
    """Run tests of the working tree by a Python in which the package is another one."""
    process = subprocess.Popen(
        [
            *(str(python), *_PYTEST),
            *(f"--deselect=tests/{one}" for one in SLOW),
            *(f"tests/{one}" for one in tests),
        ],
        cwd=ROOT,
        env=_environment(python),
        stdin=subprocess.DEVNULL,
        stdout=subprocess.PIPE,
        stderr=subprocess.STDOUT,
        start_new_session=True,
    )
    _RUNNING.add(process.pid)
    try:
        out, _ = process.communicate(timeout=seconds)
    except subprocess.TimeoutExpired:
        return Ended(None, "", f"still running after {seconds:g} seconds")
    finally:
        # Also what a test has left behind, which still holds the copy.
        _kill_group(process.pid)
        process.wait()
        _RUNNING.discard(process.pid)
    text = out.decode("utf-8", "replace")
    # The last one: before it stands what a session inside of the test has printed.
    failed = _FAILED.findall(text)
    by = failed[-1].removeprefix("tests/") if failed else ""
    return Ended(process.returncode, by, "\n".join(text.splitlines()[-30:]))


def stop_all() -> None:
    """End all test processes, each with what it has started."""
    for leader in list(_RUNNING):
        _kill_group(leader)


def imported_by(python: Path) -> Path:
    """Return where a Python finds the package, also in isolation."""
    code = f"import {PACKAGE}; print({PACKAGE}.__file__)"
    ended = subprocess.run(
        [str(python), "-I", "-c", code],
        cwd=ROOT,
        env={},
        capture_output=True,
        text=True,
        check=True,
    )
    return Path(ended.stdout.strip())


def _environment(python: Path) -> dict[str, str]:
    """What processes see of the environment: nothing of it says where the package is."""
    ours = ("PYTEST_", "COV_CORE_", "SOP_")
    kept = {name: value for name, value in os.environ.items() if not name.startswith(ours)}
    for name in ("CI", "PYTHONDONTWRITEBYTECODE", "PYTHONPATH"):
        kept.pop(name, None)
    return {**kept, "PATH": f"{python.parent}{os.pathsep}{kept.get('PATH', '')}"}


def _kill_group(leader: int) -> None:
    try:
        os.killpg(leader, signal.SIGKILL)
    except (ProcessLookupError, PermissionError):
        return
