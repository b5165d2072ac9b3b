"""What the page says without its script, and what it hands to it."""

from __future__ import annotations

import base64
import hashlib
import json
import re
import shutil
import subprocess
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from big_page import HOSTILE, big_page
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import ExpectedCall, Mismatch, Outcome, Trace
from pytest_sopbench._core.comparing import compare, leaderboard_of
from pytest_sopbench._core.comparison import ComparedSession
from pytest_sopbench._core.contract import RuleResult, Severity
from pytest_sopbench._core.demands import DemandKind, RuleState
from pytest_sopbench._core.gates.calibration import JudgedField, JudgeReport
from pytest_sopbench._core.gates.conditions import GateState, GateVerdict
from pytest_sopbench._core.gates.decide import TaskFacts
from pytest_sopbench._core.model.trace import Ending, Problem
from pytest_sopbench._core.records.record import CallRecord, TrajectoryCheck
from pytest_sopbench._reports.html import parts as tables
from pytest_sopbench._reports.html import runs as details
from pytest_sopbench._reports.html.page import ROOM, SCRIPTS, html_page, script_text, visible
from pytest_sopbench._reports.html.runs import Strings, json_text
from pytest_sopbench._reports.html.timeline import (
    as_expected,
    beside,
    retried_steps,
    timeline,
)
from pytest_sopbench._sessions.saved import grouped

BROKEN = RuleResult(
    id="ask-first", clause="4.2", severity=Severity.MUST, kind=DemandKind.BEFORE,
    state=RuleState.BROKEN, why="never asked",
)  # fmt: skip
MISS = Mismatch(field="grade", expected="A", actual="B", why="other known label")


def wrong(run: Any, task: str, **more: Any) -> Any:
    return run(task, Outcome.WRONG, answer={"grade": "B"}, mismatches=(MISS,), **more)


@pytest.mark.parametrize(
    ("states", "kind", "words"),
    [
        pytest.param([GateState.HOLDS], "holds", "The gate holds", id="holds"),
        pytest.param([GateState.FAILS], "fails", "The gate does not hold", id="fails"),
        pytest.param([GateState.INCONCLUSIVE], "open", "Inconclusive", id="unknown"),
        pytest.param([], "open", "No gate was checked", id="none"),
    ],
)
def test_the_verdict_stands_first(
    page_of: Any, run: Any, states: list[GateState], kind: str, words: str
) -> None:
    gates = [GateVerdict(asked="TSR >= 90%", got="50%", state=one) for one in states]

    page = page_of(run("T1"), gates=gates)

    assert words == page.said("h2")[0]
    assert f"verdict {kind}" == page.all("section")[0].get("class")


def test_each_field_has_its_rate_and_the_judge_its_standing(page_of: Any, run: Any) -> None:
    judge = JudgeReport(fields=(JudgedField(domain="lab", field="note", doubt="no calibration"),))
    expected = {"grade": "A", "note": "<b>late</b>"}
    right = run("T1", expected=expected, answer=expected)

    page = page_of(right, wrong(run, "T2", expected=expected), judge=judge)

    assert {"Fields", "Judge"} < {*page.said("h2")}
    assert {"lab, note: no calibration"} < {*page.said("p")}
    rows = [one for one in page.said("tr") if one.startswith(("grade", "note"))]
    assert ["grade50.0%", "note100.0%"] == [one.split()[0] for one in rows]


def test_rates_stand_with_their_intervals(page_of: Any, run: Any) -> None:
    page = page_of(*(run(f"T{at}") for at in range(9)), wrong(run, "T9"))

    rates = page.said("div[@class='rate']")

    assert "TSR 90.0% 95 % [59.6, 98.2] 9 of 10 runs correct" == rates[0]
    assert "ECR 100.0% 95 % [72.2, 100.0] 10 of 10 completed" == rates[1]
    assert ["TSR 90.0%, 95 % interval [59.6, 98.2]"] == [
        one.get("aria-label") for one in page.tree.iter() if "TSR 9" in one.get("aria-label", "")
        and not one.get("aria-label", "").startswith("C-")
    ]  # fmt: skip


