"""What public folders have, and an audit must find: each kind as a small folder of our own."""

from __future__ import annotations

from typing import Any

import pytest
from parcels import spec, with_code

from tests.builders.domains import Severity, audit

# Tools that no call can reach, since nothing has their argument.

TICKETED = """
import csv, json, os, sys
from pathlib import Path

ROWS = {
    row["parcel_id"]: row
    for row in csv.DictReader((Path(__file__).parent / "data.csv").open(encoding="utf-8"))
}

class TicketManager:
    def process_tool_call(self, name, arguments):
        if name == "open_ticket":
            return {"ticket": "T-" + arguments["parcel_id"]}
        if arguments["ticket"] != "T-" + arguments["parcel_id"]:
            raise ValueError("no such ticket")
        row = ROWS[arguments["parcel_id"]]
        if name == "weigh":
            return {"weight_kg": int(row["weight_kg"])}
        return {"risk": int(row["risk"])}
"""


def ticketed(lab: Any, *others: str) -> Any:
    lab.metadata(tools=None).write(tools_py=TICKETED, policy_py=None)
    asked = {"ticket": {"type": "string"}}
    return lab.specs(
        spec("weigh", **asked), spec("screen", **asked), *(spec(name) for name in others)
    )


def test_every_tool_that_no_call_can_reach_is_warned_of(run_lab: Any) -> None:
    ticketed(run_lab)

    found = run_lab.findings("tool-not-called")

    assert {"weigh", "screen"} == {one.place.tool for one in found}
    assert {Severity.WARNING} == {one.severity for one in found}
    assert all("'ticket'" in one.what for one in found)


def test_an_argument_that_another_tool_returns_can_be_reached(run_lab: Any) -> None:
    ticketed(run_lab, "open_ticket")

    assert [] == run_lab.findings("tool-not-called")


def test_an_argument_that_the_policy_writes_can_be_reached(run_lab: Any) -> None:
    policy = (run_lab.folder / "policy.py").read_text("utf-8")
    ticketed(run_lab)
    given = 'parcel_id=inputs["parcel_id"], ticket="T-" + inputs["parcel_id"])'
    run_lab.write(policy_py=policy.replace('parcel_id=inputs["parcel_id"])', given))

    assert [] == run_lab.findings("tool-not-called")


# Columns that no agent can see make no difference between rows.


def contradicting(rows: list[dict[str, Any]]) -> None:
    """Two rows that differ in what only the office knows, and in the answer."""
    for number, row in enumerate(rows):
        row["clerk"] = f"clerk {number % 7}"
        row["closed"] = f"2026-03-{number % 28 + 1:02}"
    rows[5].update({**rows[1], "parcel_id": "L006", "clerk": "clerk 9", "closed": "2026-04-01"})
    rows[5]["outcome"] = "SHIP" if rows[1]["outcome"] != "SHIP" else "REFUSE"


def test_columns_that_no_look_up_serves_make_no_difference(lab: Any) -> None:
    lab.rows(contradicting)

    assert "2 rows (3, 7) are equal" in lab.only("contradicting-rows").what


def test_columns_that_no_tool_of_own_code_returns_make_no_difference(run_lab: Any) -> None:
    with_code(run_lab).rows(contradicting)

    assert "2 rows (3, 7) are equal" in run_lab.only("contradicting-rows").what


def test_an_id_that_is_written_otherwise_makes_a_difference(lab: Any) -> None:
    """A procedure may refuse what is no id, and an agent sees that."""

    def malformed(rows: list[dict[str, Any]]) -> None:
        contradicting(rows)
        rows[5]["parcel_id"] = "L0-06"

    lab.rows(malformed)

    assert [] == lab.findings("contradicting-rows")


def test_a_column_that_a_tool_returns_makes_a_difference(run_lab: Any) -> None:
    body = 'return {**ROWS[parcel_id], "weight_kg": int(ROWS[parcel_id]["weight_kg"])}'
    with_code(run_lab, body).rows(contradicting)

    assert [] == run_lab.findings("contradicting-rows")


def test_a_token_of_a_tool_makes_no_difference(run_lab: Any) -> None:
    """A number that a tool gives to each case says nothing of the case."""
    body = (
        'weight = int(ROWS[parcel_id]["weight_kg"])\n'
        'return {"weight_kg": weight, "ticket_id": f"T-{parcel_id}", "said": f"of {parcel_id}"}'
    )
    with_code(run_lab, body).rows(contradicting)

    assert run_lab.findings("contradicting-rows")


