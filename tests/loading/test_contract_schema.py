"""Contracts as an author writes them: every key has a meaning, every mistake names its rule."""

from __future__ import annotations

import re
from pathlib import Path
from typing import Any

import pytest

from pytest_sopbench._core.contract import (
    AllOf,
    AnyOf,
    Contract,
    Not,
    Operator,
    Rule,
    Severity,
    Source,
    ValueCondition,
)
from pytest_sopbench._core.demands import (
    AfterApproval,
    ArgumentDemand,
    AsExpected,
    AsksApproval,
    AtMost,
    Before,
    EqualsAnswer,
    EqualsColumn,
    EqualsExpected,
    EqualsInput,
    EqualsResult,
    Forbids,
    InOrder,
    Origin,
    Requires,
    SatisfiesSchema,
)
from pytest_sopbench._loading.contract import read_contract
from pytest_sopbench._loading.layout import Layout
from pytest_sopbench.errors import LoadingError

COLUMNS = Layout(
    inputs=("account", "amount"),
    outputs=("decision", "refund"),
    results=("score", "grade.final"),
    private=frozenset({"refund"}),
)
NOTHING = Layout(inputs=(), outputs=(), results=())
PATH = Path("lab/metadata.json")


def read(*rules: Any) -> Contract:
    return read_contract(
        {"rules": list(rules)},
        path=PATH,
        tools=("login", "transfer", "close"),
        columns=COLUMNS,
    )


def leaf(source: Source, name: str, *bounds: tuple[Operator, Any]) -> ValueCondition:
    return ValueCondition(source=source, name=name, bounds=bounds)


@pytest.mark.parametrize(
    ("written", "demand"),
    [
        pytest.param(
            {"requires": {"all_of": ["login"], "any_of": ["close", "transfer"]}},
            Requires(all_of=("login",), any_of=("close", "transfer")), id="requires",
        ),
        pytest.param({"forbids": ["close"]}, Forbids(tools=("close",)), id="forbids"),
        pytest.param({"at_most": {"close": 2}}, AtMost(limits={"close": 2}), id="at most"),
        pytest.param(
            {"before": ["login", "transfer"]}, Before(stages=(("login",), ("transfer",))),
            id="before"
        ),
        pytest.param(
            {"before": [["login", "close"], "transfer"]},
            Before(stages=(("login", "close"), ("transfer",))), id="before, in stages",
        ),
        pytest.param(
            {"in_order": [["login", "close"], "transfer"]},
            InOrder(stages=(("login", "close"), ("transfer",))), id="in order, in stages",
        ),
        pytest.param(
            {"as_expected": ["transfer"]},
            AsExpected(tools=("transfer",), private=("refund",)), id="as expected",
        ),
        pytest.param(
            {"asks_approval": ["4"]}, AsksApproval(steps=("4",)), id="asks approval"
        ),
        pytest.param(
            {"after_approval": ["close"]}, AfterApproval(steps={"close": ""}), id="after approval"
        ),
        pytest.param(
            {"after_approval": {"close": "review"}}, AfterApproval(steps={"close": "review"}),
            id="after the approval of a step",
        ),
        pytest.param(
            {"arguments": {"tool": "close", "argument": "x", "equals_input": "account"}},
            ArgumentDemand(tool="close", argument="x", origin=EqualsInput(column="account")),
            id="argument equals an input",
        ),
        pytest.param(
            {"arguments": {"tool": "close", "argument": "x", "equals_result": "login.user.id"}},
            ArgumentDemand(
                tool="close", argument="x", origin=EqualsResult(tool="login", path=("user", "id"))
            ),
            id="argument equals a result",
        ),
        pytest.param(
            {"arguments": {"tool": "close", "argument": "x", "schema": {"$ref": "#/$defs/y",
             "$defs": {"y": {"enum": [1, 2]}}}}},
            ArgumentDemand(
                tool="close", argument="x",
                origin=SatisfiesSchema(
                    schema={"$ref": "#/$defs/y", "$defs": {"y": {"enum": [1, 2]}}}
                ),
            ),
            id="argument satisfies a schema",
        ),
    ],
)  # fmt: skip
def test_a_demand_is_read(written: dict[str, Any], demand: Any) -> None:
    assert Contract(rules=(Rule(id="r", demand=demand),)) == read({"id": "r", **written})


