"""A session as JSON for programs: the shape that the docs promise, and exactly what was said."""

from __future__ import annotations

import json
import re
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from jsonschema_rs import validator_for

from pytest_sopbench import Mismatch, Outcome, RunRecord, SessionPage
from pytest_sopbench._core.comparing import compare, leaderboard_of
from pytest_sopbench._core.comparison import ComparedSession
from pytest_sopbench._core.contract import RuleResult, Severity
from pytest_sopbench._core.demands import DemandKind, RuleState
from pytest_sopbench._core.gates.calibration import JudgedField, JudgeReport
from pytest_sopbench._core.gates.conditions import GateState, GateVerdict
from pytest_sopbench._core.gates.quarantine import Forgiven
from pytest_sopbench._core.metrics.tally import summary_of
from pytest_sopbench._core.model.task import GroupKey, TaskName
from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._core.records.record import CallRecord, TrajectoryCheck
from pytest_sopbench._reports.formats import json_document, rendered
from tests.builders.runs import timed_run as run

SCHEMA: dict[str, Any] = json.loads(
    (Path(__file__).parents[2] / "docs/files/session-report.schema.json").read_text("utf-8")
)
HALF = "\ud800"
COMMAND = re.compile(r"^\s*::|##", re.MULTILINE)


def sealed(schema: Any) -> Any:
    """The schema with every object closed, so that a key that it does not know is found."""
    if isinstance(schema, list):
        return [sealed(one) for one in schema]
    if not isinstance(schema, dict):
        return schema
    closed = {name: sealed(one) for name, one in schema.items()}
    if "properties" in closed and closed.get("type") == "object":
        closed["additionalProperties"] = False
    return closed


def faults(document: str) -> list[str]:
    found = validator_for(sealed(SCHEMA)).iter_errors(json.loads(document))
    return [f"{'/'.join(map(str, one.instance_path))}: {one.message}" for one in found]


def page_of(*records: RunRecord, **more: Any) -> SessionPage:
    groups = dict.fromkeys(GroupKey(one.domain, one.agent) for one in records)
    summaries = {
        group.title(groups): summary_of(
            one for one in records if (one.domain, one.agent) == tuple(group)
        )
        for group in groups
    }
    return SessionPage(agent="a:b", records=records, summaries=summaries, **more)


def rich(task: str, **more: Any) -> RunRecord:
    """A run of which everything is known."""
    rule = RuleResult(
        id="no-wire", clause="4.2", severity=Severity.MUST, kind=DemandKind.FORBIDS,
        state=RuleState.BROKEN, why="wire was called",
    )  # fmt: skip
    given: dict[str, Any] = {
        "answer": {"grade": "B"},
        "mismatches": (Mismatch(field="grade", expected="A", actual="B", why="other label"),),
        "calls": (CallRecord(name="wire", arguments={}), CallRecord(name="wire", arguments={})),
        "usage": Usage(input_tokens=7, cost_usd=0.5, model="m"),
        "rules": (rule,),
        "contract": RuleState.BROKEN,
        "grounded": False,
        "trajectory": TrajectoryCheck(held=False, departure="no call"),
        "unneeded": {"wire": 1},
        "disagreement": "the SOP says A",
    }
    return run(task, Outcome.WRONG, **{**given, **more})


def compared(before: Sequence[RunRecord], now: Sequence[RunRecord]) -> Any:
    return compare(
        ComparedSession(name="main", records=before), ComparedSession(name="now", records=now)
    )


def two_agents() -> SessionPage:
    before = [run(f"T{number}", agent=agent) for number in range(9) for agent in ("a", "b")]
    now = [run("T0", agent="a"), *(rich(one.task, agent=one.agent) for one in before[1:])]
    groups = dict.fromkeys(GroupKey(one.domain, one.agent) for one in now)
    page = page_of(*now, comparison=compared(before, now))
    return SessionPage(
        agent="a, b",
        records=now,
        summaries=page.summaries,
        comparison=page.comparison,
        leaderboard=leaderboard_of(
            {group: page.summaries[group.title(groups)] for group in groups}, now
        ),
    )


