"""Coverage of an SOP: counted by hand on a small domain, and the same runs on the bundled ones."""

from __future__ import annotations

import ast
import json
from functools import partial
from pathlib import Path
from typing import Any

import pytest
from parcels import POLICY, SOP, sound_rows, write_lab

from pytest_sopbench._audit.coverage import (
    Coverage,
    coverage_of,
    in_order,
    session_clauses,
    sop_lines,
)
from pytest_sopbench._audit.coverage_report import coverage_lines, coverage_page, session_page
from pytest_sopbench._audit.observing.covering import EQUAL, HELD, NOT_HELD, Watched, conditions_of
from pytest_sopbench._audit.observing.sandbox import Limits
from pytest_sopbench._audit.observing.suite import decide_of
from pytest_sopbench._core.contract import RuleResult, Severity
from pytest_sopbench._core.demands import DemandKind, RuleState
from tests.builders.commands import sopbench

CITED = """def decide(inputs, call):
    weight = call("weigh", parcel_id=inputs["parcel_id"])["weight_kg"]
    risk = call("screen", parcel_id=inputs["parcel_id"])["risk"]
    if inputs["destination"] == "island" and weight >= 20:  # clause 3.1
        return {"outcome": "REFUSE"}
    if risk >= 7:
        return {"outcome": "INSPECT"}  # clause 3.2
    if weight >= 20 or inputs["declared_value"] > 500:
        return {"outcome": "INSURE"}  # clause 3.3
    return {"outcome": "SHIP"}  # clause 3.4
"""


def labelled(label: str) -> int:
    return sum(row["outcome"] == label for row in sound_rows())


def without_risks(rows: list[dict[str, Any]]) -> None:
    """Leave no row with a risk of 7 or more but one, which lies above it."""
    kept = [one for one in rows if one["risk"] < 7]
    kept.append(next(one for one in rows if one["risk"] == 9 and one["outcome"] == "INSPECT"))
    rows[:] = kept


def test_tasks_of_each_clause_are_those_whose_run_comes_to_it(lab: Any) -> None:
    """Counted by hand: the first three clauses decide, so each holds the rows of its label."""
    lab.write(policy_py=CITED)

    found = coverage_of(lab.folder)

    assert {
        "2.1": 128,
        "3.1": labelled("REFUSE"),
        "3.2": labelled("INSPECT"),
        "3.3": labelled("INSURE"),
        "3.4": labelled("SHIP"),
    } == found.clauses
    assert (128, 128, "policy.py") == (found.tasks, found.covered, found.source)
    assert ("1.1", "3.5") == found.unnamed


@pytest.fixture(scope="module")
def plain(tmp_path_factory: pytest.TempPathFactory) -> Coverage:
    """Of the domain as it is: a process takes seconds."""
    return coverage_of(write_lab(tmp_path_factory.mktemp("plain") / "parcels").folder)


def test_a_clause_beside_a_constant_is_held_where_the_constant_is_asked(plain: Coverage) -> None:
    island = sum(row["destination"] == "island" for row in sound_rows())
    shipped = [row for row in sound_rows() if row["outcome"] in {"INSURE", "SHIP"}]
    weighed = island + sum(row["destination"] == "mainland" for row in shipped)

    assert weighed == plain.clauses["3.1"]
    assert 128 - labelled("REFUSE") == plain.clauses["3.2"]
    assert weighed == plain.clauses["3.3"]


def test_both_sides_of_each_cut_off_are_counted_and_the_value_itself(plain: Coverage) -> None:
    asked = [row for row in sound_rows() if row["outcome"] != "REFUSE"]

    risk = next(one for one in plain.sides if "risk" in one.condition.text)

    assert {
        HELD: sum(row["risk"] >= 7 for row in asked),
        NOT_HELD: sum(row["risk"] < 7 for row in asked),
        EQUAL: sum(row["risk"] == 7 for row in asked),
    } == risk.tasks
    assert ("risk >= RISKY", ("3.2",)) == (risk.condition.text, risk.clauses)


