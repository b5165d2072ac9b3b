"""`sopbench report` in several formats at once: all or none, and with a clear word where not."""

from __future__ import annotations

import csv
import json
from pathlib import Path

import pytest

from tests.builders.tables import FORMATS

from .conftest import Make, Save, Sopbench


def test_several_formats_are_written_at_once(
    sopbench: Sopbench, save: Save, runs: Make, tmp_path: Path
) -> None:
    save("main", runs())
    save("s", runs("T2"))

    result = sopbench(
        "report", "s", "--to=csv=runs.csv", "--to=json=s.json", "--to=md=s.md",
        "--baseline", "main", "--gate", "lost=0",
    )  # fmt: skip

    assert (0, "") == (result.exit_code, result.output)
    with (tmp_path / "runs.csv").open() as file:
        assert ["lost"] == [one["change"] for one in csv.DictReader(file) if one["change"]]
    found = json.loads((tmp_path / "s.json").read_text())
    assert ("does not hold", "main") == (found["verdict"]["state"], found["comparison"]["baseline"])
    assert "## Compared with main" in (tmp_path / "s.md").read_text()


def test_a_tasks_file_fails_the_page_of_a_session_without_gates(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    save("s", runs("T1"), options={"must_pass": ["refunds/T1"]})

    page = sopbench("report", "s", "--to=md").stdout

    assert "**The gate does not hold**" in page
    assert "- tasks that must pass and did not <= 0 does not hold (got 1): refunds/T1" in page


def test_an_agent_that_no_gate_names_is_told_on_the_page_and_by_the_gate(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    told = "refunds (b): no gate is checked; 2 of 6 are not correct"
    save("s", [*runs(agent="a"), *runs("T1", "T2", agent="b")])

    page = sopbench("report", "s", "--to=md", "--gate", "tsr=1@a").stdout
    gated = sopbench("gate", "s", "--gate", "tsr=1@a")

    assert f"- {told}" in page
    assert 0 == gated.exit_code
    assert f"       {told}" in gated.stdout.splitlines()


@pytest.mark.usefixtures("refunds")
def test_annotations_stand_at_the_rows(sopbench: Sopbench, save: Save, runs: Make) -> None:
    save("main", runs("T4"))
    save("s", runs("T2", "T4"))

    result = sopbench("report", "s", "--to=annotations", "--compare", "main")

    place = "::error file=domains/refunds/data.csv,line=3,title=refunds/T2%3A lost since main"
    assert f"{place}::wrong: refund is 'Refund B', not 'Refund A'\n" == result.stdout


def test_a_domain_that_is_gone_leaves_annotations_without_a_place(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    save("s", runs("T2"))

    result = sopbench("report", "s", "--to=annotations")

    assert result.stdout.startswith("::error title=refunds/T2%3A wrong::")


def test_a_format_without_a_path_goes_to_the_terminal(
    sopbench: Sopbench, save: Save, runs: Make
) -> None:
    save("s", runs())

    assert 7 == len(sopbench("report", "s", "--to=csv").stdout.splitlines())
    assert "session_report" == json.loads(sopbench("report", "s", "--to=json=-").stdout)["type"]


@pytest.mark.parametrize(
    ("words", "why"),
    [
        pytest.param(
            ("--to=csv=a", "--to=json=./a"), "json=./a: csv=a goes to the same place", id="one path"
        ),
        pytest.param(
            ("--to=csv=-", "--to=json=-"), "json=-: csv=- goes to the same place", id="one terminal"
        ),
        pytest.param(
            ("--to=csv=-", "--to=annotations"),
            "annotations stand on the terminal, and so would a page",
            id="a page among annotations",
        ),
        pytest.param(
            ("--to=csv=a", "--to=json=gone/b"),
            "gone/b: cannot be written: No such file",
            id="no folder",
        ),
        pytest.param(
            ("--to=csv=.sop/sessions/s.jsonl",),
            "this is the saved session itself",
            id="the session",
        ),
        pytest.param(
            ("--to=csv=a", "--baseline=s", "--to=json=.sop/../.sop/sessions/s.jsonl"),
            "this is the saved session itself",
            id="the session by another name",
        ),
        pytest.param(("--to=csv=",), "--to=csv=: write md=PATH, ", id="no path"),
    ],
)
def test_where_one_cannot_be_written_none_is(
    sopbench: Sopbench, save: Save, runs: Make, tmp_path: Path, words: tuple[str, ...], why: str
) -> None:
    held = save("s", runs()).read_bytes()

    result = sopbench("report", "s", *words)

    assert (2, "") == (result.exit_code, result.stdout)
    assert why in result.stderr
    assert [".sop"] == [one.name for one in tmp_path.iterdir()]
    assert held == (tmp_path / ".sop/sessions/s.jsonl").read_bytes()


def test_a_session_that_does_not_exist_is_named_and_nothing_written(
    sopbench: Sopbench, tmp_path: Path
) -> None:
    result = sopbench("report", "nope", "--to=csv=a.csv")

    assert 2 == result.exit_code
    assert "nope.jsonl: cannot be read: No such file or directory" in result.stderr
    assert not (tmp_path / "a.csv").exists()


def test_the_help_names_each_format(sopbench: Sopbench) -> None:
    told = " ".join(sopbench("report", "-h").stdout.split())

    assert f"({', '.join(FORMATS)}, annotations)" in told
