"""The world of a run, held against a small model of it that knows nothing of ours."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from dataclasses import replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

import pytest_sopbench
from pytest_sopbench import Domain, Task
from pytest_sopbench._core.model.world import (
    StateChange,
    World,
    changes_between,
    end_rows,
    row_change,
)
from pytest_sopbench._core.values.json import JsonValue, same_json
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._running.tools.domain_code import load_manager_factory
from pytest_sopbench._running.tools.toolbox import Toolbox, ToolboxFactory
from pytest_sopbench.errors import ToolError, ToolSpecError
from tests.builders.pages import write_returns


@pytest.fixture(scope="module")
def returns(tmp_path_factory: pytest.TempPathFactory) -> Domain:
    """The domain of the how-to page."""
    folder = tmp_path_factory.mktemp("world")
    write_returns(folder)
    return load_domain(folder / "domains" / "returns")


@pytest.fixture(scope="module")
def ledger() -> Domain:
    """A bundled domain whose tools are code."""
    return load_domain(Path(pytest_sopbench.__file__).parent / "bundled" / "order_fulfillment")


def opened(domain: Domain, task: Task | None = None) -> Toolbox:
    code = load_manager_factory(domain) if domain.tools_file else None
    box = ToolboxFactory(domain, code)
    return box.open(task or domain.tasks[0], max_calls=1_000, clock=lambda: 0.0)


def rows_at_end(domain: Domain, task: Task, changes: Sequence[StateChange]) -> dict[str, Any]:
    """What the changes make of the rows with which the run began."""
    assert domain.world is not None
    tables: dict[str, Any] = domain.world.tables(task.world)
    for table, rows in end_rows(domain.world, task.world, changes).items():
        for key, row in rows.items():
            if row is None:
                tables[table].pop(key, None)
            else:
                tables[table][key] = dict(row)
    return tables


# A model of the four tools of the page, written down as plain code.


class Model:
    def __init__(self, orders: Sequence[Mapping[str, str]], refunds: Sequence[str]) -> None:
        self.orders = {one["order_id"]: dict(one) for one in orders}
        self.refunds = {one: {"refund_id": one, "order_id": "?", "amount": "0"} for one in refunds}

    def get_order(self, order_id: str) -> Any:
        row = self.orders[order_id]
        return {name: row[name] for name in ("customer", "status", "paid")}

    def find_refunds(self, order_id: str) -> Any:
        found = [one for one in self.refunds.values() if one["order_id"] == order_id]
        found.sort(key=lambda one: one["refund_id"], reverse=True)
        return [{name: one[name] for name in ("refund_id", "amount")} for one in found]

    def refund_order(self, order_id: str, amount: str) -> Any:
        self.orders[order_id]
        numbers = [int(one[2:]) for one in self.refunds if one.startswith("R-")]
        key = f"R-{max(numbers, default=0) + 1}"
        self.refunds[key] = {"refund_id": key, "order_id": order_id, "amount": amount}
        return {"refund_id": key}

    def close_order(self, order_id: str) -> Any:
        if self.orders[order_id]["status"] not in {"lost", "late"}:
            raise KeyError(order_id)
        self.orders[order_id]["status"] = "closed"
        return {}

    def call(self, name: str, arguments: Mapping[str, str]) -> Any:
        try:
            return getattr(self, name)(**arguments)
        except (KeyError, TypeError):
            return "failed"


IDS = st.sampled_from(["O-1", "O-2", "O-3", "O-4"])
ORDERS = st.lists(
    st.fixed_dictionaries(
        {
            "order_id": IDS,
            "customer": st.just("C-1"),
            "status": st.sampled_from(["lost", "late", "delivered", "closed"]),
            "paid": st.sampled_from(["1.00", "2.50"]),
        }
    ),
    max_size=4,
    unique_by=lambda one: one["order_id"],
)
REFUNDS = st.lists(st.sampled_from(["R-1", "R-2", "R-9", "R-10"]), max_size=3, unique=True)
CALLS = st.lists(
    st.one_of(
        st.tuples(st.sampled_from(["get_order", "find_refunds", "close_order"]), IDS).map(
            lambda one: (one[0], {"order_id": one[1]})
        ),
        st.tuples(IDS, st.sampled_from(["1.00", "9"])).map(
            lambda one: ("refund_order", {"order_id": one[0], "amount": one[1]})
        ),
        st.just(("refund_order", {"order_id": "O-1"})),
        st.just(("close_order", {})),
    ),
    max_size=8,
)


@given(ORDERS, REFUNDS, CALLS)
@settings(max_examples=300, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_tools_do_what_a_model_of_them_does(
    returns: Domain,
    orders: list[dict[str, str]],
    refunds: list[str],
    calls: list[tuple[str, dict[str, str]]],
) -> None:
    model = Model(orders, refunds)
    world = World(
        keys={"orders": "order_id", "refunds": "refund_id"},
        rows={
            "orders": {one["order_id"]: dict(one) for one in orders},
            "refunds": {key: dict(row) for key, row in model.refunds.items()},
        },
    )
    domain = replace(returns, world=world)
    box, neighbour = opened(domain), opened(domain)

    found: list[Any] = []
    for name, arguments in calls:
        try:
            found.append(box.tools.call(name, **arguments))
        except ToolError:
            found.append("failed")

    assert [model.call(name, arguments) for name, arguments in calls] == found
    assert box.state is not None
    ends = rows_at_end(domain, domain.tasks[0], box.state)
    assert {"orders": model.orders, "refunds": model.refunds} == ends
    # No other run has seen any of it, nor has the domain.
    assert () == neighbour.state
    assert {one["order_id"]: one for one in orders} == world.rows["orders"]


def in_turn(
    domain: Domain, calls: Sequence[tuple[int, tuple[str, Any]]]
) -> dict[int, tuple[list[Any], Any]]:
    """What runs of one task are answered, and what each leaves; a call says whose it is."""
    factory = ToolboxFactory(domain, load_manager_factory(domain) if domain.tools_file else None)
    boxes: dict[int, Toolbox] = {}
    answers: dict[int, list[Any]] = {}
    for run, (name, arguments) in calls:
        if run not in boxes:
            boxes[run] = factory.open(domain.tasks[0], max_calls=1_000, clock=lambda: 0.0)
        try:
            answers.setdefault(run, []).append(boxes[run].tools.call(name, **arguments))
        except ToolError as error:
            answers.setdefault(run, []).append(str(error))
    return {run: (answers[run], box.state) for run, box in boxes.items()}


RUNS = st.integers(0, 2)
DESK_CALLS = st.one_of(
    st.tuples(st.sampled_from(["get_order", "find_refunds", "close_order"]), IDS).map(
        lambda one: (one[0], {"order_id": one[1].replace("-", "-1")})
    ),
    st.just(("refund_order", {"order_id": "O-12", "amount": "1.00"})),
)
PARCELS = st.lists(
    st.fixed_dictionaries(
        {"warehouse": st.sampled_from(["HFD", "MAN", "NWK"]), "pieces": st.integers(1, 90)}
    ),
    min_size=1,
    max_size=2,
)


@given(st.lists(st.tuples(RUNS, DESK_CALLS), max_size=9))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_runs_never_see_one_anothers_world(returns: Domain, calls: list[Any]) -> None:
    together = in_turn(returns, calls)

    for run, found in together.items():
        assert {run: found} == in_turn(returns, [one for one in calls if one[0] == run])


@given(st.lists(st.tuples(RUNS, st.one_of(st.none(), PARCELS)), max_size=9))
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_runs_never_see_one_anothers_world_through_code(
    ledger: Domain, asked: list[tuple[int, Any]]
) -> None:
    task = ledger.tasks[0]
    article = {"article": task.inputs["article"]}
    reserve = {**article, "order_id": task.id}
    calls = [
        (
            run,
            ("get_stock", article)
            if one is None
            else ("reserve_stock", reserve | {"parcels": one}),
        )
        for run, one in asked
    ]
    together = in_turn(ledger, calls)

    for run, found in together.items():
        assert {run: found} == in_turn(ledger, [one for one in calls if one[0] == run])


def test_every_change_names_the_step_that_made_it(returns: Domain) -> None:
    box = opened(returns)

    box.tools.call("get_order", order_id="O-12")
    box.tools.call("refund_order", order_id="O-12", amount="40.00")
    box.tools.call("close_order", order_id="O-12")

    told = [(one.step, one.table, one.key, one.before, one.after) for one in box.state or ()]
    refund = {"refund_id": "R-2", "order_id": "O-12", "amount": "40.00"}
    assert [
        (2, "refunds", "R-2", None, refund),
        (3, "orders", "O-12", {"status": "lost"}, {"status": "closed"}),
    ] == told


def test_a_task_adds_rows_that_no_other_task_has(returns: Domain) -> None:
    fourth = next(one for one in returns.tasks if one.id == "T-4")

    assert "lost" == opened(returns, fourth).tools.execute_tool(
        "get_order", {"order_id": "O-14"}
    ).get("status")
    assert "error" in opened(returns).tools.execute_tool("get_order", {"order_id": "O-14"})


def test_what_is_served_is_no_way_into_the_world(returns: Domain) -> None:
    box = opened(returns)

    order: Any = box.tools.call("get_order", order_id="O-12")
    order["status"] = "stolen"

    assert "lost" == box.tools.execute_tool("get_order", {"order_id": "O-12"})["status"]
    assert () == box.state


def test_nothing_is_changed_once_the_run_is_over(returns: Domain) -> None:
    box = opened(returns)
    tools = box.tools
    box.close()

    with pytest.raises(ToolError, match="over"):
        tools.call("close_order", order_id="O-12")

    assert () == box.state


def test_calls_at_the_same_time_are_served_one_after_another(returns: Domain) -> None:
    box = opened(returns)

    with ThreadPoolExecutor(8) as pool:
        paid = pool.map(
            lambda number: box.tools.call("refund_order", order_id="O-12", amount=str(number)),
            range(40),
        )
        keys = {str(one["refund_id"]) for one in paid if isinstance(one, dict)}

    assert {f"R-{number}" for number in range(2, 42)} == keys
    assert 40 == len(box.state or ())


def test_calls_of_an_event_loop_are_served_one_after_another(returns: Domain) -> None:
    box = opened(returns)

    async def all_at_once() -> list[JsonValue]:
        calls = [box.tools.acall("refund_order", order_id="O-12", amount="1") for _ in range(20)]
        return await asyncio.gather(*calls)

    keys = {json.dumps(one) for one in asyncio.run(all_at_once())}

    assert (20, 20) == (len(keys), len(box.state or ()))


# The diff of two states.

VALUES = st.recursive(
    st.none() | st.booleans() | st.integers(-2, 2) | st.sampled_from([0.0, 1.0, "", "1", "a"]),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(st.just("k"), inner, max_size=1),
    max_leaves=3,
)
ROWS = st.dictionaries(st.sampled_from(["a", "b", "c"]), VALUES, max_size=3)
TABLES = st.fixed_dictionaries(
    {name: st.dictionaries(st.sampled_from(["k1", "k2", 3]), ROWS, max_size=3) for name in "xy"}
)


@given(TABLES, TABLES)
@settings(max_examples=300)
def test_the_diff_is_empty_exactly_where_the_states_are_equal(one: Any, other: Any) -> None:
    changes = list(changes_between(one, other, 1))

    as_json = [
        {
            name: [[key, row] for key, row in sorted(rows.items(), key=str)]
            for name, rows in t.items()
        }
        for t in (one, other)
    ]
    assert same_json(*as_json) == (not changes)
    assert [] == list(changes_between(one, one, 1))


@given(TABLES, TABLES)
def test_a_diff_leads_from_one_state_to_the_other(one: Any, other: Any) -> None:
    world = World(keys={"x": "a", "y": "a"}, rows=one)
    ends = end_rows(world, {}, list(changes_between(one, other, 1)))

    for table, rows in other.items():
        for key in {*one[table], *rows}:
            row = ends.get(table, {}).get(key, one[table].get(key))
            wanted = rows.get(key)
            assert (row is None) == (wanted is None)
            assert wanted is None or row_change(row, wanted) is None


# Tools with code.

CODE = """
import os
class DeskManager:
    def __init__(self, world, row):
        self.world, self.orders = world, world["orders"]
    def process_tool_call(self, name, arguments):
        order = self.orders.get(arguments.get("order_id"))
        {body}
