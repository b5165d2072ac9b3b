"""The questions of `sopbench new`: asked at a terminal, never in a pipe."""

from __future__ import annotations

import subprocess
import sys
from pathlib import Path

import pytest

from tests.builders.domains import load_domain

PROGRAM = [sys.executable, "-c", "from pytest_sopbench.cli import main; main()"]
PATIENCE_SECONDS = 120
TABLE = (
    "Case No,Reason,Customer name,Order value,Order date,Decision\n"
    "001,late,Ada Abel,10,2025-01-02,pay\n"
    "002,late,Ben Brandt,20,2025-01-03,refuse\n"
)

if sys.platform == "win32":  # pragma: no cover - there is no such terminal
    pytest.skip("a terminal is needed", allow_module_level=True)
pexpect = pytest.importorskip("pexpect")


@pytest.fixture(autouse=True)
def files(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("cases.csv").write_text(TABLE, "utf-8")
    Path("sop.md").write_text("# Refunds\n", "utf-8")


def test_it_asks_one_question_at_a_time_and_proposes_each_answer() -> None:
    child = pexpect.spawn(
        PROGRAM[0], [*PROGRAM[1:], "new"], encoding="utf-8", timeout=PATIENCE_SECONDS
    )

    for question, answer in (
        (r"Name of the domain: ", "my refunds"),
        (r"'my_refunds' can be one.*Name of the domain: ", "refunds"),
        (r"Table of old cases.* \[none\]: ", "case.csv"),
        (r"case.csv: no such file or folder.*Table of old cases", "cases.csv"),
        (r"  3  Customer name  +\(hidden\).*Which column names the case \[1\]: ", ""),
        (r"Which hold the expected answer \[6\]: ", "Decison"),
        (r"did you mean 'Decision'\?.*Which hold the expected answer \[6\]: ", "decision"),
        (r"Which may nobody see .* \[3\]: ", ""),
        (r"Which is the agent given .* \[2\]: ", "2"),
        (r"Document of the procedure .*: ", "sop.doc"),
        (r"no such file.*Document of the procedure .*: ", "sop.md"),
    ):
        child.expect(question)
        child.sendline(answer)
    child.expect("go on with")
    child.wait()

    domain = load_domain(Path("domains/refunds"))
    assert ("case_no", "reason") == domain.input_columns
    assert frozenset({"customer_name"}) == domain.private_columns
    assert {"get_order"} == set(domain.lookups)


def test_without_a_table_the_answer_is_the_small_example() -> None:
    child = pexpect.spawn(
        PROGRAM[0], [*PROGRAM[1:], "new", "refunds"], encoding="utf-8", timeout=PATIENCE_SECONDS
    )

    child.expect(r"Table of old cases.* \[none\]: ")
    child.sendline("")
    child.expect("go on with")
    child.wait()

    assert Path("domains/refunds/policy.py").is_file()


def test_what_29_columns_leave_open_is_asked_once() -> None:
    names = [f"Value {number}" for number in range(29)]
    rows = [["No", "Reason", *names, "Decision"]]
    rows += [[f"K{at}", "late", *["1.234"] * 29, "pay"] for at in range(3)]
    Path("cases.csv").write_text("".join(";".join(row) + "\n" for row in rows), "utf-8")
    child = pexpect.spawn(
        PROGRAM[0],
        [*PROGRAM[1:], "new", "refunds", "--from", "cases.csv", "--input", "Reason"],
        encoding="utf-8",
        timeout=PATIENCE_SECONDS,
    )

    for question, answer in (
        (r"Value 28: '9.999' in rows 2, 3, 4\s+What stands before decimals .*: ", "comma"),
        (r"Which column names the case \[1\]: ", ""),
        (r"Which hold the expected answer \[32\]: ", ""),
        (r"Which may nobody see .* \[none\]: ", ""),
        (r"Document of the procedure .*: ", "sop.md"),
    ):
        child.expect(question)
        child.sendline(answer)
    child.expect("go on with")
    child.wait()

    results = load_domain(Path("domains/refunds")).tasks[0].results
    assert {1234} == {results[f"value_{number}"] for number in range(29)}


def test_the_largest_sheet_is_proposed() -> None:
    openpyxl = pytest.importorskip("openpyxl")
    book = openpyxl.Workbook()
    book.active.append(["Read me"])
    cases = book.create_sheet("Q3")
    for line in TABLE.splitlines():
        cases.append(line.split(","))
    book.save("cases.xlsx")
    child = pexpect.spawn(
        PROGRAM[0],
        [*PROGRAM[1:], "new", "refunds", "--from", "cases.xlsx"],
        encoding="utf-8",
        timeout=PATIENCE_SECONDS,
    )

    child.expect(r"Sheet \(Sheet, Q3\) \[Q3\]: ")

    child.sendline("")
    child.expect(r"Which column names the case \[1\]: ")
    child.close(force=True)


def test_in_a_pipe_nothing_is_asked() -> None:
    command = [*PROGRAM, "new", "refunds", "--from", "cases.csv"]

    result = subprocess.run(
        command, input="", capture_output=True, text=True, timeout=PATIENCE_SECONDS, check=False
    )

    assert 2 == result.returncode
    assert "" == result.stdout
    assert "also needed: --output COLUMN" in result.stderr
    assert not Path("domains").exists()


def test_in_a_pipe_a_missing_name_is_wrong_usage() -> None:
    result = subprocess.run(
        [*PROGRAM, "new"],
        input="",
        capture_output=True,
        text=True,
        timeout=PATIENCE_SECONDS,
        check=False,
    )

    assert 2 == result.returncode
    assert "Missing argument 'NAME'" in result.stderr