def test_a_rule_carries_clause_and_severity() -> None:
    contract = read({"id": "r", "clause": "4.2", "severity": "must", "forbids": ["close"]})

    assert ("4.2", Severity.MUST) == (contract.rules[0].clause, contract.rules[0].severity)


@pytest.mark.parametrize(
    ("written", "condition"),
    [
        pytest.param(
            {"input": "amount", "at_least": 1, "below": 2.5},
            leaf(Source.INPUT, "amount", (Operator.AT_LEAST, 1), (Operator.BELOW, 2.5)),
            id="a range",
        ),
        pytest.param(
            {"result": "score", "in": ["A", None]},
            leaf(Source.RESULT, "score", (Operator.IN, ["A", None])), id="one of",
        ),
        pytest.param(
            {"result": "login.score", "equals": None},
            leaf(Source.RESULT, "score", (Operator.EQUALS, None)), id="tool and column",
        ),
        pytest.param(
            {"result": "grade.final", "not_equals": 3},
            leaf(Source.RESULT, "grade.final", (Operator.NOT_EQUALS, 3)), id="column with a dot",
        ),
        pytest.param(
            {"input": "account", "matches": "A[0-9]+"},
            leaf(Source.INPUT, "account", (Operator.MATCHES, "A[0-9]+")), id="pattern",
        ),
        pytest.param(
            {"input": "amount", "present": True, "empty": False},
            leaf(Source.INPUT, "amount", (Operator.PRESENT, True), (Operator.EMPTY, False)),
            id="present",
        ),
        pytest.param(
            {"all": [{"input": "amount", "above": "2026-01-01"},
                     {"any": [{"not": {"input": "account", "at_most": 3}}]}]},
            AllOf(conditions=(
                leaf(Source.INPUT, "amount", (Operator.ABOVE, "2026-01-01")),
                AnyOf(conditions=(
                    Not(condition=leaf(Source.INPUT, "account", (Operator.AT_MOST, 3))),
                )),
            )),
            id="nested",
        ),
    ],
)  # fmt: skip
def test_a_condition_is_read(written: dict[str, Any], condition: Any) -> None:
    contract = read({"id": "r", "forbids": ["close"], "when": written})

    assert condition == contract.rules[0].when


CLOSE = {"forbids": ["close"]}
ARGUMENT = {"tool": "close", "argument": "x"}


