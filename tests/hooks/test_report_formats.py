"""`--sop-report` as CSV, JSON and annotations, from a session as a user runs it."""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner
from markdown_it import MarkdownIt

from pytest_sopbench.cli import main

from .test_hostile_text import COMMAND, CONTROL, IDS, RUN, hostile  # noqa: F401 - a fixture

pytestmark = pytest.mark.usefixtures("lab")

LAB = "--sop-domain=lab"
SECOND = (LAB, "--sop-agent=habits:loses_second", "--sop-fail-under=0.5")
ALL = (
    "--sop-report=csv=out/runs.csv",
    "--sop-report=json=out/session.json",
    "--sop-report=md=out/page.md",
    "--sop-report=annotations=github",
)


def table(path: str) -> list[dict[str, str]]:
    with Path(path).open(encoding="utf-8", newline="") as file:
        return list(csv.DictReader(file))


def document(path: str) -> Any:
    return json.loads(Path(path).read_text("utf-8"))


def commands(lines: list[str]) -> list[str]:
    return [line for line in lines if line.startswith("::")]


def test_every_format_is_made_of_one_session(
    pytester: pytest.Pytester, baseline: Path, workers: tuple[str, ...]
) -> None:
    assert baseline.is_file()
    (pytester.path / ".git").mkdir()

    result = pytester.runpytest(*SECOND, "--sop-compare=main", *ALL, *workers)

    assert 0 == result.ret
    lost = [one["task"] for one in table("out/runs.csv") if one["change"] == "lost"]
    assert ["T_02"] == lost
    found = document("out/session.json")
    assert ("holds", 5) == (found["verdict"]["state"], found["total"]["pooled"]["correct"])
    assert [{"domain": "lab", "task": "T_02"}] == found["comparison"]["pooled"]["lost"]
    assert Path("out/page.md").read_text().startswith("# SOP: lab")
    place = "::error file=domains/lab/data.csv,line=3,title=lab/T_02%3A lost since main"
    assert [f"{place}::wrong: grade is 'unknown', not 'fail'"] == commands(result.outlines)


def test_a_saved_session_gives_the_same_files(pytester: pytest.Pytester) -> None:
    first = pytester.runpytest(*SECOND, *ALL)
    before = {one.name: one.read_bytes() for one in Path("out").iterdir()}

    again = CliRunner().invoke(
        main,
        ["report", "last", "--to=csv=out/runs.csv", "--to=json=out/session.json",
         "--to=md=out/page.md", "--to=annotations"],
        catch_exceptions=False,
    )  # fmt: skip

    assert before == {one.name: one.read_bytes() for one in Path("out").iterdir()}
    assert commands(first.outlines) == again.stdout.splitlines()


def test_without_being_asked_no_session_annotates(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("GITHUB_ACTIONS", "true")

    result = pytester.runpytest(*SECOND)

    assert [] == commands(result.outlines)


def test_several_reports_in_one_option_are_refused(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*SECOND, "--sop-report=csv=a.csv,json=a.json")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(
        ["ERROR: --sop-report=csv=a.csv,json=a.json: one report at a time;*"]
    )


def test_a_report_is_not_written_over_a_file_of_a_domain(pytester: pytest.Pytester) -> None:
    data = next(pytester.path.rglob("data.csv"))
    before = data.read_bytes()

    result = pytester.runpytest(*SECOND, f"--sop-report=csv={data}")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: --sop-report=csv=*belongs to a domain; name another file"])
    assert before == data.read_bytes()


def test_a_report_beside_the_files_of_a_domain_is_written_anew(pytester: pytest.Pytester) -> None:
    report = f"--sop-report=csv={next(pytester.path.rglob('data.csv')).parent / 'out.csv'}"

    statuses = [pytester.runpytest(*SECOND, report).ret for _ in range(2)]

    assert [0, 0] == statuses


def test_two_formats_at_one_path_are_refused(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*SECOND, "--sop-report=csv=out", "--sop-report=json=./out")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["ERROR: --sop-report=json=./out: csv=out goes to the same place"])


def test_what_is_masked_is_masked_in_each(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*SECOND, *ALL, "-o", "sop_redact=unkn[a-z]+", "--sop-gate=tsr=0.9")

    assert 1 == result.ret
    for one in Path("out").iterdir():
        assert "unknown" not in one.read_text("utf-8")
    assert "***" == table("out/runs.csv")[1]["actual.grade"]
    assert "***" == document("out/session.json")["not_correct"][0]["mismatches"][0]["actual"]
    (command,) = commands(result.outlines)
    assert command.endswith("wrong: grade is '***', not 'fail'")


@pytest.mark.usefixtures("hostile")
def test_hostile_texts_are_data_in_each(pytester: pytest.Pytester) -> None:
    result = pytester.runpytest(*RUN, *ALL)

    ids = [one["task"] for one in document("out/session.json")["not_correct"]]
    assert [*IDS] == ids
    assert len(IDS) == len(table("out/runs.csv"))
    tokens = MarkdownIt("commonmark").enable("table").parse(Path("out/page.md").read_text("utf-8"))
    assert not [one for one in tokens if one.type == "html_block"]
    for one in Path("out").iterdir():
        assert not COMMAND.search(one.read_text("utf-8"))
        assert not CONTROL.search(one.read_text("utf-8"))
    ours = commands(result.outlines)
    assert len(IDS) == len(ours)
    assert all(line.startswith("::error file=domains/lab/tasks.jsonl,line=") for line in ours)
    others = "\n".join(line for line in result.outlines if line not in ours)
    assert not COMMAND.search(others)
    assert not CONTROL.search(result.stdout.str())