"""
BODIES = {
    "raises": "order['status'] = 'gone'; self.orders['X'] = {}; raise ValueError('no')",
    "exits": "order['status'] = 'gone'; raise SystemExit(0)",
    "drops a table": "del self.world['refunds']",
    "adds a table": "self.world['more'] = {}",
    "replaces a table": "self.world['orders'] = [1]",
    "replaces a row": "self.orders['O-12'] = 'gone'",
    "changes a key": "order['order_id'] = 'O-77'",
    "adds a row under another key": "self.orders['O-78'] = {'order_id': 'O-77'}",
    "adds a row without a key": "self.orders['O-78'] = {}",
    "adds a key that is no text": "self.orders[True] = {'order_id': True}",
    "writes what JSON has no word for": "order['status'] = {1, 2}",
    "writes a decimal": "import decimal; order['status'] = decimal.Decimal(0)",
    "writes a tuple": "order['status'] = (1, 2)",
    "writes NaN": "order['paid'] = float('nan')",
    "writes itself": "order['self'] = order",
    "empties the world": "self.world.clear()",
    "says more than a call hands over": "order['status'] = 'gone'; return 'x' * 50_000_000",
}


@pytest.mark.parametrize("body", BODIES.values(), ids=BODIES)
def test_code_that_fails_changes_nothing_and_holds_its_rows_still(
    returns: Domain, tmp_path: Path, body: str
) -> None:
    path = tmp_path / "tools.py"
    lines = f"if arguments.get('wrong'):\n            {body}\n        else:\n"
    rest = "            order['status'] = 'closed'\n        return dict(order)"
    path.write_text(CODE.format(body=f"{lines}{rest}"))
    box = opened(replace(returns, world_tools={}, lookups={}, tools_file=path))

    failed = box.tools.execute_tool("close_order", {"order_id": "O-12", "wrong": 1})
    state, seen = box.state, box.tools.execute_tool("close_order", {"order_id": "O-12"})

    assert "error" in failed
    assert () == state
    assert "closed" == seen["status"]
    assert [("O-12", {"status": "lost"}, {"status": "closed"})] == [
        (one.key, one.before, one.after) for one in box.state or ()
    ]


AT_ITS_OWN_TIME = """
import threading
class DeskManager:
    def __init__(self, world):
        self.world, self.go, self.done = world, threading.Event(), threading.Event()
    def process_tool_call(self, name, arguments):
        order = self.world["orders"]["O-12"]
        if name == "close_order":
            threading.Thread(target=self.pay, args=(order,), daemon=True).start()
            return "soon"
        if arguments.get("order_id") == "wrong":
            order["status"] = "gone"
            raise ValueError("no")
        return dict(order)
    def pay(self, order):
        self.go.wait(60)
        order["paid"] = "99"
        self.done.set()
