"""Messy cases: irregularities that decide and others, and what was measured of them."""

from __future__ import annotations

import csv
import json
import re
from collections.abc import Callable
from pathlib import Path

import pytest
from click.testing import Result
from drafting_model import OTHER_POLICY, POLICY, SOP, TOOLS, WITH_MODEL, DraftingModel

from pytest_sopbench._drafting.asking import UnusableError
from pytest_sopbench._drafting.cases import weigh
from pytest_sopbench._drafting.policies import Texts
from pytest_sopbench._drafting.shape import ID, Row, read_shape

Drafts = Callable[..., Result]
SHAPE = read_shape(TOOLS)
BOTH = {"price", "days_late"}
NOTHING: set[str] = set()
ORDINARY: Row = {
    ID: "C-1",
    "order_id": "O-1",
    "member": False,
    "price": 200,
    "days_late": 8,
    "carrier": "Velo",
}


@pytest.mark.parametrize(
    ("change", "irregular", "deciding"),
    [
        pytest.param({}, NOTHING, NOTHING, id="nothing"),
        pytest.param(
            {"price": 80, "days_late": 3}, {"price", "days_late"}, {"price", "days_late"}, id="two"
        ),
        pytest.param(
            {"price": 80, "days_late": 1}, {"price", "days_late"}, {"days_late"}, id="one"
        ),
        pytest.param({"price": 80.01, "days_late": 8}, {"price"}, {"price"}, id="beside"),
        pytest.param(
            {"price": None, "days_late": None, "carrier": None},
            {"get_order"},
            {"get_order"},
            id="no record",
        ),
    ],
)
def test_an_irregular_value_decides_if_the_policy_does_otherwise_without_it(
    change: Row, irregular: set[str], deciding: set[str]
) -> None:
    texts = Texts(sop=SOP, shape=SHAPE)
    row = {**ORDINARY, **change}

    weighed, *_ = weigh(texts, POLICY, [row, {**ORDINARY, ID: "C-2", "order_id": "O-2"}])

    assert irregular == weighed.irregular
    assert deciding == weighed.irregular & weighed.decides
    assert "carrier" not in weighed.decides


def test_a_score_of_few_values_is_not_irregular_and_no_noise() -> None:
    columns = [dict(one) for one in TOOLS["columns"]]
    columns[3].update(low=0, high=4)
    texts = Texts(sop=SOP, shape=read_shape({**TOOLS, "columns": columns}))
    policy = POLICY.replace(">= 15", ">= 4").replace("<= 2", "in (0, 1, 2)")
    row = {**ORDINARY, "days_late": 2}

    weighed, *_ = weigh(texts, policy, [row])

    assert NOTHING == weighed.irregular
    assert "days_late" in weighed.decides


def test_odd_values_of_a_column_come_into_rows_and_the_policies_label_them(
    model: DraftingModel, drafts: Drafts, folder: Path
) -> None:
    model.writer.tools = json.dumps(with_odd("days_late", [-1]))

    result = drafts(*WITH_MODEL)

    with (folder / "data.csv").open(encoding="utf-8", newline="") as stream:
        rows = [*csv.DictReader(stream)]
    odd = [one["decision"] for one in rows if one["days_late"] == "-1"]
    told = re.search(r"([0-9]+) of ([0-9]+) rows have two irregularities", result.stdout)
    assert 0 == result.exit_code, result.output
    assert odd
    assert {"nothing"} == {*odd}
    assert "decide (30% asked for)" in result.stdout
    assert "1 irregular of about 3" in " ".join(result.stdout.split())
    assert told is not None
    assert int(told[1]) >= 4
    assert "noise, which decides no row: carrier" in result.stdout


def test_an_odd_value_that_the_procedure_leaves_open_becomes_a_card(
    model: DraftingModel, drafts: Drafts, folder: Path
) -> None:
    """Two readers take it differently, and there is no row with it."""
    model.writer.tools = json.dumps(with_odd("days_late", [-1]))
    model.writer.policy_b = OTHER_POLICY.replace(
        '    if not order["days_late"] > 2:',
        '    if order["days_late"] < 0:\n        return {"decision": "person"}  # clause 3.1\n'
        '    if not order["days_late"] > 2:',
    )

    drafts(*WITH_MODEL)

    (card,) = json.loads((folder / "drafting" / "cards.json").read_text("utf-8"))
    assert -1 == card["inputs"]["days_late"]
    assert {"a": "decision nothing", "b": "decision person"} == card["readings"]
    assert ",-1," not in (folder / "data.csv").read_text("utf-8")


@pytest.mark.parametrize(
    ("column", "value"),
    [("days_late", "soon"), ("carrier", 7), ("member", "perhaps"), ("order_id", "none")],
)
def test_an_odd_value_of_another_type_is_sent_back(column: str, value: object) -> None:
    with pytest.raises(UnusableError, match=f"column '{column}': the odd value"):
        read_shape(with_odd(column, [value]))


def with_odd(column: str, values: list[object]) -> dict[str, object]:
    columns = [{**one, "odd": values} if one["name"] == column else one for one in TOOLS["columns"]]
    return {**TOOLS, "columns": columns}
