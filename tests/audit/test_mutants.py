"""`sopbench audit --mutants`: wrong agents, made of a policy and of right trajectories."""

from __future__ import annotations

import ast
import gc
import json
import shutil
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest
from builders.commands import sopbench

import pytest_sopbench.bundled
from pytest_sopbench._audit.audit import DOMAIN_GROUPS, audit
from pytest_sopbench._audit.observing.changes import changes_of, cited_clauses, clauses_at
from pytest_sopbench._audit.observing.mutants import mutate
from pytest_sopbench._audit.observing.sandbox import Limits
from pytest_sopbench._audit.observing.suite import EndlessError, limited
from pytest_sopbench._audit.reading import Subject, read_folder
from pytest_sopbench._audit.rules.mutants import strong_sample
from pytest_sopbench._loading.evidence import read_strong_sample
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench.errors import LoadingError, SopbenchError

BUNDLED = Path(pytest_sopbench.bundled.__path__[0])

POLICY = '''
"""Rates a parcel."""

HEAVY = 10  # clause 2.1


def decide(inputs, call):
    weight = call("get_weight", parcel_id=inputs["parcel_id"])["weight"]
    if weight > HEAVY:  # clause 2.1
        return {"rate": "heavy"}
    return {"rate": "light"}
'''


@pytest.fixture(scope="module")
def orders(tmp_path_factory: pytest.TempPathFactory) -> Subject:
    """The first rows of a bundled domain, with what came of its mutants."""
    folder = tmp_path_factory.mktemp("domains") / "order_fulfillment"
    shutil.copytree(BUNDLED / "order_fulfillment", folder)
    for name, lines in (("data.csv", 41), ("expected_calls.jsonl", 40)):
        text = (folder / name).read_text("utf-8")
        (folder / name).write_text("".join(text.splitlines(keepends=True)[:lines]), "utf-8")
    (folder / "strong_sample.json").unlink()
    domain = load_domain(folder)
    mutation = mutate(domain, Limits(total=3000))
    read = read_folder(folder)
    return Subject(folder=read, domain=domain, tasks=tuple(domain.tasks), mutation=mutation)


@pytest.fixture
def parcels(tmp_path: Path) -> Path:
    """A domain of one tool and one cut-off, which no row comes close to."""
    return write_parcels(tmp_path / "parcels", weights=(3, 20, 4, 30))


def write_parcels(folder: Path, *, weights: tuple[int, ...], policy: str = POLICY) -> Path:
    folder.mkdir()
    rows = [
        f"P{number},{weight},{'heavy' if weight > 10 else 'light'}"
        for number, weight in enumerate(weights)
    ]
    (folder / "data.csv").write_text("\n".join(["parcel_id,weight,rate", *rows]) + "\n")
    (folder / "sop.md").write_text("# Parcels\n\n2.1 Above 10 kg a parcel is heavy.\n")
    (folder / "policy.py").write_text(policy)
    schema = {"type": "object", "properties": {"parcel_id": {"type": "string"}}}
    spec = {"name": "get_weight", "description": "Weighs.", "inputSchema": {"json": schema}}
    (folder / "toolspecs.json").write_text(json.dumps([{"toolSpec": spec}]))
    metadata = {
        "name": "parcels",
        "id_column": "parcel_id",
        "input_columns": ["parcel_id"],
        "output_columns": ["rate"],
        "tools": {"get_weight": {"key": ["parcel_id"], "returns": ["weight"]}},
    }
    (folder / "metadata.json").write_text(json.dumps(metadata))
    return folder


def texts(source: str) -> list[str]:
    return [one.text for one in changes_of(ast.parse(source))]


def test_each_change_is_taken_back() -> None:
    for name in ("dangerous_goods", "order_fulfillment"):
        tree = ast.parse((BUNDLED / name / "policy.py").read_text("utf-8"))
        before = ast.dump(tree)

        for change in changes_of(tree):
            back = change.apply()
            changed = ast.dump(tree)
            back()

            assert changed != before, change.text
            assert ast.dump(tree) == before, change.text


def test_a_comparison_moves_by_its_boundary_and_a_branch_goes_one_way() -> None:
    found = texts(
        "def decide(i, call):\n    if i['age'] >= 18 and not i['vip']:\n        return 1\n"
    )

    assert "i['age'] >= 18 -> i['age'] > 18" in found
    assert "if i['age'] >= 18 and (not i['vip']) -> always" in found
    assert "i['age'] >= 18 and (not i['vip']) without not i['vip']" in found
    assert "18 -> 19 in i['age'] >= 18" in found


