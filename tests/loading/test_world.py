"""Worlds that cannot be used are refused, and the error says where."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench import Domain
from pytest_sopbench.errors import LoadingError
from tests.builders.domains import load_domain
from tests.builders.judged import JudgingRules, rules_fingerprint
from tests.builders.pages import write_returns


@pytest.fixture
def returns(tmp_path: Path) -> Path:
    """The folder of the domain of the how-to page."""
    write_returns(tmp_path)
    return tmp_path / "domains" / "returns"


def changed(folder: Path, **keys: Any) -> None:
    path = folder / "metadata.json"
    metadata = {**json.loads(path.read_text()), **keys}
    path.write_text(json.dumps({name: one for name, one in metadata.items() if one is not None}))


def refusal(folder: Path) -> str:
    with pytest.raises(LoadingError) as fault:
        load_domain(folder)
    return str(fault.value)


def table(**keys: Any) -> str:
    usual = {"key": "order_id", "rows": [{"order_id": "O-1", "status": "open"}]}
    orders = {name: one for name, one in {**usual, **keys}.items() if one is not None}
    return json.dumps({"tables": {"orders": orders}})


WORLDS = {
    "no JSON": ("{", "not JSON"),
    "empty": ("", "the file is empty"),
    "a list": ("[]", "must be an object with the one key 'tables'"),
    "no table": ('{"tables": {}}', "at least one table"),
    "another key": ('{"tables": {"a": {"key": "k"}}, "more": 1}', "the one key 'tables'"),
    "tables are a list": ('{"tables": []}', "the one key 'tables'"),
    "a key twice": ('{"tables": {"a": 1, "a": 2}}', "'a'"),
    "NaN": ('{"tables": {"a": {"key": "k", "rows": [{"k": "1", "x": NaN}]}}}', "NaN"),
    "nested too deep": ('{"tables": ' + '{"a":' * 200 + "1" + "}" * 200 + "}", "more than 100"),
    "a table is a text": ('{"tables": {"orders": "x"}}', "table 'orders': 'x' is no object"),
    "no key column": (table(key=None), "table 'orders': needs 'key'"),
    "an unknown word": (table(roows=[]), "table 'orders': key 'roows' is unknown"),
    "rows are an object": (table(rows={"O-1": {}}), "table 'orders': 'rows' is no list"),
    "a row is a text": (table(rows=["O-1"]), "table 'orders': row 1: 'O-1' is no object"),
    "a row without its key": (
        table(rows=[{"status": "x"}]),
        "row 1: its key 'order_id' is missing",
    ),
    "a key that is a list": (table(rows=[{"order_id": []}]), "row 1: [] is no key"),
    "a key that is true": (table(rows=[{"order_id": True}]), "row 1: True is no key"),
    "an empty key": (table(rows=[{"order_id": ""}]), "row 1: '' is no key"),
    "a key in two rows": (
        table(rows=[{"order_id": "O-1"}, {"order_id": "O-1"}]),
        "row 2: order_id 'O-1' stands twice",
    ),
    "columns that are no names": (table(columns=[1]), "'columns' is no list of names"),
    "a column that is not declared": (table(columns=["order_id"]), "does not name 'status'"),
    "a table of unknown columns": (table(rows=[]), "nothing says which columns it has"),
}


@pytest.mark.parametrize(("world", "words"), WORLDS.values(), ids=WORLDS)
def test_a_world_that_cannot_be_used_is_refused(returns: Path, world: str, words: str) -> None:
    (returns / "world.json").write_text(world)

    error = refusal(returns)

    assert words in error
    assert "world.json" in error


CELLS = {
    "no JSON": ("x", "not JSON"),
    "a list": ("[]", "no object of tables"),
    "an unknown table": (
        '{"ordres": []}',
        "the world has no table 'ordres'; did you mean 'orders'",
    ),
    "no list of rows": ('{"orders": {}}', "table 'orders' is no list of rows"),
    "an unknown column": (
        '{"orders": [{"order_id": "O-1", "state": 1}]}',
        "table 'orders', row 1: no column 'state'",
    ),
    "no key": ('{"orders": [{"status": "x"}]}', "table 'orders', row 1: its key 'order_id'"),
    "a row twice": ('{"orders": [{"order_id": 1}, {"order_id": 1}]}', "order_id 1 stands twice"),
}


@pytest.mark.parametrize(("cell", "words"), CELLS.values(), ids=CELLS)
def test_a_row_that_changes_what_is_not_there_is_refused(
    returns: Path, cell: str, words: str
) -> None:
    path = returns / "data.csv"
    quoted = cell.replace('"', '""')
    path.write_text(path.read_text().replace("T-2,O-12,,", f'T-2,O-12,"{quoted}",'))

    error = refusal(returns)

    assert words in error
    assert "data.csv, row 3" in error


STATES = {
    "no JSON": ("x", "not JSON"),
    "another key": ('{"task": "T-1", "states": {}}', "not an object with 'task' and 'state'"),
    "an unknown task": ('{"task": "T-9", "state": {}}', "the domain has no task 'T-9'"),
    "a task twice": ('{"task": "T-2", "state": {}}', "stands on a line before"),
    "an unknown column": (
        '{"task": "T-1", "state": {"orders": [{"order_id": "O-1", "x": 1}]}}',
        "no column 'x'",
    ),
    "no key, and no tool that makes one": (
        '{"task": "T-1", "state": {"orders": [{"status": "lost"}]}}',
        "its key 'order_id' is missing",
    ),
    "a task left out": ("", "no line for 1 of 5 tasks, such as 'T-1'"),
}


@pytest.mark.parametrize(("line", "words"), STATES.values(), ids=STATES)
def test_an_expected_state_that_says_nothing_is_refused(
    returns: Path, line: str, words: str
) -> None:
    path = returns / "expected_state.jsonl"
    lines = path.read_text().splitlines()
    path.write_text("\n".join([*lines[1:], line]))

    error = refusal(returns)

    assert words in error
    assert "expected_state.jsonl" in error


def tool(**keys: Any) -> dict[str, Any]:
    return {"close_order": keys}


INSERT = {"insert": "refunds", "set": {"refund_id": {"next": "R-"}}}
CLOSE = {"transition": "orders", "key": ["order_id"], "column": "status", "from": "lost", "to": "x"}
TOOLS = {
    "an unknown table": (tool(search="ordres", returns=["paid"]), "has no table 'ordres'"),
    "an unknown column": (tool(search="orders", returns=["pay"]), "has no column 'pay'"),
    "nothing to serve": (tool(search="orders"), "needs 'returns'"),
    "an unknown parameter": (
        tool(search="orders", returns=["paid"], where={"paid": {"argument": "x"}}),
        "the tool has no parameter 'x'",
    ),
    "an unknown comparison": (
        tool(search="orders", returns=["paid"], where={"paid": {"like": "x"}}),
        "'like' is no comparison",
    ),
    "in without a list": (
        tool(search="orders", returns=["paid"], where={"paid": {"in": "x"}}),
        "'in' needs a list",
    ),
    "an unknown order": (
        tool(search="orders", returns=["paid"], order_by=["-x"]),
        "has no column 'x'",
    ),
    "a word of another kind": (tool(**INSERT, many=True), "means nothing beside 'insert'"),
    "an insert without a key": (
        tool(insert="refunds", set={"amount": "1"}),
        "gives no key 'refund_id'",
    ),
    "an update of the key": (
        tool(update="orders", key=["order_id"], set={"order_id": "x"}),
        "changes the key",
    ),
    "an update of nothing": (tool(update="orders", key=["order_id"]), "needs 'set'"),
    "a transition from nowhere": (
        tool(**{name: one for name, one in CLOSE.items() if name != "from"}),
        "needs 'from'",
    ),
    "a look-up of many": (
        tool(table="orders", key={"order_id": "customer"}, returns=["paid"]),
        "does not tell the rows of the table apart",
    ),
    "a condition without words": (
        tool(**CLOSE, requires=[{"where": {"paid": "1"}}]),
        "requires[0]",
    ),
    "a condition with a stranger": (
        tool(**CLOSE, requires=[{"where": {"paid": "1"}, "error": "no", "if": 1}]),
        "'if' is unknown",
    ),
    "a condition on no row": (
        tool(**INSERT, requires=[{"where": {"amount": "1"}, "error": "no"}]),
        "needs 'table'",
    ),
    "another key's prefix": (
        tool(insert="refunds", set={"refund_id": "R", "amount": {"next": "A"}}),
        "is not the key",
    ),
}


@pytest.mark.parametrize(("entry", "words"), TOOLS.values(), ids=TOOLS)
def test_a_tool_that_cannot_work_is_refused(
    returns: Path, entry: dict[str, Any], words: str
) -> None:
    tools = json.loads((returns / "metadata.json").read_text())["tools"]
    changed(returns, tools={**tools, **entry})

    error = refusal(returns)

    assert words in error
    assert "tools.close_order" in error


KEYS = {
    "an unknown word": ({"judged": ["answer", "stat"]}, "'stat' is unknown"),
    "the state alone": ({"judged": ["state"]}, "the answer is always judged"),
    "a state that nobody judges": ({"judged": ["answer"]}, "and none is judged"),
    "an unknown table": ({"judged_state": {"x": []}}, "has no table 'x'"),
    "an unknown judged column": ({"judged_state": {"orders": ["x"]}}, "has no column 'x'"),
    "a slip": ({"judgd": ["answer"]}, "is 'judged' meant?"),
    "a rule on no table": (
        {"contract": {"rules": [{"id": "r", "state": {"table": "x", "at_most": 1}}]}},
        "no table of the world is called 'x'",
    ),
    "a rule that asks nothing": (
        {"contract": {"rules": [{"id": "r", "state": {"table": "orders"}}]}},
        "needs one of 'at_most' and 'unchanged'",
    ),
    "a rule on no column": (
        {
            "contract": {
                "rules": [{"id": "r", "state": {"table": "orders", "at_most": 1, "per": ["x"]}}]
            }
        },
        "no column of orders is called 'x'",
    ),
}


@pytest.mark.parametrize(("keys", "words"), KEYS.values(), ids=KEYS)
def test_a_key_that_says_nothing_of_the_world_is_refused(
    returns: Path, keys: dict[str, Any], words: str
) -> None:
    changed(returns, **keys)

    error = refusal(returns)

    assert words in error


def test_a_state_that_nothing_says_is_refused(returns: Path) -> None:
    (returns / "expected_state.jsonl").unlink()

    assert "nothing says which state is right" in refusal(returns)


def test_keys_of_a_world_need_one(returns: Path) -> None:
    (returns / "world.json").unlink()

    assert "key 'world_column': the domain has no world.json" in refusal(returns)


def test_an_expected_state_may_stand_in_a_column(returns: Path) -> None:
    lines = (returns / "expected_state.jsonl").read_text().splitlines()
    states = [json.dumps(json.loads(one)["state"]).replace('"', '""') for one in lines]
    head, *rows = (returns / "data.csv").read_text().splitlines()
    by_file = load_domain(returns).tasks
    told = [f'{row},"{state}"' for row, state in zip(rows, states, strict=True)]
    (returns / "data.csv").write_text("\n".join([f"{head},after", *told]))
    changed(returns, expected_state_column="after")
    both = refusal(returns)
    (returns / "expected_state.jsonl").unlink()

    by_column = load_domain(returns).tasks

    assert "both 'expected_state_column' and expected_state.jsonl" in both
    assert [one.expected_state for one in by_file] == [one.expected_state for one in by_column]
    assert [one.hash for one in by_file] == [one.hash for one in by_column]


def judging(domain: Domain) -> str:
    rules = JudgingRules(fields=domain.fields, world=domain.world, state=domain.state)
    return rules_fingerprint({domain.name: rules})


@pytest.mark.parametrize(
    ("file", "was", "now"),
    [
        pytest.param("world.json", "15.00", "16.00", id="the world"),
        pytest.param("metadata.json", '"judged":', '"judged_state": {"orders": []}, "judged":',
                     id="the tables that decide"),
    ],
)  # fmt: skip
def test_the_judging_hash_sees_what_decides(returns: Path, file: str, was: str, now: str) -> None:
    before = judging(load_domain(returns))
    path = returns / file
    path.write_text(path.read_text().replace(was, now, 1))

    assert before != judging(load_domain(returns))


def test_the_policy_is_a_part_of_the_judging_hash_where_it_says_what_is_right(
    returns: Path,
) -> None:
    (returns / "expected_state.jsonl").unlink()
    (returns / "policy.py").write_text("def decide(inputs, call): ...\n")
    before = judging(load_domain(returns))
    (returns / "policy.py").write_text("def decide(inputs, call): return {}\n")

    assert before != judging(load_domain(returns))


def test_another_expected_state_makes_another_task(returns: Path) -> None:
    before = [one.hash for one in load_domain(returns).tasks]
    path = returns / "expected_state.jsonl"
    path.write_text(path.read_text().replace("9.50", "9.51"))

    after = [one.hash for one in load_domain(returns).tasks]

    assert [True, True, False, True, True] == [
        one == other for one, other in zip(before, after, strict=True)
    ]