@pytest.mark.parametrize(
    ("code", "specs"),
    [
        pytest.param("x = 1", ("weigh", "screen"), id="code that is not run"),
        pytest.param(None, ("weigh", "screen"), id="a folder without its code"),
    ],
)
def test_of_tools_that_were_not_called_nothing_is_claimed(
    lab: Any, code: str | None, specs: tuple[str, ...]
) -> None:
    """What they would have told is not known, so each column may make the difference."""
    lab.metadata(tools=None).rows(contradicting)
    if code is not None:
        lab.write(tools_py=code)

    assert [] == lab.findings("contradicting-rows")


# What a tool answers stands among the inputs.


def test_a_result_of_a_look_up_among_the_inputs_is_told(lab: Any) -> None:
    lab.metadata(input_columns=["parcel_id", "destination", "declared_value", "weight_kg"])

    found = lab.only("result-in-input")

    assert ("weight_kg", "weigh") == (found.place.column, found.place.tool)


def test_a_result_of_own_code_among_the_inputs_is_told(run_lab: Any) -> None:
    with_code(run_lab)
    run_lab.metadata(input_columns=["parcel_id", "destination", "declared_value", "weight_kg"])

    found = run_lab.only("result-in-input")

    assert ("weight_kg", "weigh") == (found.place.column, found.place.tool)


def test_an_argument_that_a_tool_repeats_is_no_result(run_lab: Any) -> None:
    body = 'return {"destination": destination, "weight_kg": int(ROWS[parcel_id]["weight_kg"])}'
    with_code(run_lab, body, more=', destination="island"').write(policy_py=None)
    run_lab.specs(spec("weigh", destination={"type": "string"}), spec("screen"))

    assert [] == run_lab.findings("result-in-input")


# A tool that answers from the id.


def numbered(rows: list[dict[str, Any]]) -> None:
    for number, row in enumerate(rows, 1):
        row["parcel_id"] = str(number)


BY_ID = 'return {"weight_kg": int(str(parcel_id)[-1]) * 3 + 1}'


def test_a_tool_that_answers_by_short_numbers_is_told(run_lab: Any) -> None:
    """Such ids stand in any source, so that they stand there says nothing."""
    with_code(run_lab, BY_ID).rows(numbered).write(policy_py=None)
    run_lab.specs(
        spec("weigh", parcel_id={"type": "integer"}), spec("screen", parcel_id={"type": "integer"})
    )

    assert "weigh" == run_lab.only("blind-tool").place.tool


def test_a_file_that_the_code_never_opens_is_no_data_of_its_own(run_lab: Any) -> None:
    with_code(run_lab, 'return {"weight_kg": int(parcel_id[-1]) * 3 + 1}').write(policy_py=None)
    run_lab.write(test_set_without_outputs_csv="parcel_id\nL001\n", notes_json="{}")

    assert "weigh" == run_lab.only("blind-tool").place.tool


def test_an_id_that_is_no_input_is_exchanged_as_well(run_lab: Any) -> None:
    with_code(run_lab, 'return {"weight_kg": int(parcel_id[-1]) * 3 + 1}').write(policy_py=None)
    run_lab.metadata(input_columns=["destination", "declared_value"])

    assert "weigh" == run_lab.only("blind-tool").place.tool


def test_a_module_beside_the_tools_is_data_of_their_own(run_lab: Any) -> None:
    body = 'return {"kilograms": KILOGRAMS[parcel_id]}'
    top = "import sys\nsys.path.insert(0, str(Path(__file__).parent))\nfrom store import KILOGRAMS"
    with_code(run_lab, body, top=top).write(policy_py=None)
    kilograms = {f"L{number:03}": number % 40 for number in range(1, 129)}
    run_lab.write(store_py=f"KILOGRAMS = {kilograms!r}\n")

    assert [] == run_lab.findings("blind-tool")


# Methods whose body does nothing, under other names than their tools have.


@pytest.mark.parametrize("body", ["pass", "...", 'raise NotImplementedError("later")'])
def test_an_empty_method_of_another_name_than_its_tool_is_told(run_lab: Any, body: str) -> None:
    with_code(run_lab, rest=f"def _stamp(self, seal, remark):\n    {body}")
    code = (run_lab.folder / "tools.py").read_text("utf-8")
    first = '        if name == "weigh":\n'
    stamp = '        if name == "stamp":\n            return self._stamp(**arguments)\n'
    run_lab.write(tools_py=code.replace(first, f"{stamp}{first}"), policy_py=None)
    asked = {"seal": {"type": "string"}, "remark": {"type": "string"}}
    run_lab.specs(spec("weigh"), spec("screen"), spec("stamp", **asked))

    found = run_lab.only("stub")

    assert "'_stamp'" in found.what
    assert "_stamp" in (run_lab.folder / "tools.py").read_text().splitlines()[found.place.line - 1]


