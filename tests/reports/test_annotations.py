"""Misses as annotations of GitHub: which, how many, and escaped so that its runner reads them."""

from __future__ import annotations

import re
from collections.abc import Sequence
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import Outcome, RunRecord, SessionPage
from pytest_sopbench._core.comparing import compare
from pytest_sopbench._core.comparison import ComparedSession, SessionComparison
from pytest_sopbench._core.contract import RuleResult, Severity
from pytest_sopbench._core.demands import DemandKind, RuleState
from pytest_sopbench._core.gates.conditions import GateState, GateVerdict
from pytest_sopbench._core.gates.decide import RowPlace
from pytest_sopbench._core.gates.quarantine import Forgiven
from pytest_sopbench._core.hiding import masking
from pytest_sopbench._core.model.task import TaskName
from pytest_sopbench._reports.annotations import Annotation, annotation_line, annotations_of
from tests.builders import runs
from tests.builders.runs import differing

RIGHT, WRONG = Outcome.CORRECT, Outcome.WRONG
HOLDS = GateVerdict(asked="TSR >= 1%", got="50%", state=GateState.HOLDS)
FAILS = GateVerdict(asked="TSR >= 99%", got="50%", state=GateState.FAILS)
HALF = "\ud800"
CONTROL = re.compile("[\x00-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]")


def run(task: str, outcome: Outcome = WRONG, **more: Any) -> RunRecord:
    differs = differing(["grade"], expected="A", actual="B", why="other known label")
    return runs.run(task, outcome, **{"reason": "why", "mismatches": differs, **more})


def told(*records: RunRecord, **more: Any) -> tuple[Annotation, ...]:
    return annotations_of(SessionPage(agent="a:b", records=records, summaries={}, **more))


def since(before: Sequence[RunRecord], now: Sequence[RunRecord], **more: Any) -> SessionComparison:
    return compare(
        ComparedSession(name="main", records=before),
        ComparedSession(name="now", records=now),
        **more,
    )


def as_github_reads(line: str) -> tuple[str, dict[str, str], str]:
    """The runner: a command between two pairs of colons, properties with `,`, then the text."""
    begin, command, text = re.fullmatch(r"(::)(.*?)::(.*)", line, re.DOTALL).groups()  # type: ignore[union-attr]
    assert "::" == begin
    name, _, parts = command.partition(" ")
    properties = dict(part.split("=", 1) for part in parts.split(","))
    data = {"%0D": "\r", "%0A": "\n", "%25": "%"}
    more = {**data, "%3A": ":", "%2C": ","}

    def unescaped(value: str, signs: dict[str, str]) -> str:
        return re.sub("|".join(signs), lambda found: signs[found[0]], value)

    return (
        name,
        {key: unescaped(value, more) for key, value in properties.items()},
        unescaped(text, data),
    )


def rule(severity: Severity = Severity.MUST) -> RuleResult:
    return RuleResult(
        id="no-wire", clause="4.2", severity=severity, kind=DemandKind.FORBIDS,
        state=RuleState.BROKEN, why="wire was called",
    )  # fmt: skip


def test_what_is_right_has_none() -> None:
    assert () == told(run("T1", RIGHT))


def test_lost_tasks_come_first_and_old_misses_not_at_all() -> None:
    before = [run("T1"), run("T2", RIGHT), run("T3", RIGHT)]
    now = [run("T1"), run("T4"), run("T2"), run("T3", RIGHT)]

    found = told(*now, comparison=since(before, now))

    assert ["lab/T2: lost since main", "lab/T4: wrong"] == [one.title for one in found]


def test_a_baseline_that_says_nothing_hides_no_miss() -> None:
    before, now = [run("T1")], [run("T1")]
    comparison = compare(
        ComparedSession(name="main", records=before, judging="x"),
        ComparedSession(name="now", records=now, judging="y"),
    )

    assert ["lab/T1: wrong"] == [one.title for one in told(*now, comparison=comparison)]


def test_ten_are_told_and_the_last_says_how_many_are_not() -> None:
    found = told(*(run(f"T{number}") for number in range(13)))

    assert 10 == len(found)
    assert ["wrong: grade is 'B', not 'A'; and 3 more tasks"] == [
        one.text for one in found if "more" in one.text
    ]
    assert found[-1].text.endswith("3 more tasks")


