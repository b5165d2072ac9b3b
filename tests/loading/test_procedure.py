"""The contract and the expected calls of a domain folder, and what is said of wrong ones."""

from __future__ import annotations

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench import ExpectedCall
from pytest_sopbench.errors import LoadingError, RowError
from tests.builders.domains import load_domain
from tests.builders.judged import Moment

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


def test_a_task_without_expected_calls_is_refused_where_a_rule_holds_it_to_them(
    make_domain: MakeDomain,
) -> None:
    contract = {"rules": [{"id": "paid", "as_expected": ["weigh_parcel"]}]}
    folder = make_domain({"expected_calls.jsonl": line("P1", call("P1"))}, contract=contract)

    with pytest.raises(LoadingError) as fault:
        load_domain(folder)

    assert "rule 'paid', as_expected: expected_calls.jsonl has no line for 2 of 3" in str(
        fault.value
    )


def test_other_expected_calls_make_another_task(make_domain: MakeDomain) -> None:
    files = {"expected_calls.jsonl": f"{line('P1', call('P1'))}\n{line('P2')}"}
    before = load_domain(make_domain(files))
    after = load_domain(
        make_domain({"expected_calls.jsonl": line("P1", call("P2"))}, folder="others")
    )

    same = [one.hash == other.hash for one, other in zip(before.tasks, after.tasks, strict=True)]

    assert [False, False, True] == same


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
            "call 1: no tool is called 'weigh_parcels'\ndid you mean 'weigh_parcel'[?]",
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


# `steps.json`: the steps of an SOP as a domain says them itself, and what is refused of it.

SOP = """# Parcels

## 1. Words
A parcel is a box.

## 2. Weigh it
Use the scale.

## 3. Send it
[APPROVAL REQUIRED]
"""


@pytest.fixture
def folder(make_domain: Any) -> Any:
    def make(steps: Any) -> Path:
        text = steps if isinstance(steps, str) else json.dumps(steps)
        made: Path = make_domain({"sop.txt": None, "sop.md": SOP, "steps.json": text})
        return made

    return make


def test_a_number_is_enough_where_the_sop_has_a_section_of_it(folder: Any) -> None:
    domain = load_domain(folder({"steps": [{"number": 2}, {"number": "3"}]}))

    first, second = domain.procedure.steps
    assert ("2", "Weigh it", "## 2. Weigh it\nUse the scale.", 6) == (
        first.number,
        first.title,
        first.text,
        first.line,
    )
    assert (Moment.AFTER,) == second.approvals
    assert "steps.json" == domain.procedure.source
    assert ["# Parcels", "## 1. Words", "A parcel is a box."] == [
        line for line in domain.procedure.general.split("\n") if line
    ]
    assert () == domain.warnings


def test_a_step_may_have_a_title_a_text_and_approvals_of_its_own(folder: Any) -> None:
    step = {"number": "a", "title": "Weigh", "text": "Use  the scale.", "approval": "before"}
    other = {"number": "b", "text": "[APPROVAL REQUIRED]", "approval": "none"}
    domain = load_domain(folder({"steps": [step, other], "general": "Be careful."}))

    first, second = domain.procedure.steps
    assert ("Weigh", "Use  the scale.", (Moment.BEFORE,)) == (
        first.title,
        first.text,
        first.approvals,
    )
    assert ("[APPROVAL REQUIRED]", ()) == (second.title, second.approvals)
    assert "Be careful." == domain.procedure.general
    (warning,) = domain.warnings
    assert "that stand neither in a step nor in 'general': 5, the first '# Parcels'" in warning


def test_text_that_the_sop_does_not_have_is_a_warning(folder: Any) -> None:
    domain = load_domain(folder({"steps": [{"number": "2"}, {"number": "4", "text": "Sell it."}]}))

    assert ("steps.json: step 4: its text is no part of the SOP",) == domain.warnings
    assert "## 3. Send it" in domain.procedure.general


def test_without_the_file_the_sop_shows_its_steps(make_domain: Any) -> None:
    domain = load_domain(make_domain())

    assert None is domain.own_steps
    assert ["1", "2"] == [step.number for step in domain.procedure.steps]


def test_the_file_counts_as_a_part_of_the_sop(folder: Any, make_domain: Any) -> None:
    with_file = load_domain(folder({"steps": [{"number": "2"}]}))
    without = load_domain(make_domain({"sop.txt": SOP}, folder="other"))

    assert with_file.hashes["sop"] != without.hashes["sop"]
    assert with_file.hashes["data"] == without.hashes["data"]


@pytest.mark.parametrize(
    ("steps", "told"),
    [
        pytest.param('{"steps": [', "steps.json, row 1: not JSON", id="no-json"),
        pytest.param([], "steps.json: must be an object with the keys steps, general", id="list"),
        pytest.param({"steps": []}, "column 'steps': must be a list of steps\nwrite", id="none"),
        pytest.param(
            {"steps": [{"number": "2"}], "step": 1},
            "key 'step' is unknown\ndid you mean 'steps'?",
            id="unknown-key",
        ),
        pytest.param(
            {"steps": [{"number": "2", "heading": "x"}]},
            "key 'steps[0].heading' is unknown\nits keys are number, title",
            id="unknown-key-of-a-step",
        ),
        pytest.param(
            {"steps": [{"number": "2"}, {"number": 2}]},
            "column 'steps[1].number': step '2' stands twice\ngive every step",
            id="a-number-twice",
        ),
        pytest.param(
            {"steps": [{"title": "x", "text": "y"}]},
            "column 'steps[0].number': None cannot be the number of a step\nwrite a text",
            id="no-number",
        ),
        pytest.param(
            {"steps": [{"number": "Answer", "text": "y"}]},
            "'Answer' cannot be the number of a step\n",
            id="the-word-of-the-end",
        ),
        pytest.param(
            {"steps": [{"number": "9"}]},
            "column 'steps[0]': step '9' has no text, and the SOP no section of that number\n"
            "give its text, or one of the SOP's numbers: 1, 2, 3",
            id="no-section",
        ),
        pytest.param(
            {"steps": [{"number": "2", "text": " "}]},
            "column 'steps[0].text': must be a text, and is ' '",
            id="blank-text",
        ),
        pytest.param(
            {"steps": [{"number": "2", "title": 3}]},
            "column 'steps[0].title': must be a text, and is 3",
            id="title-no-text",
        ),
        pytest.param(
            {"steps": [{"number": "2", "approval": ["later"]}]},
            "column 'steps[0].approval': 'later' is no word for an approval\nwrite one of before,",
            id="approval",
        ),
        pytest.param(
            {"steps": [{"number": "2"}], "general": 1},
            "column 'general': must be a text, and is 1",
            id="general",
        ),
    ],
)
def test_what_is_wrong_is_told_with_its_place(folder: Any, steps: Any, told: str) -> None:
    path = folder(steps)

    with pytest.raises(LoadingError) as error:
        load_domain(path)

    assert told in str(error.value)
    assert "steps.json" in str(error.value)