def test_a_constant_is_told_with_what_it_stands_in() -> None:
    found = texts(
        "POINTS = {'never': 0, 'often': -2}\n"
        "LINES = ((8, 0), (0, 0))\n"
        "def decide(i, call):\n    total = 0\n    return total\n"
    )

    assert "0 -> 1 in 'never': 0" in found
    assert "-2 -> -3 in 'often': -2" in found
    assert "0 -> 1 in (0, 0), that is (1, 0)" in found
    assert "0 -> 1 in (0, 0), that is (0, 1)" in found
    assert "0 -> 1 in total = 0" in found


def test_a_clause_is_that_of_the_statement_and_not_of_its_neighbour() -> None:
    source = """
HEAVY = 10
LONG = 90  # clause 2.2

# clause 2.3
WIDE = 40


def decide(i, call):
    if i["long"] > LONG:
        return "long"  # clause 3.1
    return far(i)


def far(i):
    \"\"\"Clause 4.\"\"\"
    return i["miles"] > 5
"""
    cited = cited_clauses(source)

    found = {one.text: clauses_at(cited, one) for one in changes_of(ast.parse(source))}

    assert found["10 -> 11"] == ()
    assert found["90 -> 91"] == ("2.2",)
    assert found["40 -> 41"] == ("2.3",)
    assert found["i['long'] > LONG -> i['long'] >= LONG"] == ("3.1",)
    assert found["5 -> 6 in i['miles'] > 5"] == ("4",)


def test_a_docstring_and_an_index_are_no_constants() -> None:
    found = texts('def decide(i, call):\n    """Clause 3."""\n    return i[0]\n')

    assert found == []


def test_a_cut_off_that_no_row_comes_close_to_survives(parcels: Path) -> None:
    found = audit(parcels, mutants=True)

    survivors = {one.place.change for one in found.findings if one.rule == "mutant-survives"}
    assert survivors == {
        "HEAVY: 10 -> 11",
        "HEAVY: 10 -> 9",
        "decide: weight > HEAVY -> weight >= HEAVY",
    }


def test_rows_on_both_sides_of_the_cut_off_leave_no_survivor(tmp_path: Path) -> None:
    folder = write_parcels(tmp_path / "parcels", weights=(10, 11, 10, 11, 9, 12))

    found = audit(folder, mutants=True)

    assert not [one for one in found.findings if one.rule == "mutant-survives"]


def test_a_survivor_is_accepted_by_its_text_and_is_not_counted(parcels: Path) -> None:
    before = audit(parcels, mutants=True)
    metadata = json.loads((parcels / "metadata.json").read_text())
    accept = {"rule": "mutant-survives", "place": "HEAVY: 10 -> 11", "reason": "whole kilograms"}
    (parcels / "metadata.json").write_text(json.dumps({**metadata, "audit": {"accept": [accept]}}))

    found = audit(parcels, mutants=True)
    plain = audit(parcels)

    assert before.score is not None
    assert found.score is not None
    assert found.score.of == before.score.of - 1
    assert [one.place.change for one, _ in found.accepted] == ["HEAVY: 10 -> 11"]
    assert not [one for one in plain.findings if one.rule == "unused-acceptance"]


def test_an_unused_step_is_told_with_the_rule_to_paste(parcels: Path) -> None:
    found = audit(parcels, mutants=True)

    left_out = next(one for one in found.findings if "leaving out" in one.place.change)
    paste(parcels, rule_in(left_out.do))
    after = audit(parcels, mutants=True)
    assert not [one for one in after.findings if "leaving out" in one.place.change]


def rule_in(advice: str) -> dict[str, Any]:
    """The rule that an advice writes out."""
    start = advice.index("{")
    rule: dict[str, Any] = json.JSONDecoder().raw_decode(advice[start:])[0]
    return rule


def paste(folder: Path, *rules: Mapping[str, Any]) -> None:
    metadata = json.loads((folder / "metadata.json").read_text())
    contract = {"rules": [*metadata.get("contract", {"rules": []})["rules"], *rules]}
    (folder / "metadata.json").write_text(json.dumps({**metadata, "contract": contract}))


MISSING = """
from pytest_sopbench.errors import ToolError


def decide(inputs, call):
    try:
        call("get_weight", parcel_id=inputs["parcel_id"])
    except ToolError:
        return {"rate": "light"}
    call("book", parcel_id=inputs["parcel_id"])
    return {"rate": "heavy"}
"""