def test_an_operand_that_is_not_reached_is_not_counted(plain: Coverage) -> None:
    value = next(one for one in plain.sides if "declared_value" in one.condition.text)

    light = [r for r in sound_rows() if r["outcome"] in {"INSURE", "SHIP"} and r["weight_kg"] < 20]

    assert len(light) == value.tasks[HELD] + value.tasks[NOT_HELD]


def test_rules_tools_and_labels_are_counted(plain: Coverage) -> None:
    assert {"weigh-first": 128, "screened": 128} == plain.rules
    assert {"weigh": 128, "screen": 128} == plain.tools
    assert labelled("SHIP") == plain.labels["outcome"]["SHIP"]


def test_a_declared_label_that_no_row_expects_is_counted_as_none(lab: Any) -> None:
    lab.write(policy_py=None)
    values = ["INSPECT", "INSURE", "REFUSE", "SHIP", "RETURN"]
    lab.metadata(outputs={"outcome": {"type": "enum", "values": values}})

    assert 0 == coverage_of(lab.folder).labels["outcome"]["RETURN"]


def test_labels_of_a_private_column_are_not_shown(lab: Any) -> None:
    lab.write(policy_py=None).metadata(private_columns=["outcome"])

    assert {} == coverage_of(lab.folder).labels


def test_expected_calls_serve_where_there_is_no_policy(lab: Any) -> None:
    lab.expected_calls().write(policy_py=None)

    found = coverage_of(lab.folder)

    assert ("expected calls", 128) == (found.source, found.covered)
    assert ({"2.1": 128}, (), {"weigh": 128, "screen": 128}) == (
        found.clauses,
        found.sides,
        found.tools,
    )


def test_without_policy_and_calls_nothing_is_claimed(lab: Any) -> None:
    lab.write(policy_py=None)

    found = coverage_of(lab.folder)

    assert (0, 0, "") == (found.covered, found.held, found.source)
    assert "none can be followed" in "\n".join(coverage_lines(found, every=False))


@pytest.mark.parametrize(
    ("body", "said"),
    [
        pytest.param("    import os\n    os._exit(3)", "exits", id="ends"),
        pytest.param("    import time\n    time.sleep(1_000)", "hangs", id="hangs"),
    ],
)
def test_a_policy_that_ends_its_process_is_told_and_fails(lab: Any, body: str, said: str) -> None:
    lab.write(policy_py=f"def decide(inputs, call):\n{body}\n")

    found = coverage_of(lab.folder, Limits(stall=4))

    assert 0 == found.covered
    assert said in found.problems[0]


def test_tasks_on_which_the_policy_fails_are_left_out_and_counted(lab: Any) -> None:
    lab.write(
        policy_py=POLICY.replace(
            "    weight =", '    assert inputs["declared_value"] != 900\n    weight ='
        )
    )

    found = coverage_of(lab.folder)

    assert (128, 96) == (found.tasks, found.covered)
    assert "32 more cannot be run" in "\n".join(coverage_lines(found, every=False))


# As a user types it.


def without_any_risk(rows: list[dict[str, Any]]) -> None:
    rows[:] = [one for one in rows if one["risk"] < 7]


@pytest.fixture
def show(lab: Any, monkeypatch: pytest.MonkeyPatch) -> Any:
    monkeypatch.chdir(lab.folder.parent)
    lab.write(policy_py=CITED)

    return partial(sopbench, "show", "./parcels", "--coverage")


def test_what_no_task_and_what_one_task_holds_is_listed(lab: Any, show: Any) -> None:
    lab.rows(without_risks)

    output = show().output

    assert "3.2      by 1 task" in output
    assert "policy.py:6: true 1, false" in output
    assert "equal never: risk >= 7" in output
    assert "3.4 " not in output
    assert 80 >= max(map(len, output.splitlines()))