def test_a_task_with_several_trials_has_one() -> None:
    found = told(run("T1", RIGHT), run("T1", trial=2), run("T1", trial=3))

    assert ["lab/T1 (trial 2): wrong"] == [one.title for one in found]


def test_two_agents_have_one_each() -> None:
    found = told(run("T1", agent="a"), run("T1", agent="b"))

    assert 2 == len(found)


@pytest.mark.parametrize(
    "record",
    [
        pytest.param(run("T1", Outcome.NOT_RUN), id="it never started"),
        pytest.param(run("T1", Outcome.UNAVAILABLE), id="the provider was away"),
    ],
)
def test_what_says_nothing_of_the_agent_has_none(record: RunRecord) -> None:
    assert () == told(record)


def test_a_task_that_may_fail_has_none() -> None:
    before, now = [run("T1", RIGHT)], [run("T1")]

    assert () == told(
        *now,
        forgiven=Forgiven(answers=frozenset({TaskName("lab", "T1")})),
        comparison=since(before, now, may_fail={("lab", "T1")}),
    )


def test_a_right_answer_by_a_way_that_must_not_be_is_told() -> None:
    found = told(
        run("T1", RIGHT, rules=(rule(),)), run("T2", RIGHT, rules=(rule(Severity.SHOULD),))
    )

    assert [("error", "lab/T1: breaks rule no-wire (4.2)", "breaks rule no-wire (4.2)")] == [
        (one.level, one.title, one.text) for one in found
    ]


@pytest.mark.parametrize(
    ("more", "level"),
    [
        pytest.param({"gates": [HOLDS]}, "warning", id="a gate forgives it"),
        pytest.param({"gates": [HOLDS, FAILS]}, "error", id="a gate does not hold"),
        pytest.param({}, "error", id="without a gate"),
        pytest.param({"not_evaluated": "shard 1/2"}, "warning", id="a shard"),
    ],
)
def test_a_miss_is_an_error_where_it_fails_the_session(more: dict[str, Any], level: str) -> None:
    (found,) = told(run("T1"), **more)

    assert level == found.level


def test_a_lost_task_is_an_error_whatever_the_gates_say() -> None:
    before, now = [run("T1", RIGHT)], [run("T1")]

    (found,) = told(*now, comparison=since(before, now), gates=[HOLDS])

    assert "error" == found.level


def test_the_runner_reads_file_line_title_and_text() -> None:
    (found,) = told(run("T,1", Outcome.ERROR, reason="100% wrong, why"))

    line = annotation_line(found, RowPlace("domains/a,b/data.csv", 7))

    assert (
        "error",
        {"file": "domains/a,b/data.csv", "line": "7", "title": "lab/T,1: error"},
        "error: 100% wrong, why",
    ) == as_github_reads(line)


def test_without_a_place_it_stands_on_the_page_of_the_run() -> None:
    (found,) = told(run("T1"))

    assert "::error title=lab/T1%3A wrong::wrong: grade is 'B', not 'A'" == annotation_line(
        found, None
    )


@given(
    st.text(st.characters(exclude_categories=()) | st.sampled_from("%0AD3:,\n\r#[]"), max_size=40)
)
def test_no_text_ends_its_command_or_begins_another(text: str) -> None:
    hostile = f"{text}\n::error::x%0A::add-mask::y##[error]z\x1b]8;;e\x07\u202e{HALF}"
    (found,) = told(run(hostile, Outcome.ERROR, reason=hostile))

    line = annotation_line(found, RowPlace("data.csv", 1))

    level, properties, said = as_github_reads(line)
    assert ("error", {"file", "line", "title"}) == (level, {*properties})
    assert (found.title, found.text) == (properties["title"], said)
    assert not CONTROL.search(line)
    assert "##" not in line
    assert line.encode("utf-8")


def test_a_mask_takes_a_secret_out_before_it_is_escaped() -> None:
    with masking(lambda text: text.replace("a%b", "***")):
        (found,) = told(run("T1", Outcome.ERROR, reason="key a%b"))

    assert "error: key ***" == found.text