def test_what_changed_since_the_baseline_is_told(page_of: Any, run: Any, sources: Any) -> None:
    before = [run(f"T{at}") for at in range(8)]
    now = [wrong(run, one.task) for one in before[:7]] + before[7:]
    compared = compare(
        ComparedSession(name="main", records=before), ComparedSession(name="x", records=now)
    )

    page = page_of(*now, comparison=compared, sources=sources(baseline=before))

    (since,) = page.said("p[@class='since fails']")
    assert since.startswith("since main regression lost 7 gained 0 p = ")
    assert "was 100.0%" in page.said("div[@class='rate']")[0]
    assert [*["lost"] * 7, ""] == [one[6] for one in page.runs()["runs"]]
    assert ["correct", "correct"] == page.detail(0)["was"]


def test_only_what_was_lost_or_gained_has_a_colour(page_of: Any, run: Any, sources: Any) -> None:
    before = [run("T1"), run("T2")]
    compared = compare(
        ComparedSession(name="main", records=before), ComparedSession(name="x", records=before)
    )

    page = page_of(*before, comparison=compared, sources=sources(baseline=before))

    classes = {" ".join(one.itertext()): one.get("class") for one in page.all("p/span")}
    assert ("none", "none") == (classes["lost 0"], classes["gained 0"])


def test_a_task_has_all_that_is_known_of_it(page_of: Any, run: Any, sources: Any) -> None:
    facts = TaskFacts(
        inputs={"id": "R-1"},
        expected_calls=[ExpectedCall(name="ask", arguments={"id": 1}), ExpectedCall(name="enter")],
        clauses={"4.2": "4.2 Ask first."},
        tags=("rare",),
        location="lab/data.csv:3",
    )
    calls = (
        CallRecord(name="ask", arguments={"id": 2}, error="no such id"),
        CallRecord(name="ask", arguments={"id": 2}, result=5),
    )
    held = TrajectoryCheck(
        held=False, departure="step 1: ask was called with other arguments than expected"
    )
    trace = Trace(ending=Ending.RETURNED, messages=({"role": "user", "content": "Hello"},))
    record = wrong(run, "T1", calls=calls, rules=(BROKEN,), trajectory=held)

    detail = page_of(record, sources=sources(facts)).detail(0)
    talk = page_of(replace(record, trace="T1.jsonl"), sources=sources(facts, trace)).detail(0)

    assert {"id": "R-1"} == detail["inputs"]
    assert {"grade": "other known label"} == detail["differs"]
    assert [["ask-first", "4.2", "must", "never asked", "4.2 Ask first."]] == detail["rules"]
    assert [
        {"n": "ask", "a": {"id": 2}, "e": "no such id"},
        {"n": "ask", "a": {"id": 2}, "r": 5, "again": 1},
    ] == detail["calls"]
    assert [[1, 1, 0, 5], [2, 2, 0, 1]] == detail["rows"]
    assert held.departure == detail["departs"]
    assert [{"role": "user", "content": "Hello"}] == talk["talk"]


def test_of_a_slim_baseline_the_names_of_calls_are_compared(
    page_of: Any, run: Any, sources: Any
) -> None:
    ask = CallRecord(name="ask", arguments={"id": 1}, result=5)
    was = run("T1", calls=[CallRecord(name=name, arguments=None) for name in ("ask", "enter")])
    now = wrong(run, "T1", calls=(ask,))
    compared = compare(
        ComparedSession(name="main", records=[was]), ComparedSession(name="x", records=[now])
    )

    detail = page_of(now, comparison=compared, sources=sources(baseline=[was])).detail(0)

    assert [[0, 1, 1, 0], [0, 0, 2, 10]] == detail["rows"]
    assert [0, {"n": "enter", "a": None, "r": None}] == detail["base"]


def test_several_agents_stand_on_a_leaderboard_and_not_together(page_of: Any, run: Any) -> None:
    records = [run("T1", agent="a"), wrong(run, "T1", agent="b")]

    page = page_of(*records, leaderboard=leaderboard_of(grouped(records), records))

    assert "Leaderboard" == page.said("h2")[1]
    assert [] == page.said("div[@class='rate']")
    assert ["lab/T1@a", "lab/T1@b"] == [one.get("id") for one in page.all("ol/li")]