def test_a_clause_that_no_task_holds_fails_where_that_is_asked(lab: Any, show: Any) -> None:
    lab.rows(without_any_risk)

    held, short = show("--fail-under", "80%"), show("--fail-under", "0.81")

    assert "3.2      by no task" in held.output
    assert (0, 1) == (held.exit_code, short.exit_code)
    assert "80.0 % of the clauses, --fail-under is 0.81" in short.stderr


@pytest.mark.parametrize("bound", ["nan", "80", "-1", "1e-400x"])
def test_a_bound_that_is_no_rate_is_refused(lab: Any, show: Any, bound: str) -> None:
    result = show("--fail-under", bound)

    assert 2 == result.exit_code
    assert "a rate from 0 to 1 expected, such as 0.9 or 90%" in result.stderr


def test_no_clause_at_all_reaches_no_bound(lab: Any, show: Any) -> None:
    lab.write(policy_py=None).metadata(contract=None)

    assert 1 == show("--fail-under", "1").exit_code


def test_everything_is_an_object_for_programs(show: Any) -> None:
    found = json.loads(show("--json").output)

    assert 100.0 == found["percent"]
    assert labelled("INSPECT") == found["clauses"]["3.2"]
    assert {"true", "false", "equal"} == {*found["conditions"][0]["tasks"]}


def test_the_page_colours_the_text_of_each_clause(lab: Any, show: Any, tmp_path: Path) -> None:
    lab.rows(without_risks)
    lab.write(sop_md=SOP.replace("is shipped", "is <script>alert(1)</script> shipped \u202e"))

    result = show("--to", f"html={tmp_path / 'page.html'}")

    page = (tmp_path / "page.html").read_text("utf-8")
    assert 0 == result.exit_code
    assert '<tr class="thin"><td>3.2: 1 task</td><td>3.2 Otherwise a parcel with' in page
    assert '<tr class="good"><td>3.4: ' in page
    assert '<tr class=""><td></td><td>3.5 The answer' in page
    assert "<script" not in page
    assert "\u202e" not in page


@pytest.mark.parametrize(
    "words",
    [
        ("--to", "md=x"),
        ("--to", "html="),
        ("--explain",),
        ("--full",),
        ("T1",),
    ],
)
def test_what_says_nothing_beside_coverage_is_refused(show: Any, words: tuple[str, ...]) -> None:
    assert 2 == show(*words).exit_code


def test_its_options_alone_are_refused(show: Any) -> None:
    assert 2 == sopbench("show", "last", "--fail-under", "3%").exit_code


# Of a session.


def rule(clause: str, state: RuleState, *, applies: bool = True) -> RuleResult:
    return RuleResult(
        id=f"rule-{clause}",
        clause=clause,
        severity=Severity.MUST,
        kind=DemandKind.FORBIDS,
        state=state,
        why="",
        applies=applies,
    )


class Run:
    """A run, as far as clauses look at it."""

    def __init__(self, *rules: RuleResult) -> None:
        self.rules = rules


def test_of_each_clause_it_is_said_what_runs_came_to() -> None:
    runs: Any = [
        Run(rule("2.1", RuleState.HELD), rule("10.1", RuleState.HELD)),
        Run(rule("2.1", RuleState.HELD), rule("10.1", RuleState.BROKEN)),
        Run(
            rule("2.1", RuleState.NOT_EXERCISED), rule("3", RuleState.NOT_EXERCISED, applies=False)
        ),
    ]

    found = session_clauses(runs)

    assert ["2.1", "3", "10.1"] == list(found)
    assert {
        "2.1": (3, 2, 0),
        "3": (0, 0, 0),
        "10.1": (2, 1, 1),
    } == {name: (one.asked, one.kept, one.broken) for name, one in found.items()}


def test_two_rules_of_a_clause_break_it_once() -> None:
    runs: Any = [Run(rule("2.1", RuleState.HELD), rule("2.1", RuleState.BROKEN))]

    found = session_clauses(runs)["2.1"]

    assert (1, 0, 1) == (found.asked, found.kept, found.broken)