@pytest.fixture
def unweighed(tmp_path: Path) -> Path:
    """A domain in which a tool fails on two rows, and the booking is left out there."""
    folder = write_parcels(tmp_path / "parcels", weights=(20, 4, 30, 3), policy=MISSING)
    rows = (folder / "data.csv").read_text()
    (folder / "data.csv").write_text(rows.replace(",4,", ",,").replace(",3,", ",,"))
    add_booking(folder)
    metadata = json.loads((folder / "metadata.json").read_text())
    metadata["tools"]["get_weight"]["missing"] = "error"
    (folder / "metadata.json").write_text(json.dumps(metadata))
    return folder


def add_booking(folder: Path) -> None:
    specs = json.loads((folder / "toolspecs.json").read_text())
    schema = {"type": "object", "properties": {"parcel_id": {"type": "string"}}}
    spec = {"name": "book", "description": "Books.", "inputSchema": {"json": schema}}
    (folder / "toolspecs.json").write_text(json.dumps([*specs, {"toolSpec": spec}]))
    metadata = json.loads((folder / "metadata.json").read_text())
    metadata["tools"]["book"] = {"result": {"status": "booked"}}
    (folder / "metadata.json").write_text(json.dumps(metadata))


def test_a_call_that_failed_is_made_again_apart_from_one_that_succeeded(unweighed: Path) -> None:
    found = mutate(load_domain(unweighed))

    again = {one.kind: one for one in found.mutants if one.tool == "get_weight"}
    assert again["repeated"].differs == (0, 2)
    assert again["retried"].differs == (1, 3)


def test_an_error_is_ignored_by_the_call_that_follows_where_there_is_none(unweighed: Path) -> None:
    found = audit(unweighed, mutants=True)

    ignored = next(one for one in found.findings if "although" in one.place.change)
    rule = rule_in(ignored.do)
    assert ignored.place.change == "calling `book` although `get_weight` has failed"
    assert ignored.what.startswith("goes unnoticed on 2 of 2 tasks")
    assert rule == {"id": "no-book", "severity": "must", "forbids": ["book"]}
    assert ignored.do.endswith(
        'with a "when" that leaves out 2 tasks such as P0, in which the right run breaks it'
    )


def test_each_rule_that_is_told_makes_its_error_fail_and_no_right_run(unweighed: Path) -> None:
    before = mutate(load_domain(unweighed))
    ids = load_domain(unweighed).task_ids
    told = {one.text: one.remedy for one in before.mutants if one.remedy and not one.fails}

    rules = {
        json.dumps(one.rule): {
            **one.rule,
            "when": {"input": "parcel_id", "in": [ids[row] for row in one.notices]},
        }
        for one in told.values()
    }
    paste(unweighed, *rules.values())
    after = mutate(load_domain(unweighed))

    assert {"leaving out `book`", "calling `book` twice", "calling `book` before `get_weight`"} <= {
        *told
    }
    assert after.judged == before.judged
    assert not [one.text for one in after.mutants if one.text in told and not one.fails]


def test_a_rule_that_right_runs_break_on_the_same_tasks_is_not_told(tmp_path: Path) -> None:
    """A tool that is asked twice, around another one, has no order that a rule could demand."""
    policy = """
def decide(inputs, call):
    call("get_weight", parcel_id=inputs["parcel_id"])
    call("book", parcel_id=inputs["parcel_id"])
    weight = call("get_weight", parcel_id=inputs["parcel_id"])["weight"]
    return {"rate": "heavy" if weight > 10 else "light"}
"""
    folder = write_parcels(tmp_path / "parcels", weights=(3, 20), policy=policy)
    add_booking(folder)

    found = mutate(load_domain(folder))

    remedies = {one.text: one.remedy for one in found.mutants if one.tool}
    assert remedies["calling `get_weight` before `book`"] is None
    twice = remedies["calling `get_weight` twice"]
    assert twice is not None
    assert twice.rule["at_most"] == {"get_weight": 2}


def test_what_no_gate_sees_is_sent_to_a_snapshot_and_the_rest_to_the_gate(unweighed: Path) -> None:
    """The gate asks for every expected call, and minds neither order nor a call too many."""
    weigh = [{"name": "get_weight", "arguments": {"parcel_id": f"P{n}"}} for n in range(4)]
    book = [{"name": "book", "arguments": {"parcel_id": f"P{n}"}} for n in range(4)]
    lines = [
        {"task": f"P{n}", "calls": [weigh[n]] if n % 2 else [weigh[n], book[n]]} for n in range(4)
    ]
    (unweighed / "expected_calls.jsonl").write_text("\n".join(map(json.dumps, lines)) + "\n")

    found = audit(unweighed, mutants=True)

    told = {one.place.change: one for one in found.findings if one.rule == "error-fails-nothing"}
    again = told["calling `get_weight` again after it has failed"]
    assert again.what == (
        "only the order or number of the expected calls tells, on 2 of 2 tasks, and fails no run"
    )
    assert again.do == "compare the calls with a snapshot; no gate sees their order or number"
    invented = told["giving `book` an argument that it does not have"]
    assert invented.what.startswith("only expected calls notice it, on 2 of 2 tasks")
    assert invented.do == "run with --sop-gate=expected_calls=1"