def test_a_cell_of_the_confusion_table_names_what_rows_name(page_of: Any, run: Any) -> None:
    other = {"expected": {"grade": "B"}, "answer": {"grade": "B"}}

    page = page_of(run("T1", answer={"grade": "A"}), run("T2", **other), wrong(run, "T3"))

    cells = {
        (int(one.get("data-expected")), int(one.get("data-actual")), one.text)
        for one in page.all("td[@data-expected]")
    }
    found = [tuple(one[14][0][1:]) for one in page.runs()["runs"]]
    assert {(*pair, "1") for pair in found} == cells
    assert 3 == len(cells)


@pytest.mark.parametrize("outcome", [*Outcome])
def test_a_run_without_anything_has_a_page(page_of: Any, run: Any, outcome: Outcome) -> None:
    """A crash has no duration, a run of an older session no task, and none has a call."""
    page = page_of(run("T1", outcome, duration_s=None, expected={}))

    assert outcome in page.said("ol/li")[0]
    assert page.detail(0)["unknown"]


def test_a_session_without_a_run_has_a_page(page_of: Any) -> None:
    assert "No gate was checked" == page_of().said("h2")[0]


def test_what_is_masked_stands_nowhere(page_of: Any, run: Any, sources: Any) -> None:
    mask = sources(masked=lambda text: text.replace("hunter2", "***"))

    page = page_of(
        run("hunter2", Outcome.ERROR, reason="raised hunter2", domain="hunter2"),
        sources=mask,
        remarks=["hunter2"],
        facts={"selected by": "hunter2"},
    )

    overview, _, details_of_it = page.text.partition('id="details-data"')
    assert "hunter2" not in overview
    # The record itself is that of the saved session, which is masked when it is written.
    assert "raised hunter2" in details_of_it


