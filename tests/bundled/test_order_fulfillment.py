"""The policy of `order_fulfillment` says what OD-7 says: worked out by hand, clause by clause.

A fresh reader decided thirty rows from the text alone, and agreed with the labels on all of them.
"""

from __future__ import annotations

import csv
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

import pytest_sopbench
from pytest_sopbench.errors import ToolError

FOLDER = Path(pytest_sopbench.__file__).parent / "bundled" / "order_fulfillment"
REJECT = ("REJECT", [])
HOLD = ("HOLD", [])
MAN, HFD, NWK = (("FULFIL", [code]) for code in ("MAN", "HFD", "NWK"))
STOCK = {"HFD": (30, 0, 0), "MAN": (30, 0, 0), "NWK": (30, 0, 0)}
PICKUPS = {"HFD": "15:00", "MAN": "15:00", "NWK": "15:00"}


def order(**cells: Any) -> dict[str, Any]:
    """Ten pieces to a town in New Hampshire, received at nine; nothing stands against it."""
    return {
        "order_id": "SO-200001",
        "customer_id": "C000001",
        "article": "0040-001",
        "quantity": 10,
        "order_value": 100.0,
        "payment": "account",
        "priority": "standard",
        "backorder": "no",
        "ship_to_zip": "03060",
        "ship_day": "2026-03-09",
        "received_at": "09:00",
        "note": None,
        "standing": "good",
        "open_balance": 0.0,
        "credit_limit": 1_000,
        "days_overdue": 0,
        "pack_size": 1,
        "stock": STOCK,
        "pickups": PICKUPS,
        "reservation": "confirmed",
        **cells,
    }


def answers(case: Mapping[str, Any]) -> dict[str, Any]:
    packs = ("on_hand", "allocated", "quarantine")
    stock = {place: dict(zip(packs, of, strict=True)) for place, of in case["stock"].items()}
    account = {
        name: case[name] for name in ("standing", "open_balance", "credit_limit", "days_overdue")
    }
    return {
        "get_account": account if case["standing"] else None,
        "get_stock": {"pack_size": case["pack_size"], "warehouses": stock},
        "get_pickup_schedule": {
            "schedule": dict.fromkeys(("Bay", "North", "Sound", "Jersey"), case["pickups"])
        },
        "reserve_stock": {"reservation": case["reservation"]},
    }


def work(order_fulfillment: Any, case: Mapping[str, Any]) -> tuple[tuple[str, list[str]], Any]:
    calls: list[tuple[str, dict[str, Any]]] = []

    def call(name: str, /, **arguments: Any) -> Any:
        calls.append((name, arguments))
        if answers(case)[name] is None:
            raise ToolError(name)
        return answers(case)[name]

    answer = order_fulfillment.decide(case, call)
    return (answer["decision"], answer["ship_from"]), calls


FULL = {"HFD": (10, 0, 0), "MAN": (10, 0, 0), "NWK": (10, 0, 0)}  # one short, for the counter