def test_a_statement_that_calls_no_tool_is_no_rule(tmp_path: Path) -> None:
    noted = "    seen = []\n    seen.append('weighed')\n    if weight"
    noting = POLICY.replace("    if weight", noted)
    folder = write_parcels(tmp_path / "parcels", weights=(10, 11, 10, 11), policy=noting)

    found = audit(folder, mutants=True)

    (left_out,) = (one for one in found.findings if "seen.append" in one.place.change)
    assert left_out.do.startswith("add a row whose answer it changes; if it means the same, accept")


def test_a_rule_that_is_printed_can_be_pasted_as_it_stands(parcels: Path) -> None:
    """No line of the report ends inside a text in quotes."""
    long = POLICY.replace(
        "if weight > HEAVY:", "if weight > HEAVY and (weight != 77 or inputs['parcel_id'] != 'P9'):"
    )
    (parcels / "policy.py").write_text(long)

    printed = sopbench("audit", str(parcels), "--mutants", "-v").stdout

    advice = [one.partition("accept {")[2] for one in printed.split("warning ")]
    accepted = [json.loads("{" + one.partition("...}")[0] + '"..."}') for one in advice if one]
    assert any(len(one["place"]) > 80 for one in accepted)


def test_tasks_that_are_left_out_are_told_by_what_becomes_of_their_right_run(
    parcels: Path,
) -> None:
    rows = (parcels / "data.csv").read_text()
    (parcels / "data.csv").write_text(rows.replace("P1,20,heavy", "P1,20,light"))
    raised = "    if weight == 4:\n        raise KeyError\n    if weight"
    raising = POLICY.replace("    if weight", raised)
    (parcels / "policy.py").write_text(raising)

    found = audit(parcels, mutants=True)

    (told,) = (one for one in found.facts if "left out" in one)
    assert told.startswith("  2 of 4 tasks left out: the right run ")
    assert "ends without an answer on 1" in told
    assert "gives another answer on 1" in told


def test_an_error_that_a_rule_notices_on_some_tasks_alone_is_told_so(orders: Subject) -> None:
    soft = next(one for one in DOMAIN_GROUPS["mutants"] if one.name == "error-fails-nothing")

    told = [one for one in soft.findings(orders) if "leaving out `get_account`" in str(one.place)]

    (what,) = (one.what for one in told)
    assert what.startswith("rule")
    assert "on 36 of 37 tasks, but only should hold" in what
    assert what.endswith("expected calls alone do on 1 more")


def test_a_mutant_that_never_ends_is_noticed_and_ends(tmp_path: Path) -> None:
    loop = POLICY.replace(
        '    return {"rate": "light"}',
        '    n = 0\n    while n < 3:\n        n = n + 1\n    return {"rate": "light"}',
    )
    folder = write_parcels(tmp_path / "parcels", weights=(10, 11, 10, 11), policy=loop)

    found = mutate(load_domain(folder))

    endless = next(one for one in found.mutants if one.text.startswith("n + 1 -> n - 1"))
    assert set(endless.noticed.values()) == {"crash"}


def test_an_end_that_a_finaliser_swallows_comes_again_and_says_nothing() -> None:
    class Endless:
        def __del__(self) -> None:
            while True:
                pass

    def run() -> None:
        Endless()
        while True:
            pass

    with pytest.raises(EndlessError), limited(0.01):
        run()

    # What is raised in a finaliser is told by a warning, which fails a test of this suite.
    gc.collect()


def test_a_mutant_that_ends_the_process_is_no_agent_and_the_others_are_run(tmp_path: Path) -> None:
    ends = "import os\n" + POLICY.replace(
        "    if weight", "    if weight < 0:\n        os._exit(3)\n    if weight"
    )
    folder = write_parcels(tmp_path / "parcels", weights=(10, 11, 10, 11), policy=ends)

    found = mutate(load_domain(folder))

    broken = [one.text for one in found.mutants if one.broken]
    assert broken == ["if weight < 0 -> always"]
    assert any(one.text == "weight > HEAVY -> weight >= HEAVY" for one in found.mutants)