@pytest.mark.parametrize(
    ("rule", "message", "hint"),
    [
        pytest.param({}, "'r': demands nothing", "exactly one of requires", id="no demand"),
        pytest.param(
            {**CLOSE, "at_most": {"close": 1}}, "'r': has forbids and at_most", "exactly one of",
            id="two demands",
        ),
        pytest.param({"forbid": ["close"]}, "forbid: unknown key", "mean 'forbids'?", id="typo"),
        pytest.param(
            {"requires": {"all": ["close"]}}, "requires.all: unknown key", "mean 'all_of'?",
            id="typo inside a demand",
        ),
        pytest.param({**CLOSE, "qqq": 1}, "qqq: unknown key", "known: above, ", id="stray key"),
        pytest.param({**CLOSE, "clause": 4.2}, "clause: must be text", "", id="clause is a number"),
        pytest.param(
            {**CLOSE, "severity": "may"}, "severity: must be 'must' or 'should'", "", id="severity"
        ),
        pytest.param({"forbids": "close"}, "forbids: must be a list", "", id="no list"),
        pytest.param(
            {"forbids": ["clse"]}, "forbids: no tool is called 'clse'", "did you mean close?",
            id="unknown tool",
        ),
        pytest.param(
            {"forbids": ["x" * 9]}, "no tool is called 'xxxxxxxxx'", "known: close, login,",
            id="unknown tool that is near to none",
        ),
        pytest.param(
            {"requires": {"any_of": ["zz"]}}, "requires.any_of: no tool is called 'zz'", "",
            id="unknown tool in requires",
        ),
        pytest.param({"requires": {}}, "requires: names no tool", "all_of", id="empty requires"),
        pytest.param(
            {"at_most": {"close": 0}}, "at_most.close: must be at least 1", "",
            id="limit 0"
        ),
        pytest.param(
            {"at_most": {"close": True}}, "at_most.close: must be a whole number", "",
            id="limit true"
        ),
        pytest.param(
            {"at_most": {}}, "at_most: has 0 elements, needs at least 1", "",
            id="no limit"
        ),
        pytest.param(
            {"at_most": {"zz": 1}}, "at_most: no tool is called 'zz'", "",
            id="limit of what"
        ),
        pytest.param(
            {**CLOSE, "when": {"input": "account", "matches": "["}},
            "when.matches: '[' is no regular expression", "", id="no pattern",
        ),
        pytest.param(
            {"before": ["login"]}, "before: has 1 elements, needs at least 2", "", id="order of one"
        ),
        pytest.param(
            {"in_order": ["login"]}, "in_order: has 1 elements, needs at least 2", "",
            id="list of one",
        ),
        pytest.param(
            {"in_order": ["login", "login"]}, "in_order: tool 'login' is named twice", "",
            id="listed twice",
        ),
        pytest.param(
            {"before": ["login", "login"]}, "before: tool 'login' is named twice", "", id="twice"
        ),
        pytest.param(
            {"before": ["login", 3]}, "before[1]: must be text or a list", "",
            id="order of a number"
        ),
        pytest.param(
            {"before": ["login", []]}, "before[1]: has 0 elements, needs at least 1", "",
            id="empty stage",
        ),
        pytest.param(
            {"after_approval": {"close": 3}}, "after_approval.close: must be text", "", id="step"
        ),
        pytest.param(
            {"after_approval": 3}, "after_approval: must be a list or an object", "", id="approval"
        ),
        pytest.param(
            {**CLOSE, "when": {}}, "when: says nothing to look at", "exactly one of input",
            id="empty condition",
        ),
        pytest.param(
            {**CLOSE, "when": {"not": None}}, "when: says nothing to look at", "", id="not nothing"
        ),
        pytest.param(
            {**CLOSE, "when": {"input": "amount", "result": "score", "equals": 1}},
            "when: has input and result", "", id="two things to look at",
        ),
        pytest.param(
            {**CLOSE, "when": {"all": [{"input": "amount"}]}}, "when.all[0]: compares with nothing",
            "add one of equals", id="no operator",
        ),
        pytest.param(
            {**CLOSE, "when": {"not": {"input": "amount", "equals": 1}, "equals": 2}},
            "when.equals: needs 'input' or 'result' beside it", "", id="operator beside not",
        ),
        pytest.param(
            {**CLOSE, "when": {"input": "amunt", "equals": 1}}, "when: no input is called 'amunt'",
            "did you mean amount or account?", id="unknown input",
        ),
        pytest.param(
            {**CLOSE, "when": {"result": "amount", "equals": 1}},
            "when: no tool result is called 'amount'", "known: grade.final, score",
            id="an input is no result",
        ),
        pytest.param(
            {**CLOSE, "when": {"result": "logon.score", "equals": 1}},
            "when: no tool is called 'logon'", "did you mean login?", id="unknown tool of a result",
        ),
        pytest.param(
            {**CLOSE, "when": {"result": "login.scor", "equals": 1}},
            "when: no tool result is called 'scor'", "did you mean score?", id="unknown column",
        ),
        pytest.param(
            {**CLOSE, "when": {"input": "amount", "at_least": True}},
            "when.at_least: must be a number or text", "", id="bound is a boolean",
        ),
        pytest.param(
            {**CLOSE, "when": {"input": "amount", "at_least": None}},
            "when.at_least: must be a number or text", "", id="bound is null",
        ),
        pytest.param(
            {**CLOSE, "when": {"input": "amount", "empty": "yes"}},
            "when.empty: must be true or false", "", id="empty is no boolean",
        ),
        pytest.param(
            {**CLOSE, "when": {"input": "amount", "in": []}},
            "when.in: has 0 elements, needs at least 1", "", id="one of none",
        ),
        pytest.param(
            {"arguments": ARGUMENT}, "arguments: does not say what it must be", "exactly one of",
            id="argument without origin",
        ),
        pytest.param(
            {"arguments": {"argument": "x"}}, "arguments.tool: missing", "", id="argument of what"
        ),
        pytest.param(
            {"arguments": {**ARGUMENT, "equals_input": "amount", "equals_result": "login"}},
            "arguments: has equals_input and equals_result", "", id="two origins",
        ),
        pytest.param(
            {"arguments": {**ARGUMENT, "equals_input": "zz"}}, "arguments: no input is called 'zz'",
            "known: account, amount", id="argument equals what",
        ),
        pytest.param(
            {"arguments": {**ARGUMENT, "equals_answer": "refunds"}},
            "arguments.equals_answer: no output field is called 'refunds'",
            "did you mean refund?", id="answer in what",
        ),
        pytest.param(
            {"arguments": {**ARGUMENT, "equals_expected": "score"}},
            "arguments.equals_expected: no output field is called 'score'",
            "known: decision, refund", id="expected of no output field",
        ),
        pytest.param(
            {"arguments": {**ARGUMENT, "equals_column": "acount"}},
            "arguments.equals_column: no column is called 'acount'",
            "did you mean account or amount?", id="no such column",
        ),
        pytest.param(
            {"arguments": {**ARGUMENT, "equals_answer": "refund", "equals_column": "refund"}},
            "arguments: has equals_answer and equals_column",
            "equals_answer, equals_expected, equals_column, schema", id="two new origins",
        ),
        pytest.param(
            {"arguments": {**ARGUMENT, "equals_result": "zz.id"}},
            "arguments.equals_result: no tool is called 'zz'", "", id="result of what",
        ),
        pytest.param(
            {"arguments": {**ARGUMENT, "tool": "zz", "equals_input": "amount"}},
            "arguments.tool: no tool is called 'zz'", "", id="argument of an unknown tool",
        ),
        pytest.param(
            {"arguments": {**ARGUMENT, "schema": {"type": "txt"}}},
            "arguments.schema: not a JSON schema: ", "", id="no schema",
        ),
        pytest.param(
            {"arguments": {**ARGUMENT, "schema": {"anyOf": [{"$ref": "https://x.test/s"}]}}},
            "arguments.schema: the reference 'https://x.test/s' leaves the schema",
            "nothing is fetched", id="remote reference",
        ),
    ],
)  # fmt: skip
def test_a_mistake_names_file_rule_and_key(rule: dict[str, Any], message: str, hint: str) -> None:
    with pytest.raises(LoadingError) as caught:
        read({"id": "r", **rule})

    assert f"{PATH}, column 'contract': rule 'r'" in caught.value.message
    assert message in caught.value.message
    assert hint in caught.value.hint
    assert (PATH, "contract") == (caught.value.path, caught.value.column)