PAGES = {
    "nothing": page_of(),
    "all is well": page_of(run("T1")),
    "all is known": page_of(
        rich("T1"),
        run("T2", Outcome.NOT_RUN, duration_s=None),
        run("T1", trial=2),
        gates=[GateVerdict(asked="TSR >= 90%", got="50%", state=GateState.FAILS, value=0.5)],
        remarks=["it is the baseline now"],
        facts={"commit": "abc"},
        forgiven=Forgiven(answers=frozenset({TaskName("lab", "T1")})),
    ),
    "a baseline": page_of(
        rich("T1"), comparison=compared([run("T1"), run("T2")], [rich("T1"), run("T3")])
    ),
    "two agents": two_agents(),
    "a judge": page_of(
        run("T1"),
        judge=JudgeReport(
            fields=(
                JudgedField(domain="lab", field="reason", labels=120, agreement=0.94, kappa=0.86),
                JudgedField(domain="lab", field="letter", doubt="no calibration"),
            ),
            asked=3,
            kept=4,
            usage=Usage(input_tokens=7, cost_usd=0.5),
        ),
    ),
}


@pytest.mark.parametrize("page", PAGES.values(), ids=PAGES)
def test_it_has_the_shape_that_the_docs_promise(page: SessionPage) -> None:
    assert [] == faults(json_document(page))


def test_a_key_that_the_docs_do_not_know_is_found() -> None:
    document = json.loads(json_document(PAGES["all is known"]))
    document["domains"]["lab"]["new"] = 1
    del document["verdict"]["remarks"]

    assert 2 == len(faults(json.dumps(document)))


@pytest.mark.parametrize(
    ("more", "state"),
    [
        pytest.param({}, "not checked", id="no gate"),
        pytest.param({"states": ["holds", "holds"]}, "holds", id="all hold"),
        pytest.param({"states": ["holds", "inconclusive"]}, "inconclusive", id="one is unknown"),
        pytest.param(
            {"states": ["inconclusive", "does not hold"], "not_evaluated": "-k"},
            "does not hold",
            id="one fails",
        ),
        pytest.param({"states": ["holds"], "failures": 1}, "failed", id="another test"),
        pytest.param({"not_evaluated": "-k"}, "not evaluated", id="nothing was asked"),
    ],
)
def test_the_verdict_is_one_word(more: dict[str, Any], state: str) -> None:
    gates = [GateVerdict(asked="", got="", state=GateState(one)) for one in more.pop("states", ())]

    document = json.loads(json_document(page_of(run("T1"), gates=gates, **more)))

    assert state == document["verdict"]["state"]


def test_what_is_not_correct_says_why_and_whether_it_may() -> None:
    (first, second) = json.loads(json_document(PAGES["all is known"]))["not_correct"]

    assert ("T1", "wrong", True, ["no-wire"]) == (
        first["task"], first["outcome"], first["may_fail"], first["rules_broken"],
    )  # fmt: skip
    assert [{"field": "grade", "expected": "A", "actual": "B", "why": "other label"}] == (
        first["mismatches"]
    )
    assert ("T2", "not_run") == (second["task"], second["outcome"])


@given(st.text(st.characters(exclude_categories=()), max_size=40))
def test_any_text_comes_back_and_gives_no_command(text: str) -> None:
    hostile = f"{text}\n::error::x ##[error]y ##vso[z \x1b]8;;e\x1b\\ \u202e \x00 \x7f{HALF} {text}"

    document = json_document(page_of(run("T1", Outcome.ERROR, reason=hostile)))

    assert hostile == json.loads(document)["not_correct"][0]["reason"]
    assert document.isascii()
    assert document.replace("\n", "").isprintable()
    assert not COMMAND.search(document)


def test_a_mask_takes_out_texts_and_breaks_no_number() -> None:
    """Digits that a project masks may stand in a duration as well."""
    page = page_of(run("T1", Outcome.ERROR, reason="account 111222", duration_s=111222.5))

    document = json.loads(rendered("json", page, lambda text: re.sub("[0-9]{6}", "***", text)))

    assert "account ***" == document["not_correct"][0]["reason"]
    assert [111_200.0] == document["domains"]["lab"]["durations_s"]