def test_a_task_whose_right_run_fails_is_left_out_and_told(parcels: Path) -> None:
    rows = (parcels / "data.csv").read_text().replace("P1,20,heavy", "P1,20,light")
    (parcels / "data.csv").write_text(rows)

    found = audit(parcels, mutants=True)

    assert any(one.startswith("  1 of 4 tasks left out") for one in found.facts)


def test_a_survivor_that_does_right_what_the_policy_does_wrong_is_told_so(tmp_path: Path) -> None:
    """Rows at a cut-off that all contradict the policy are left out, and would not be missed."""
    folder = write_parcels(tmp_path / "parcels", weights=(10, 10, 3, 20))
    rows = (folder / "data.csv").read_text().replace("10,light", "10,heavy")
    (folder / "data.csv").write_text(rows)

    found = audit(folder, mutants=True)

    (boundary,) = (one for one in found.findings if one.place.change.endswith("weight >= HEAVY"))
    assert boundary.rule == "mutant-survives"
    assert boundary.what.endswith(
        "but it gives the expected answer on 2 tasks such as P0, and the policy does not"
    )
    assert boundary.do.startswith("see whether the policy is wrong here; else add a row")


def test_a_domain_without_policy_and_calls_has_no_score(parcels: Path) -> None:
    (parcels / "policy.py").unlink()

    found = audit(parcels, mutants=True)

    assert found.score is not None
    assert found.score.percent == 0
    why = "without policy and expected calls no right trajectory is known"
    assert f"no mutants: {why}" in found.facts


READS_ANSWERS = """
import csv
from pathlib import Path

with Path(__file__).with_name("data.csv").open(encoding="utf-8") as file:
    RATES = {row["parcel_id"]: row["rate"] for row in csv.DictReader(file)}


def decide(inputs, call):
    return {"rate": RATES[inputs["parcel_id"]]}
"""


@pytest.mark.parametrize(
    ("policy", "told"),
    [
        pytest.param(
            READS_ANSWERS,
            (
                "no mutants: no right trajectory is known",
                "  4 of 4 tasks left out: the right run gives another answer on 4",
            ),
            id="it reads the answers",
        ),
        pytest.param(
            'def decide(inputs, call):\n    return {"rate": str("light")}\n',
            ("no mutants: nothing can be changed, neither in the policy nor in right calls",),
            id="it always answers the same",
        ),
    ],
)
def test_without_mutants_of_a_policy_the_reason_is_no_lack_of_a_policy(
    tmp_path: Path, policy: str, told: tuple[str, ...]
) -> None:
    weights = (3, 20, 4, 30) if "csv" in policy else (3, 4)
    folder = write_parcels(tmp_path / "parcels", weights=weights, policy=policy)

    found = audit(folder, mutants=True)

    assert told == found.facts[-len(told) :]


def test_the_strong_sample_fails_each_mutant_that_the_domain_fails(orders: Subject) -> None:
    mutation = orders.mutation
    assert mutation is not None

    rows, noticed = strong_sample(orders, mutation)

    failing = [one for one in mutation.mutants if one.fails]
    assert all(set(one.fails) & {*rows} for one in failing)
    assert noticed[-1] == len(failing)
    assert len(rows) < len(orders.tasks)
    assert {tag for row in rows for tag in orders.tasks[row].tags} == {
        tag for task in orders.tasks for tag in task.tags
    }


def test_a_sample_of_another_domain_is_refused(parcels: Path) -> None:
    audit(parcels, mutants=True, write_sample=True)
    before = read_strong_sample(load_domain(parcels))

    (parcels / "sop.md").write_text("# Parcels\n\n2.1 Above 12 kg a parcel is heavy.\n")

    assert before.tasks
    with pytest.raises(LoadingError, match="has changed since"):
        read_strong_sample(load_domain(parcels))


def test_a_sample_of_a_part_of_the_mutants_is_refused(parcels: Path) -> None:
    (parcels / "policy.py").write_text("import os\n\nos._exit(3)\n")

    with pytest.raises(SopbenchError, match="not every wrong agent was run, so no sample"):
        audit(parcels, mutants=True, write_sample=True)

    assert not (parcels / "strong_sample.json").exists()


def test_mutants_that_were_not_run_are_an_error_and_hold_no_gate(parcels: Path) -> None:
    (parcels / "policy.py").write_text("import os\n\nos._exit(3)\n")

    result = sopbench("audit", str(parcels), "--mutants", "--fail-under=1%")

    assert 1 == result.exit_code
    assert "mutants-unfinished" in result.stdout
    assert "not every wrong agent was run, and --fail-under asks for 0.01" in result.stderr
