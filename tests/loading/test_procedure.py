"""The contract and the expected calls of a domain folder, and what is said of wrong ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._core.model.trajectory import ExpectedCall
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench.errors import LoadingError, RowError

MakeDomain = Callable[..., Path]

LIGHT = {"id": "light", "when": {"result": "weight", "below": 5}, "forbids": ["weigh_parcel"]}


def call(parcel: str, tool: str = "weigh_parcel") -> dict[str, Any]:
    return {"name": tool, "arguments": {"parcel_id": parcel}}


def line(task: str, *calls: dict[str, Any]) -> str:
    return json.dumps({"task": task, "calls": calls})


def test_a_contract_is_read_from_the_metadata(make_domain: MakeDomain) -> None:
    domain = load_domain(make_domain(contract={"rules": [LIGHT]}))

    assert domain.contract is not None
    assert ["light"] == [rule.id for rule in domain.contract.rules]
    assert () == domain.warnings


def test_a_domain_without_one_has_none(make_domain: MakeDomain) -> None:
    domain = load_domain(make_domain())

    assert None is domain.contract
    assert {} == domain.expected_calls


def test_a_contract_may_stand_in_toml(make_domain: MakeDomain) -> None:
    toml = """
        name = "parcels"
        output_columns = ["route"]
        input_columns = ["parcel_id", "label"]
        [tools.weigh_parcel]
        key = ["parcel_id"]
        returns = ["weight"]
        [[contract.rules]]
        id = "once"
        clause = "1"
        at_most = {weigh_parcel = 1}
    """

    domain = load_domain(make_domain({"metadata.json": None, "domain.toml": toml}))

    assert domain.contract is not None
    assert ["1"] == [rule.clause for rule in domain.contract.rules]


def test_a_rule_that_cannot_be_used_names_the_file(make_domain: MakeDomain) -> None:
    folder = make_domain(contract={"rules": [{**LIGHT, "forbids": ["weigh"]}]})

    with pytest.raises(LoadingError, match="rule 'light', forbids: no tool is called 'weigh'") as f:
        load_domain(folder)

    assert (folder / "metadata.json", "contract") == (f.value.path, f.value.column)


def test_a_row_that_a_condition_cannot_read_is_refused(make_domain: MakeDomain) -> None:
    """Else the rule would be switched off on that row, unsaid."""
    rule = {**LIGHT, "when": {"input": "label", "at_least": 3}}

    with pytest.raises(RowError, match="rule 'light', when: input label is 'red'") as fault:
        load_domain(make_domain(contract={"rules": [rule]}))

    assert 2 == fault.value.row


def test_of_rows_that_conditions_cannot_read_the_first_is_named(make_domain: MakeDomain) -> None:
    rows = "parcel_id,label,weight,route\nP1,3,odd,north\nP2,,5,south\nP3,red,odd,north\n"
    light = {**LIGHT, "when": {"not": {"input": "label", "at_least": 3}}}
    heavy = {**LIGHT, "id": "heavy", "when": {"any": [{"result": "weight", "above": 3}]}}

    with pytest.raises(RowError, match="rule 'heavy', when: result weight is 'odd'") as fault:
        load_domain(make_domain({"data.csv": rows}, contract={"rules": [light, heavy]}))

    assert 2 == fault.value.row


def test_a_condition_that_any_value_satisfies_or_not_refuses_no_row(
    make_domain: MakeDomain,
) -> None:
    rule = {**LIGHT, "when": {"input": "label", "in": ["red", 3], "not_equals": 4}}

    domain = load_domain(make_domain(contract={"rules": [rule]}))

    assert domain.contract is not None


def test_expected_calls_are_read_by_task(make_domain: MakeDomain) -> None:
    text = f"{line('P1', call('P1'), call('P1'))}\n\n{line('P3')}\n"

    domain = load_domain(make_domain({"expected_calls.jsonl": text}))

    weigh = ExpectedCall(name="weigh_parcel", arguments={"parcel_id": "P1"})
    assert {"P1": (weigh, weigh), "P3": ()} == domain.expected_calls


CALL = '{"name": "weigh_parcel", "arguments": {}}'


@pytest.mark.parametrize(
    ("bad", "message"),
    [
        pytest.param(line("P9"), "the domain has no task 'P9'", id="unknown task"),
        pytest.param(line("P1"), "task 'P1' stands on a line before", id="twice"),
        pytest.param(
            line("P2", call("P2", "weigh_parcels")),
            "call 1: no tool is called 'weigh_parcels'\nis 'weigh_parcel' meant[?]",
            id="unknown tool",
        ),
        pytest.param("{'task'", "JSON", id="no JSON"),
        pytest.param("[]", "not an object with a text 'task' and a list 'calls'", id="a list"),
        pytest.param('{"task": "P2"}', "a list 'calls'", id="no calls"),
        pytest.param('{"task": 2, "calls": []}', "a text 'task'", id="task is a number"),
        pytest.param('{"task": "P2", "calls": [], "x": 1}', "'calls'", id="another key"),
        pytest.param(
            '{"task": "P2", "calls": ["weigh_parcel"]}',
            "call 1 is 'weigh_parcel', not an object with 'name' and 'arguments'",
            id="a bare name",
        ),
        pytest.param(
            '{"task": "P2", "calls": [{"name": "weigh_parcel", "arguments": []}]}',
            "call 1: 'name' must be a text, and 'arguments' an object",
            id="arguments are a list",
        ),
        pytest.param(
            '{"task": "P2", "calls": [[{"name": "weigh_parcel", "arguments": {}}]]}',
            "call 1: a group has at least two calls",
            id="a group of one",
        ),
        pytest.param(
            f'{{"task": "P2", "calls": [[{CALL}, {{{CALL[1:-1]}, "ends_before": 2}}]]}}',
            "call 2: 'ends_before' must be the place of a later call of its group",
            id="ends before itself",
        ),
    ],
)
def test_a_line_that_cannot_be_used_is_named(
    make_domain: MakeDomain, bad: str, message: str
) -> None:
    folder = make_domain({"expected_calls.jsonl": f"{line('P1', call('P1'))}\n{bad}\n"})

    with pytest.raises(LoadingError, match=message) as fault:
        load_domain(folder)

    assert (folder / "expected_calls.jsonl", 2) == (fault.value.path, fault.value.row)


def test_an_unused_warning_is_given_no_more(make_domain: MakeDomain) -> None:
    assert () == load_domain(make_domain(contract={"rules": []})).warnings


def test_calls_that_may_overlap_are_written_as_a_group(make_domain: MakeDomain) -> None:
    first = f'{{{CALL[1:-1]}, "ends_before": 3}}'
    folder = make_domain(
        {"expected_calls.jsonl": f'{{"task": "P1", "calls": [{CALL}, [{first}, {CALL}, {CALL}]]}}'}
    )

    expected = load_domain(folder).expected_calls["P1"]

    assert [0, 1, 1, 0] == [call.overlaps for call in expected]