def test_details_that_find_no_room_are_left_out_and_counted(
    page_of: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(details, "ROOM", 400)

    page = page_of(*(run(f"T{at}") for at in range(9)), wrong(run, "T9"))

    (note,) = page.said("p[@id='left-out']")
    assert note.startswith("The details of ")
    assert page.detail(9) is not None
    assert page.detail(8) is None


def test_the_plain_list_of_a_huge_session_has_what_went_wrong(
    page_of: Any, run: Any, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(tables, "LISTED", 2)

    page = page_of(run("T1"), run("T2"), wrong(run, "T3"))

    assert ["lab/T3", "lab/T1"] == [one.get("id") for one in page.all("ol/li")]
    assert "1 run more, which are not listed." in page.said("p[@class='note']")


def test_a_page_is_the_same_each_time() -> None:
    page = big_page(60)

    assert html_page(page) == html_page(page)


@pytest.mark.parametrize("length", [10, 100_000])
def test_a_long_value_is_cut_and_says_so(page_of: Any, run: Any, length: int) -> None:
    call = CallRecord(name="ask", arguments={"text": "x" * length})

    detail = page_of(run("T1", calls=(call,))).detail(0)

    text = detail["calls"][0]["a"]["text"]
    assert ("more characters]" in text) == (length > 4_000)
    assert len(text) < 5_000


@pytest.mark.parametrize(
    ("more", "words"),
    [
        pytest.param({}, "1 of 2 runs is not correct, and no gate was checked", id="a miss"),
        pytest.param({"failures": 1}, "The session failed", id="another test"),
    ],
)
def test_a_session_that_failed_without_a_gate_is_red(
    page_of: Any, run: Any, more: dict[str, int], words: str
) -> None:
    page = page_of(run("T1"), wrong(run, "T2"), **more)

    assert words == page.said("h2")[0]
    assert "verdict fails" == page.all("section")[0].get("class")


def test_a_broken_rule_of_severity_must_is_red_without_a_gate_and_stands_first(
    page_of: Any, run: Any
) -> None:
    late = replace(BROKEN, id="late", severity=Severity.SHOULD)
    runs = (run("T1", rules=(late, BROKEN)), run("T2", rules=(late,)))

    page = page_of(*runs)

    assert "1 run broke a rule of severity must, and no gate was checked" == page.said("h2")[0]
    assert ["ask-first", "late"] == page.said("table[@class='rules']/tbody/tr/td/span")
    assert ["ask-first", "late"] == [one[0] for one in page.detail(0)["rules"]]


ASK = CallRecord(name="ask", arguments={})


@pytest.mark.parametrize(
    ("whys", "rows", "words"),
    [
        pytest.param(
            ["step 2, ask: the call is forbidden", "never asked"],
            [[0, 1, 0, 0], [0, 2, 0, 5]],
            "step 2, ask: the call is forbidden (rule r0 (4.2, must))",
            id="the first step that broke one",
        ),
        pytest.param(
            ["step 2, ask: too often", "step 1, ask: too early"],
            [[0, 1, 0, 5], [0, 2, 0, 0]],
            "step 1, ask: too early (rule r1 (4.2, must))",
            id="of two the earlier one",
        ),
        pytest.param(
            ["enter was never called"],
            [[0, 1, 0, 0], [0, 2, 0, 0], [0, 0, 0, 5]],
            "enter was never called (rule r0 (4.2, must))",
            id="what was never done stands at the end",
        ),
        pytest.param([], [[0, 1, 0, 0], [0, 2, 0, 0]], None, id="none broken"),
    ],
)
def test_without_expected_calls_rules_tell_where_a_run_leaves_its_procedure(
    page_of: Any, run: Any, whys: list[str], rows: list[list[int]], words: str | None
) -> None:
    rules = tuple(replace(BROKEN, id=f"r{at}", why=why) for at, why in enumerate(whys))

    detail = page_of(run("T1", calls=(ASK, ASK), rules=rules)).detail(0)

    assert rows == detail["rows"]
    assert words == detail.get("departs")


def test_numbers_have_no_confusion_table_but_how_far_they_are_off(page_of: Any, run: Any) -> None:
    def off(task: str, actual: object, why: str) -> Any:
        miss = Mismatch(field="fee", expected="3", actual=actual, why=why)
        return run(
            task, Outcome.WRONG, expected={"fee": "3"}, answer={"fee": actual}, mismatches=(miss,)
        )

    page = page_of(
        run("T1", expected={"fee": "4"}, answer={"fee": 4}),
        off("T2", 4, "number off by 1"),
        off("T3", 250, "number off by 247"),
        off("T4", "many", "not a number"),
    )

    assert [] == page.all("table[@class='confusion']")
    assert ["2 off, by 1 to 247, median 247; 1 not a number"] == page.said("dl[@class='pairs']/dd")


def test_numbers_that_are_all_right_have_no_table_either(page_of: Any, run: Any) -> None:
    runs = [run(f"T{at}", expected={"fee": at}, answer={"fee": at}) for at in range(9)]

    assert [] == page_of(*runs).all("table[@class='confusion']")


def test_labels_that_look_like_numbers_keep_their_table(page_of: Any, run: Any) -> None:
    """A domain may declare `1`, `2` and `3` as labels; the reasons tell."""
    miss = Mismatch(field="grade", expected="1", actual="2", why="other known label")
    runs = [
        run(
            "T1", Outcome.WRONG, expected={"grade": "1"}, answer={"grade": "2"}, mismatches=(miss,)
        ),
        run("T2", expected={"grade": "2"}, answer={"grade": "2"}),
    ]

    assert 1 == len(page_of(*runs).all("table[@class='confusion']"))


def test_several_agents_have_their_charts_folded(page_of: Any, run: Any) -> None:
    records = [
        one
        for agent in "abcd"
        for one in (
            run("T1", agent=agent),
            run("T2", agent=agent, expected={"grade": "B"}, answer={"grade": "B"}),
        )
    ]

    page = page_of(*records, leaderboard=leaderboard_of(grouped(records), records))

    assert "4 charts by agent: labels, times, costs" in page.said("details/summary")
    assert [] == page.all("div[@id='overview']/div[@class='cards']//table[@class='confusion']")
    assert [*"abcd"] == [one.get("data-agent") for one in page.all("table[@class='confusion']")]


def test_the_sop_and_the_command_of_each_run_are_there(
    page_of: Any, run: Any, sources: Any
) -> None:
    known = sources(sop="4.2 Ask <b>first</b>.", again="pytest --sop-domain='lab::T1'")

    page = page_of(run("T1"), sources=known)

    assert {"lab": "4.2 Ask <b>first</b>."} == page.runs()["sops"]
    assert "pytest --sop-domain='lab::T1'" == page.commands()["0"]


def test_the_rates_are_explained(page_of: Any, run: Any) -> None:
    names = page_of(run("T1")).said("details/dl/dt")

    assert {"TSR", "ECR", "C-TSR", "tool accuracy", "contract", "chance", "95 %"} <= {*names}


# Hostile text stays text: whoever wrote an id or an answer writes no part of the page.

KNOWN = {"a", "b", "body", "br", "caption", "circle", "code", "dd", "div", "dl", "dt", "footer"} | {
    *("h1", "h2", "head", "header", "html", "i", "kbd", "li", "line", "link", "main", "meta"),
    *(
        "details",
        "ol",
        "p",
        "rect",
        "script",
        "section",
        "small",
        "span",
        "strong",
        "style",
        "summary",
        "svg",
    ),
    *("table", "tbody", "td", "th", "thead", "title", "tr", "ul"),
}
"""The elements of the templates, and of nothing else."""


def tags(page: Any) -> set[str]:
    return {one.tag.rpartition("}")[2] for one in page.tree.iter() if isinstance(one.tag, str)}


@pytest.mark.parametrize("text", HOSTILE, ids=range(len(HOSTILE)))
def test_a_text_adds_no_element_and_no_attribute(
    page_of: Any, run: Any, sources: Any, text: str
) -> None:
    record = run(
        text,
        Outcome.WRONG,
        domain=f"lab{text}",
        agent=text,
        reason=text,
        answer={text: text},
        mismatches=(Mismatch(field=text, expected=text, actual=text, why=text),),
        calls=(CallRecord(name=text, arguments={text: text}, result=text, error=text),),
        problem=Problem(type=text, message=text, traceback=text),
        notes=(text,),
        text=text,
    )
    facts = TaskFacts(inputs={text: text}, clauses={text: text}, tags=(text,), location=text)
    gate = GateVerdict(asked=text, got=text, state=GateState.FAILS, where=text, why=text)

    page = page_of(
        record,
        run("T2"),
        sources=sources(facts, sop=text, again=text),
        gates=[gate],
        remarks=[text],
        facts={text: text},
    )

    page.text.encode("utf-8")
    assert tags(page) <= KNOWN
    assert 3 == len(page.all("script"))
    assert not [name for one in page.tree.iter() for name in one.attrib if name.startswith("on")]
    assert {"#", "d"} == {one.get("href")[0] for one in (*page.all("a"), *page.all("link"))}
    assert not set("\x00\x1b\u202e\u2028\u2029") & set(page.text)
    assert text == page.runs()["runs"][0][1]
    assert {text: text} == page.detail(0)["inputs"]


def test_the_policy_names_the_script_and_the_style_as_they_are_read(page_of: Any, run: Any) -> None:
    page = page_of(run("T1"))

    (policy,) = [one.get("content") for one in page.all("meta") if one.get("http-equiv")]
    script, style = page.all("script")[-1].text, page.all("style")[0].text
    for text in (script, style):
        digest = base64.b64encode(hashlib.sha256(text.encode()).digest()).decode()
        assert f"'sha256-{digest}'" in policy
    assert policy.startswith("default-src 'none';")


def test_it_names_no_address(page_of: Any, run: Any) -> None:
    page = page_of(run("T1"))

    assert "://" not in page.text.replace("http://www.w3.org/2000/svg", "")


def test_a_large_hostile_session_parses_as_it_is_meant(parsed: Any) -> None:
    page = parsed(html_page(big_page(600)))

    assert tags(page) <= KNOWN
    assert 600 == len(page.runs()["runs"])
    assert 600 == len(page.all("ol[@class='plain']/li"))


@given(st.recursive(st.text() | st.integers() | st.none(), st.lists, max_leaves=5))
def test_embedded_data_is_read_back_and_cannot_end_its_element(value: object) -> None:
    text = json_text(value)

    assert value == json.loads(text)
    assert not set("<>&\u2028\u2029") & set(text)
    text.encode("utf-8")


@given(st.text(st.characters(codec=None)))
def test_what_is_shown_can_be_written_and_seen(text: str) -> None:
    shown = visible(text)

    shown.encode("utf-8")
    assert not {"\x00", "\x1b", "\u202e", "\u2066", "\u200b"} & set(shown)
    assert text == shown or not text.isprintable()


# The script of the page: it parses, makes no markup of data, and fits into its element.

MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|\beval\(|"
    r"new Function|setAttribute\(\"(?:style|on)|srcdoc|fetch\(|XMLHttpRequest|sendBeacon"
)


def test_every_file_of_the_folder_is_a_part_of_the_script() -> None:
    assert sorted(SCRIPTS) == sorted(path.stem for path in (ROOM / "script").glob("*.js"))


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_part_makes_markup_of_data_or_asks_a_network(name: str) -> None:
    assert [] == MARKUP.findall((ROOM / "script" / f"{name}.js").read_text("utf-8"))


def test_it_cannot_end_its_own_element() -> None:
    text = script_text()

    assert "</" not in text
    assert "<!--" not in text
    assert "\r" not in text


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here, which parses scripts")
def test_it_parses(tmp_path: Path) -> None:
    path = tmp_path / "page.js"
    path.write_text(script_text(), "utf-8")

    done = subprocess.run(["node", "--check", path], check=False, capture_output=True)  # noqa: S607

    assert 0 == done.returncode, done.stderr.decode()


# A run beside the expected calls and beside its baseline: every call stands in exactly one row.

NAMES = st.lists(st.sampled_from("abcd"), max_size=7)


def calls(names: list[str] | str) -> list[CallRecord]:
    return [CallRecord(name=name, arguments={}) for name in names]


def expected(names: list[str] | str) -> list[ExpectedCall]:
    return [ExpectedCall(name=name, arguments={}) for name in names]


@given(NAMES, NAMES, NAMES)
def test_each_call_stands_in_one_row(made: list[str], want: list[str], was: list[str]) -> None:
    before = beside(calls(made), as_expected(calls(was), named=False))

    rows = timeline(beside(calls(made), expected(want)), before)

    assert [*range(1, len(made) + 1)] == [row.step for row in rows if row.step]
    assert [*range(1, len(want) + 1)] == sorted(row.place for row in rows if row.place)
    assert [*range(1, len(was) + 1)] == sorted(row.before for row in rows if row.before)
    assert (made != want) == (1 == sum(row.first for row in rows))
    assert (made != was) == (1 == sum(row.first_changed for row in rows))


def test_a_call_that_is_missing_stands_before_the_step_that_came_instead() -> None:
    rows = timeline(beside(calls("ac"), expected("abc")), None)

    assert [(1, 1), (2, None), (3, 2)] == [(row.place, row.step) for row in rows]
    assert [False, True, False] == [row.first for row in rows]


def test_equal_calls_with_values_that_only_python_holds_equal_differ() -> None:
    made = [CallRecord(name="a", arguments={"sure": True})]

    found = beside(made, [ExpectedCall(name="a", arguments={"sure": 1})])

    assert "step 1: a was called with other arguments than expected" == found.why


def test_a_call_after_one_that_failed_is_a_retry() -> None:
    failed = CallRecord(name="a", arguments={}, error="busy")

    assert {3, 4} == retried_steps([failed, *calls("b"), failed, *calls("aa")])


@given(
    st.recursive(
        st.text(max_size=30) | st.integers() | st.booleans() | st.none(),
        lambda some: st.lists(some) | st.dictionaries(st.text(max_size=3), some),
        max_leaves=12,
    )
)
def test_packed_values_are_read_back(value: object) -> None:
    strings = Strings()

    packed = strings.packed([value, value])

    def read(one: object) -> object:
        if isinstance(one, str):
            return strings.table[int(one[1:])] if one.startswith("\x01") else one
        if isinstance(one, list):
            return [read(part) for part in one]
        return {name: read(part) for name, part in one.items()} if isinstance(one, dict) else one

    assert [value, value] == read(packed)
