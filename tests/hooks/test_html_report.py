"""`--sop-report html=PATH` and `sopbench report --to html`: one file with every run."""

from __future__ import annotations

import json
import re
import sys
from pathlib import Path
from typing import Any

import html5lib
import pytest
from click.testing import CliRunner, Result

from pytest_sopbench.cli import main

pytestmark = pytest.mark.usefixtures("lab")

OK, FAILED, USAGE = 0, 1, 4
LAB = "--sop-domain=lab"
RIGHT = (LAB, "--sop-agent=habits:right")
SECOND = (LAB, "--sop-agent=habits:loses_second")
TO_FILE = "--sop-report=html=out/page.html"


class Page:
    """A page as a parser of HTML5 sees it."""

    def __init__(self, path: Path) -> None:
        self.text = path.read_text("utf-8")
        self.tree = html5lib.parse(self.text, namespaceHTMLElements=False)

    def said(self, path: str) -> list[str]:
        found = self.tree.findall(f".//{path}")
        return [" ".join("".join(one.itertext()).split()) for one in found]

    def data(self, name: str) -> Any:
        return json.loads(self.tree.find(f".//script[@id='{name}-data']").text)


@pytest.fixture
def page(pytester: pytest.Pytester, lab: Path) -> Page:
    """The page of a session that lost a task since its baseline."""
    pytester.runpytest(*RIGHT, "--sop-save=main")

    result = pytester.runpytest(*SECOND, "--sop-compare=main", "--sop-fail-under=0.9", TO_FILE)

    assert FAILED == result.ret
    return Page(pytester.path / "out" / "page.html")


def sopbench(*arguments: str) -> Result:
    return CliRunner().invoke(main, arguments)


def test_it_has_the_verdict_the_comparison_and_every_run(page: Page) -> None:
    assert "The gate does not hold" == page.said("h2")[0]
    (since,) = page.said("p[@class='since open']")
    assert since.startswith("since main not enough data lost 1 gained 0")
    assert 6 == len(page.said("ol/li"))
    assert ["lost"] == [run[6] for run in page.data("runs")["runs"] if run[6]]


def test_a_run_has_its_inputs_its_line_and_what_it_was(page: Page) -> None:
    strings = page.data("details")["strings"]
    place = next(at for at, one in enumerate(page.data("runs")["runs"]) if one[6] == "lost")

    runs = page.data("details")["runs"]
    detail = runs[str(place)]

    assert {"sample_id": "T_02"} == detail["inputs"]
    # A long text stands once in a table, and its number where it is used.
    assert re.search(r"lab/data\.\w+:3$", strings[int(detail["at"][1:])])
    assert ["correct", "correct"] == detail["was"]
    assert ["measure"] == [one["n"] for one in runs["0"]["calls"]]


def test_the_command_line_writes_the_same_page(page: Page, pytester: pytest.Pytester) -> None:
    """But for the commands that make runs again, which a saved session does not hold."""
    result = sopbench("report", "last", "--to=html=again.html", "--baseline", "main")

    assert OK == result.exit_code, result.output
    without = re.sub(r'"again":\{"0".*?"\},', '"again":{},', page.text)
    assert without == Page(pytester.path / "again.html").text


def test_each_run_has_the_command_that_makes_it_again(page: Page) -> None:
    again = page.data("details")["again"]

    assert "pytest --sop-domain=lab::T_02 --sop-agent=habits:loses_second" in again.values()
    assert 6 == len(again)


@pytest.mark.usefixtures("page")
def test_it_is_written_beside_other_formats(pytester: pytest.Pytester) -> None:
    result = sopbench(
        "report", "last", "--to=md=page.md", "--to=html=page.html", "--to=html=o.html"
    )

    assert OK == result.exit_code, result.output
    assert (pytester.path / "page.md").read_text("utf-8").startswith("# SOP: lab")
    assert Page(pytester.path / "page.html").text == Page(pytester.path / "o.html").text


def test_a_session_that_is_cut_short_has_one(pytester: pytest.Pytester) -> None:
    pytester.runpytest(LAB, "--sop-agent=habits:wrong", TO_FILE, "-x")

    page = Page(pytester.path / "out" / "page.html")

    assert 6 == len(page.said("ol/li"))
    assert any("not_run" in line for line in page.said("ol/li"))


def test_a_session_whose_domain_is_gone_has_one_that_says_so(pytester: pytest.Pytester) -> None:
    pytester.runpytest(*SECOND)
    for path in pytester.path.rglob("metadata.json"):
        path.unlink()

    result = sopbench("report", "last", "--to=html=page.html")

    assert OK == result.exit_code, result.output
    details = Page(pytester.path / "page.html").data("details")
    assert "the domain is not found" in json.dumps(details)


def test_secrets_stay_masked(pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch) -> None:
    """Those in a row, too, which stands in no saved session."""
    monkeypatch.setenv("LAB_TOKEN", "unknown grade")
    pytester.makeini("[pytest]\nsop_redact =\n    env:LAB_TOKEN\n    T_0[3]\n    [0-9a-f]{8}")

    pytester.runpytest(*SECOND, TO_FILE)

    page = Page(pytester.path / "out" / "page.html")
    assert "T_03" not in page.text
    assert "***" in page.text
    # What a pattern finds in the page itself is left alone, or the script would not run.
    (policy,) = re.findall(r"script-src '([^']*)'", page.text.replace("&#39;", "'"))
    assert policy.startswith("sha256-")
    assert "*" not in policy


def test_without_its_library_it_is_refused_before_the_first_run(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setitem(sys.modules, "jinja2", None)

    result = pytester.runpytest_inprocess(LAB, "--sop-agent=habits:counted", TO_FILE)
    again = sopbench("report", "last", "--to=html=page.html")

    assert USAGE == result.ret
    hint = "pip install jinja2; the extra 'html' brings it"
    why = f"jinja2 is not installed, which an HTML page needs: {hint}"
    result.stderr.fnmatch_lines([f"ERROR: --sop-report=html=out/page.html: {why}"])
    assert not (pytester.path / "calls.txt").exists()
    assert why in again.stderr


@pytest.mark.usefixtures("new_interpreters")
def test_a_page_of_another_format_imports_nothing_of_it(pytester: pytest.Pytester) -> None:
    pytester.makeconftest(
        """
        import atexit, pathlib, sys
        atexit.register(lambda: pathlib.Path("modules.txt").write_text(" ".join(sys.modules)))
        """
    )
    command = (sys.executable, "-m", "pytest", *RIGHT, "--sop-report=md=page.md")

    result = pytester.run(*command)

    modules = (pytester.path / "modules.txt").read_text().split()
    assert OK == result.ret
    assert "pytest_sopbench._reports.markdown" in modules
    assert not {"jinja2", "markupsafe", "pytest_sopbench._reports.html.page"} & {*modules}
