"""`sopbench audit --mutants`: wrong agents, made of a policy and of right trajectories."""

from __future__ import annotations

import ast
import json
from pathlib import Path

import pytest
from builders.commands import sopbench

import pytest_sopbench.bundled
from pytest_sopbench._audit.audit import audit
from pytest_sopbench._audit.observing.mutants import mutate
from pytest_sopbench._audit.observing.mutating import changes_of
from pytest_sopbench._audit.observing.sandbox import Limits
from pytest_sopbench._audit.reading import Subject, read_folder
from pytest_sopbench._audit.rules.mutants import RULES, strong_sample
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._loading.strong import read_strong_sample
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
def orders() -> Subject:
    """A bundled domain with what came of its mutants."""
    folder = BUNDLED / "order_fulfillment"
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
    rule = left_out.do.removeprefix("add ").rpartition(", with")[0]
    metadata = json.loads((parcels / "metadata.json").read_text())
    contract = {"rules": [json.loads(rule)]}
    (parcels / "metadata.json").write_text(json.dumps({**metadata, "contract": contract}))
    after = audit(parcels, mutants=True)
    assert not [one for one in after.findings if "leaving out" in one.place.change]


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
    specs = json.loads((folder / "toolspecs.json").read_text())
    schema = {"type": "object", "properties": {"parcel_id": {"type": "string"}}}
    spec = {"name": "book", "description": "Books.", "inputSchema": {"json": schema}}
    (folder / "toolspecs.json").write_text(json.dumps([*specs, {"toolSpec": spec}]))
    metadata = json.loads((folder / "metadata.json").read_text())
    metadata["tools"]["get_weight"]["missing"] = "error"
    metadata["tools"]["book"] = {"result": {"status": "booked"}}
    (folder / "metadata.json").write_text(json.dumps(metadata))
    return folder


def test_a_call_that_failed_is_made_again_apart_from_one_that_succeeded(unweighed: Path) -> None:
    found = mutate(load_domain(unweighed))

    again = {one.kind: one for one in found.mutants if one.tool == "get_weight"}
    assert again["repeated"].differs == (0, 2)
    assert again["retried"].differs == (1, 3)


def test_an_error_is_ignored_by_the_call_that_follows_where_there_is_none(unweighed: Path) -> None:
    found = audit(unweighed, mutants=True)

    ignored = next(one for one in found.findings if "although" in one.place.change)
    rule = json.loads(ignored.do.removeprefix("add ").rpartition(", with")[0])
    assert ignored.place.change == "calling `book` although `get_weight` has failed"
    assert ignored.what.startswith("goes unnoticed on 2 of 2 tasks")
    assert rule == {"id": "no-book", "severity": "must", "forbids": ["book"]}


def test_an_error_that_a_rule_notices_on_some_tasks_alone_is_told_so(orders: Subject) -> None:
    soft = next(one for one in RULES if one.name == "error-fails-nothing")

    told = [one for one in soft.findings(orders) if "leaving out `get_account`" in str(one.place)]

    (what,) = (one.what for one in told)
    assert what.startswith("a rule notices it on 109 of 113 tasks, and it only should hold")
    assert what.endswith("expected calls alone on 4 more")


def test_a_mutant_that_never_ends_is_noticed_and_ends(tmp_path: Path) -> None:
    loop = POLICY.replace(
        '    return {"rate": "light"}',
        '    n = 0\n    while n < 3:\n        n = n + 1\n    return {"rate": "light"}',
    )
    folder = write_parcels(tmp_path / "parcels", weights=(10, 11, 10, 11), policy=loop)

    found = mutate(load_domain(folder))

    endless = next(one for one in found.mutants if one.text.startswith("n + 1 -> n - 1"))
    assert set(endless.noticed.values()) == {"crash"}


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


def test_a_domain_without_policy_and_calls_has_no_score(parcels: Path) -> None:
    (parcels / "policy.py").unlink()

    found = audit(parcels, mutants=True)

    assert found.score is not None
    assert found.score.percent == 0
    assert any(one.startswith("no mutants") for one in found.facts)


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
    with pytest.raises(SopbenchError, match="not every wrong agent was run, so no sample"):
        audit(parcels, mutants=True, write_sample=True, limits=Limits(total=0))

    assert not (parcels / "strong_sample.json").exists()


def test_mutants_that_were_not_run_are_an_error_and_hold_no_gate(parcels: Path) -> None:
    (parcels / "policy.py").write_text("import os\n\nos._exit(3)\n")

    result = sopbench("audit", str(parcels), "--mutants", "--fail-under=1")

    assert 1 == result.exit_code
    assert "mutants-unfinished" in result.stdout
    assert "not every wrong agent was run, and --fail-under asks for 1 %" in result.stderr