@pytest.mark.parametrize(
    ("cells", "expected"),
    [
        pytest.param({}, MAN, id="7.2-home-of-the-north"),
        pytest.param({"ship_to_zip": "00999"}, REJECT, id="3.3-below-the-area"),
        pytest.param({"ship_to_zip": "01000"}, MAN, id="3.1-first-of-the-bay"),
        pytest.param({"ship_to_zip": "06000"}, HFD, id="3.1-first-of-the-sound"),
        pytest.param({"ship_to_zip": "05999"}, MAN, id="3.1-last-of-the-north"),
        pytest.param({"ship_to_zip": "07000"}, NWK, id="3.1-first-of-jersey"),
        pytest.param({"ship_to_zip": "08999"}, NWK, id="3.1-last-of-jersey"),
        pytest.param({"ship_to_zip": "09000"}, REJECT, id="3.3-above-the-area"),
        pytest.param({"ship_to_zip": "06390"}, REJECT, id="3.2-fishers-island"),
        pytest.param({"standing": "blocked"}, REJECT, id="4.2-blocked"),
        pytest.param({"standing": "blocked", "payment": "prepaid"}, REJECT, id="4.2-even-prepaid"),
        pytest.param({"standing": None}, HOLD, id="4.3-no-account"),
        pytest.param({"standing": None, "payment": "prepaid"}, MAN, id="4.3-prepaid-needs-none"),
        pytest.param({"days_overdue": 30}, MAN, id="4.4-good-30-days"),
        pytest.param({"days_overdue": 31}, HOLD, id="4.4-good-31-days"),
        pytest.param({"standing": "watch", "days_overdue": 10}, MAN, id="4.4-watch-10-days"),
        pytest.param({"standing": "watch", "days_overdue": 11}, HOLD, id="4.4-watch-11-days"),
        pytest.param({"open_balance": 900.0}, MAN, id="4.4-at-the-limit"),
        pytest.param({"open_balance": 900.01}, HOLD, id="4.4-a-cent-above"),
        pytest.param({"standing": "watch", "open_balance": 700.0}, MAN, id="4.4-at-80-percent"),
        pytest.param({"standing": "watch", "open_balance": 700.01}, HOLD, id="4.4-above-80"),
        pytest.param({"priority": "medical", "days_overdue": 60}, MAN, id="4.5-60-days"),
        pytest.param({"priority": "medical", "days_overdue": 61}, HOLD, id="4.5-61-days"),
        pytest.param({"priority": "medical", "open_balance": 950.0}, HOLD, id="4.5-only-days"),
        pytest.param({"payment": "prepaid", "days_overdue": 99}, MAN, id="4.6-prepaid"),
        pytest.param({"quantity": 87}, ("HOLD", []), id="7.5-all-three-would-be-needed"),
        pytest.param({"quantity": 88}, REJECT, id="5.4-less-than-all-there-is"),
        pytest.param({"quantity": 88, "backorder": "yes"}, HOLD, id="5.4-backorder"),
        pytest.param({"quantity": 88, "priority": "medical"}, HOLD, id="5.3-medical-has-90"),
        pytest.param({"stock": FULL, "priority": "medical"}, MAN, id="5.3-medical-counter-pack"),
        pytest.param(
            {"stock": FULL}, ("SPLIT", ["HFD", "MAN"]), id="5.3-the-counter-keeps-its-pack"
        ),
        pytest.param(
            {"stock": {**STOCK, "MAN": (3, 9, 0)}, "quantity": 29}, HFD, id="5.3-below-zero-is-zero"
        ),
        pytest.param(
            {"stock": {**STOCK, "MAN": (4, 0, 1)}, "pack_size": 5}, MAN, id="5.3-packs-and-pieces"
        ),
        pytest.param({"received_at": "13:30"}, MAN, id="6.3-ready-at-the-pickup"),
        pytest.param({"received_at": "13:31"}, HOLD, id="6.4-a-minute-late"),
        pytest.param({"received_at": "14:15", "priority": "express"}, MAN, id="6.2-express"),
        pytest.param({"received_at": "14:16", "priority": "express"}, HOLD, id="6.2-too-late"),
        pytest.param(
            {"received_at": "13:30", "quantity": 50, "stock": {**STOCK, "MAN": (60, 0, 0)}},
            MAN,
            id="6.2-50-pieces",
        ),
        pytest.param(
            {"received_at": "13:30", "quantity": 51, "stock": {**STOCK, "MAN": (60, 0, 0)}},
            HOLD,
            id="6.2-51-pieces",
        ),
        pytest.param(
            {"received_at": "12:30", "ship_to_zip": "02554"}, MAN, id="6.3-island-in-time"
        ),
        pytest.param(
            {"received_at": "12:31", "ship_to_zip": "02584"}, HOLD, id="6.3-island-too-late"
        ),
        pytest.param({"pickups": {**PICKUPS, "MAN": None}}, HFD, id="6.1-no-carrier-goes"),
        pytest.param(
            {"stock": {**STOCK, "MAN": (5, 0, 0), "NWK": (31, 0, 0)}}, NWK, id="7.2-most-available"
        ),
        pytest.param({"stock": {**STOCK, "MAN": (5, 0, 0)}}, HFD, id="7.2-alphabet"),
        pytest.param(
            {"priority": "express", "pickups": {**PICKUPS, "NWK": "14:59"}},
            NWK,
            id="7.3-earliest-pickup",
        ),
        pytest.param(
            {"priority": "express", "pickups": {"HFD": "14:00", "MAN": "15:00", "NWK": "14:00"}},
            HFD,
            id="7.3-shared-earliest",
        ),
        pytest.param(
            {"quantity": 40, "stock": {**STOCK, "NWK": (33, 0, 0)}},
            ("SPLIT", ["NWK", "HFD"]),
            id="7.4-most-first",
        ),
        pytest.param({"quantity": 40, "order_value": 75.0}, ("SPLIT", ["HFD", "MAN"]), id="7.5-75"),
        pytest.param({"quantity": 40, "order_value": 74.99}, HOLD, id="7.5-below-75"),
        pytest.param(
            {"quantity": 40, "order_value": 9.0, "priority": "express"},
            ("SPLIT", ["HFD", "MAN"]),
            id="7.5-express-of-any-value",
        ),
        pytest.param(
            {"quantity": 40, "priority": "medical", "ship_to_zip": "02564"},
            HOLD,
            id="7.5-never-for-the-island",
        ),
        pytest.param({"reservation": "refused"}, HOLD, id="8.2-refused"),
    ],
)
def test_policy_follows_the_clause(
    order_fulfillment: Any, cells: dict[str, Any], expected: tuple[str, list[str]]
) -> None:
    actual, _ = work(order_fulfillment, order(**cells))

    assert expected == actual


def test_an_order_is_worked_in_the_order_of_the_sheet(order_fulfillment: Any) -> None:
    _, calls = work(order_fulfillment, order())

    assert ["get_account", "get_stock", "get_pickup_schedule", "reserve_stock"] == [
        name for name, _ in calls
    ]


@pytest.mark.parametrize(
    ("cells", "asked"),
    [
        pytest.param({"ship_to_zip": "06390"}, 0, id="3.3-nobody"),
        pytest.param({"standing": "blocked"}, 1, id="4.2-the-credit-office-alone"),
        pytest.param({"quantity": 88}, 2, id="5.4-no-schedule"),
        pytest.param({"received_at": "16:00"}, 3, id="8.3-no-reservation"),
    ],
)
def test_what_ended_the_matter_is_the_last_that_is_asked(
    order_fulfillment: Any, cells: dict[str, Any], asked: int
) -> None:
    _, calls = work(order_fulfillment, order(**cells))

    assert asked == len(calls)


def test_a_split_gives_all_of_one_and_the_rest_of_the_other(order_fulfillment: Any) -> None:
    stock = {**STOCK, "NWK": (33, 0, 0)}

    _, calls = work(order_fulfillment, order(quantity=40, stock=stock))

    assert calls[-1][1]["parcels"] == [
        {"warehouse": "NWK", "pieces": 32},
        {"warehouse": "HFD", "pieces": 8},
    ]


def test_zip_codes_keep_their_zeros() -> None:
    """In the file and in what an agent is given."""
    with (FOLDER / "data.csv").open(encoding="utf-8", newline="") as file:
        rows = list(csv.DictReader(file))

    assert all(row["ship_to_zip"].startswith("0") for row in rows)
    assert {5} == {len(row["ship_to_zip"]) for row in rows}