def test_the_page_of_a_session_colours_what_was_broken() -> None:
    runs: Any = [Run(rule("3.1", RuleState.BROKEN), rule("3.2", RuleState.HELD))]

    page = session_page("main", {"parcels": (session_clauses(runs), SOP)}, str)

    assert '<tr class="bad"><td>3.1: broken by 1 of 1 run</td>' in page
    assert '<tr class="good"><td>3.2: kept by 1 of 1 run</td>' in page


# Places in the text.


def test_a_clause_inside_of_a_counted_one_has_its_colour() -> None:
    sop = "# Card\n\n## 1. First\n\n1.1 One.\n\nstill one\n\n## 2. Second\n\n2.1 Two.\n"

    found = {text: clause for text, clause, _ in sop_lines(sop, ["1", "2.1"])}

    assert {
        "# Card": "",
        "1.1 One.": "1",
        "still one": "1",
        "## 2. Second": "",
        "2.1 Two.": "2.1",
    } == {
        text: found[text]
        for text in ("# Card", "1.1 One.", "still one", "## 2. Second", "2.1 Two.")
    }
    assert ("2.1 Two.", "2.1", True) in [*sop_lines(sop, ["2.1"])]


def test_clauses_stand_in_the_order_of_the_procedure() -> None:
    assert ["2", "2.1", "2.10", "10", "C.2"] == sorted(
        ["10", "2.10", "C.2", "2", "2.1"], key=in_order
    )


# What watches a policy changes nothing of what it does.

BUNDLED = Path(__file__).parents[2] / "src" / "pytest_sopbench" / "bundled"


@pytest.mark.parametrize(
    "source",
    [
        "def decide(inputs, call):\n    return inputs or {'a': 0}",
        "def decide(inputs, call):\n    return {'a': 1 < inputs['n'] <= 3}",
        "def decide(inputs, call):\n    return {'a': [x for x in range(9) if x > 2 if not x % 2]}",
        "def decide(inputs, call):\n    return {'a': inputs['n'] and 'yes' or None}",
        "def decide(i, c):\n    n = i['n']\n    while n < 9:\n        n += 1\n    return {'a': n}",
        "def decide(i, _):\n    n: int = i['n']\n    return {'a': n if n > 2 else (lambda: 7)()}",
        "def decide(inputs, call):\n    return {'a': {1} <= {1, 2}, 'b': any(x > 1 for x in [1])}",
    ],
)
def test_a_watched_source_gives_the_same(source: str, tmp_path: Path) -> None:
    def nothing(*_: object) -> None: ...

    watched = Watched()
    tree = watched.visit(ast.parse(source))

    def saw(_: int, value: object) -> object:
        return value

    def compared(number: int, one: object, other: object) -> object:
        return watched.orders[number](one, other)

    given = {"_sopbench_saw": saw, "_sopbench_compared": compared}
    path = tmp_path / "policy.py"
    plain, seen = decide_of(ast.parse(source), path), decide_of(tree, path, given)

    for number in (0, 1, 3, 9):
        assert plain({"n": number}, nothing) == seen({"n": number}, nothing)


def test_a_value_that_only_stands_in_for_another_is_no_condition() -> None:
    found = conditions_of("def decide(i, c):\n    return i['a'] or i['b'] or {}")

    assert ["i['a']", "i['b']"] == [one.text for one in found]


@pytest.mark.parametrize(
    "domain", sorted(one.name for one in BUNDLED.iterdir() if (one / "policy.py").exists())
)
def test_every_named_clause_of_a_bundled_domain_is_held(domain: str) -> None:
    """Every task is followed, and each clause that its policy or a rule names has a task."""
    found: Coverage = coverage_of(BUNDLED / domain)

    assert (found.tasks, ()) == (found.covered, found.problems)
    assert [] == [name for name, tasks in found.clauses.items() if not tasks]
    assert found.clauses
    assert "<table>" in coverage_page(found, str)