@pytest.mark.parametrize(
    ("rule", "message"),
    [
        pytest.param(CLOSE, "rule number 2, id: missing", id="no id"),
        pytest.param(
            {"id": "", **CLOSE}, "rule number 2, id: must be text that is not", id="empty"
        ),
        pytest.param(7, "rule number 2: must be an object", id="no object"),
        pytest.param({"id": "first", **CLOSE}, "rule 'first', id: given to two rules", id="twice"),
    ],
)
def test_a_rule_without_a_name_of_its_own_is_refused(rule: Any, message: str) -> None:
    with pytest.raises(LoadingError, match=message):
        read({"id": "first", **CLOSE}, rule)


@pytest.mark.parametrize(
    "data",
    [
        pytest.param([], id="list"),
        pytest.param({}, id="no rules"),
        pytest.param({"rules": {}}, id="rules are no list"),
        pytest.param({"rules": [], "extra": 1}, id="stray key"),
    ],
)
def test_what_is_no_contract_is_refused(data: Any) -> None:
    with pytest.raises(LoadingError, match=re.escape("an object with the one key 'rules'")):
        read_contract(data, path=PATH, tools=(), columns=NOTHING)


def test_a_domain_without_tools_says_that_it_knows_none() -> None:
    with pytest.raises(LoadingError, match="known: none"):
        read_contract({"rules": [{"id": "r", **CLOSE}]}, path=PATH, tools=(), columns=NOTHING)


@pytest.mark.parametrize(
    ("key", "name", "origin"),
    [
        pytest.param("equals_answer", "refund", EqualsAnswer(field="refund"), id="answer"),
        pytest.param("equals_expected", "refund", EqualsExpected(field="refund"), id="expected"),
        pytest.param("equals_column", "score", EqualsColumn(column="score"), id="column"),
        pytest.param(
            "equals_column", "refund", EqualsColumn(column="refund", private=True), id="private"
        ),
    ],
)
def test_an_argument_may_equal_what_is_answered_expected_or_in_the_row(
    key: str, name: str, origin: Origin
) -> None:
    (rule,) = read({"id": "r", "arguments": {**ARGUMENT, key: name}}).rules

    assert isinstance(rule.demand, ArgumentDemand)
    assert origin == rule.demand.origin