"""


def later(returns: Domain, tmp_path: Path) -> Toolbox:
    """A desk that has begun to pay, and does so once no call is at work."""
    path = tmp_path / "tools.py"
    path.write_text(AT_ITS_OWN_TIME)
    box = opened(replace(returns, world_tools={}, lookups={}, tools_file=path))
    manager: Any = box._manager
    assert "soon" == box.tools.call("close_order", order_id="O-12")
    manager.go.set()
    assert manager.done.wait(60)
    return box


@pytest.mark.parametrize("fails", [False, True], ids=["at once", "after a call that failed"])
def test_what_code_changes_between_two_calls_counts_with_the_next_that_succeeds(
    returns: Domain, tmp_path: Path, fails: bool
) -> None:
    box = later(returns, tmp_path)

    failed = box.tools.execute_tool("get_order", {"order_id": "wrong"}) if fails else {}
    seen = box.tools.call("get_order", order_id="O-12")

    assert fails is ("error" in failed)
    assert isinstance(seen, dict)
    assert ("99", "lost") == (seen["paid"], seen["status"])
    assert [(3 if fails else 2, "O-12", {"paid": "99"})] == [
        (one.step, one.key, one.after) for one in box.state or ()
    ]


def test_what_code_changes_after_the_last_call_counts_with_it(
    returns: Domain, tmp_path: Path
) -> None:
    box = later(returns, tmp_path)

    box.close()

    assert [(1, "O-12", {"paid": "99"})] == [
        (one.step, one.key, one.after) for one in box.state or ()
    ]


def test_a_world_that_code_has_broken_between_two_calls_is_not_known(
    returns: Domain, tmp_path: Path
) -> None:
    box = later(returns, tmp_path)
    world: Any = box._manager
    world.world["orders"]["O-12"] = "gone"

    failed = box.tools.execute_tool("get_order", {"order_id": "O-13"})
    box.close()

    assert "its tools.py left the world unsound" in str(failed["error"])
    assert box.state is None


@pytest.mark.parametrize(
    "change",
    ["world['orders']['O-12']['paid'] = '0'", "world['more'] = {}"],
    ids=["a row", "a table"],
)
def test_a_manager_that_changes_the_world_as_it_is_made_is_an_error_of_the_domain(
    returns: Domain, tmp_path: Path, change: str
) -> None:
    path = tmp_path / "tools.py"
    path.write_text(AT_ITS_OWN_TIME.replace("self.world, ", f"{change}; self.world, ", 1))

    with pytest.raises(ToolSpecError, match=r"tools\.py: its constructor changes the world"):
        opened(replace(returns, world_tools={}, lookups={}, tools_file=path))


def test_code_and_tools_without_code_share_a_world(returns: Domain, tmp_path: Path) -> None:
    path = tmp_path / "tools.py"
    body = "del self.orders['O-11']; self.orders['O-99'] = {'order_id': 'O-99', 'status': 'late'}"
    path.write_text(CODE.format(body=f"{body}; return 1"))
    tools = {name: one for name, one in returns.world_tools.items() if name != "refund_order"}
    box = opened(replace(returns, world_tools=tools, tools_file=path))

    box.tools.call("refund_order", order_id="O-11", amount="1")

    assert {} == box.tools.call("close_order", order_id="O-99")
    assert "error" in box.tools.execute_tool("get_order", {"order_id": "O-11"})
    assert [(1, "O-11", False), (1, "O-99", True), (2, "O-99", True)] == [
        (one.step, one.key, one.after is not None) for one in box.state or ()
    ]
