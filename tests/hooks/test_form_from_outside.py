"""An answer form is a function and a row: it is searched for, judged, reported and saved."""

from __future__ import annotations

import re
from collections.abc import Iterator

import pytest

from pytest_sopbench._core.answers.forms import FORMS, AnswerFormSpec, read_form
from pytest_sopbench._core.answers.text import AnswerCandidate, Search
from pytest_sopbench._sessions.load import load_session

AGENT = """
from habits import right

def arrows(inputs, tools):
    grade = right(inputs, tools)["grade"]
    if inputs["sample_id"] == "T_02":
        return "==> grade == unknown"
    return f"I am done.\\n==> grade == {grade}"
"""


def in_arrows(search: Search) -> Iterator[AnswerCandidate]:
    """Yield the field behind the last arrow."""
    for match in [*re.finditer(r"==> (\w+) == (\w+)", search.text)][-1:]:
        name = search.names.field_of(match[1])
        if name is not None:
            yield AnswerCandidate(
                form="arrow", values={name: match[2]}, start=match.start(), end=match.end()
            )


@pytest.fixture(autouse=True)
def arrow(monkeypatch: pytest.MonkeyPatch) -> None:
    spec = AnswerFormSpec(id="arrow", words="the arrow", heading="behind an arrow", find=in_arrows)
    monkeypatch.setitem(FORMS, "arrow", spec)


@pytest.mark.usefixtures("lab")
def test_a_session_finds_judges_reports_and_saves_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(mine=AGENT)

    result = pytester.runpytest_inprocess("--sop-domain=lab", "--agent=mine:arrows")

    result.assert_outcomes(passed=5, failed=1)
    result.stdout.fnmatch_lines(["wrong: grade is 'unknown', not 'fail'", "found*behind an arrow"])
    assert ["arrow"] * 6 == [run.answer_form for run in load_session("last").records]


@pytest.mark.usefixtures("lab")
def test_a_resumed_session_knows_it(pytester: pytest.Pytester) -> None:
    pytester.makepyfile(mine=AGENT)
    pytester.runpytest_inprocess("--sop-domain=lab", "--agent=mine:arrows", "--sop-save=first")

    result = pytester.runpytest_inprocess(
        "--sop-domain=lab", "--agent=mine:arrows", "--sop-resume=first"
    )

    result.assert_outcomes(passed=5, failed=1)


def test_a_form_that_nobody_knows_is_refused() -> None:
    with pytest.raises(ValueError, match="'smoke' is not a valid AnswerForm"):
        read_form("smoke")