def test_an_empty_method_that_nothing_calls_is_no_tool(run_lab: Any) -> None:
    with_code(run_lab, rest="def _log(self):\n    pass")

    assert [] == run_lab.findings("stub")


# A tool that returns the exact text of a cell.


@pytest.mark.parametrize(
    "cells",
    [
        pytest.param(["['seal', 'lock']", "['seal']"], id="a list as Python writes it"),
        pytest.param(['{"lock": 1.50}', '{"lock": null}'], id="an object of JSON"),
        pytest.param(["5.00", "17.50"], id="numbers with their zeros"),
        pytest.param(["True", "False"], id="booleans"),
        pytest.param(["1e3", "20"], id="a number in another notation"),
        pytest.param([" open", "shut "], id="blanks beside it"),
    ],
)
def test_the_exact_text_of_a_cell_is_no_other_answer(run_lab: Any, cells: list[str]) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        for number, row in enumerate(rows):
            row["sealed"] = cells[number % 2]

    body = (
        'return {"weight_kg": int(ROWS[parcel_id]["weight_kg"]),'
        ' "sealed": ROWS[parcel_id]["sealed"]}'
    )
    with_code(run_lab, body).rows(change)

    assert [] == run_lab.findings("answer-differs")


def test_another_text_than_the_cell_has_is_another_answer(run_lab: Any) -> None:
    def change(rows: list[dict[str, Any]]) -> None:
        for number, row in enumerate(rows):
            row["sealed"] = ["['seal', 'lock']", "['seal']"][number % 2]

    body = (
        'return {"weight_kg": int(ROWS[parcel_id]["weight_kg"]),'
        ' "sealed": ROWS[parcel_id]["sealed"].replace("lock", "key")}'
    )
    with_code(run_lab, body).rows(change)

    assert "sealed" == run_lab.only("answer-differs").place.column


# A library that is not installed.


@pytest.mark.parametrize(
    ("module", "remedy"),
    [
        ("pandas", "pip install pandas; the extra 'pandas' brings it"),
        ("pandas.core", "pip install pandas; the extra 'pandas' brings it"),
        ("sklearn", "install the package that has the module 'sklearn'"),
    ],
)
@pytest.mark.parametrize("where", ["at the top", "in the method", "with an error of its own"])
def test_what_is_not_installed_is_named_wherever_it_is_imported(
    run_lab: Any, module: str, remedy: str, where: str
) -> None:
    fails = f'raise ModuleNotFoundError("No module named {module!r}", name={module!r})'
    if where == "at the top":
        with_code(run_lab, top=fails)
    elif where == "in the method":
        with_code(run_lab, fails)
    else:
        with_code(run_lab, f'raise ValueError("Error reading data: No module named {module!r}")')
    run_lab.write(policy_py=None)

    found = run_lab.findings("code-fails") + run_lab.findings("tool-fails")

    assert remedy in found[0].do


# A number of an account, which the spec says is a string.


def accounts(rows: list[dict[str, Any]]) -> None:
    for number, row in enumerate(rows):
        row["account"] = 5_501_000 + number


@pytest.fixture
def account_lab(lab: Any) -> Any:
    inputs = ["parcel_id", "destination", "declared_value", "account"]
    tools = {
        "weigh": {"key": ["parcel_id", "account"], "returns": ["weight_kg"]},
        "screen": {"key": ["parcel_id"], "returns": ["risk"]},
    }
    lab.rows(accounts).metadata(input_columns=inputs, tools=tools).write(policy_py=None)
    return lab.specs(spec("weigh", account={"type": "string"}), spec("screen"))


def test_a_number_of_a_column_that_the_spec_calls_a_string_is_told_with_its_remedy(
    account_lab: Any,
) -> None:
    found = account_lab.only("row-breaks-spec")

    assert "account" == found.place.column
    assert '"types": {"account": "text"}' in found.do


def test_the_remedy_for_such_a_column_is_one(account_lab: Any) -> None:
    account_lab.metadata(types={"account": "text"})

    assert () == audit(account_lab.folder, run_code=False).findings
