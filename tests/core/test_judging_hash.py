"""Two sessions have the same judging hash exactly when answers are judged alike."""

from __future__ import annotations

import subprocess
import sys
from dataclasses import replace
from pathlib import Path

import pytest

import pytest_sopbench
from pytest_sopbench._core.contract.conditions import AllOf, AnyOf, Operator, Source, ValueCondition
from pytest_sopbench._core.contract.demands import AtMost, Forbids
from pytest_sopbench._core.contract.rules import Contract, Rule, Severity
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.judging.fingerprint import rules_fingerprint
from pytest_sopbench._core.model.task import Compare, FieldType, OutputField, Scoring
from pytest_sopbench._loading.load import load_domain

BUNDLED = Path(pytest_sopbench.__file__).parent / "bundled"

HAZARD = OutputField(name="hazard", type=FieldType.ENUM, values=("A", "D"), aliases={"d": "D"})
REFUND = OutputField(name="refund", type=FieldType.NUMBER, tolerance=0.01)
RULES = JudgingRules(fields=(HAZARD, REFUND))


def hash_of(*fields: OutputField, scoring: Scoring = Scoring.EXACT) -> str:
    return rules_fingerprint({"domain": JudgingRules(fields=fields, scoring=scoring)})


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(replace(HAZARD, type=FieldType.TEXT), id="type"),
        pytest.param(replace(HAZARD, aliases={"d": "A"}), id="aliases"),
        pytest.param(replace(HAZARD, tolerance=0.5), id="tolerance"),
        pytest.param(replace(HAZARD, ordered=True), id="order"),
        pytest.param(replace(HAZARD, compare=Compare.PRESENT), id="compare"),
        pytest.param(replace(HAZARD, name="class"), id="name"),
    ],
)
def test_what_decides_a_match_changes_the_hash(other: OutputField) -> None:
    assert hash_of(HAZARD, REFUND) != hash_of(other, REFUND)


ASKED = replace(HAZARD, compare=Compare.CALL, comparer="lab:same", at_least=0.5)


def compared_hash(field: OutputField, version: str) -> str:
    rules = JudgingRules(fields=(field,), comparers={field.name: version})
    return rules_fingerprint({"domain": rules})


def test_another_version_of_a_comparer_changes_the_hash() -> None:
    assert compared_hash(ASKED, "version 1") == compared_hash(ASKED, "version 1")
    assert compared_hash(ASKED, "version 1") != compared_hash(ASKED, "version 2")


def test_the_score_from_which_on_a_value_is_right_changes_the_hash() -> None:
    stricter = replace(ASKED, at_least=0.9)

    assert compared_hash(ASKED, "version 1") != compared_hash(stricter, "version 1")


def test_scoring_changes_the_hash() -> None:
    assert hash_of(HAZARD) != hash_of(HAZARD, scoring=Scoring.PUBLISHED)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param(replace(HAZARD, values=("A", "B", "D")), id="labels seen in the rows"),
        pytest.param(replace(HAZARD, declared=True), id="declared"),
        pytest.param(replace(HAZARD, private=True), id="private"),
    ],
)
def test_what_decides_no_match_leaves_the_hash(other: OutputField) -> None:
    assert hash_of(HAZARD) == hash_of(other)


def test_the_order_of_domains_and_fields_means_nothing() -> None:
    backwards = JudgingRules(fields=RULES.fields[::-1])

    assert rules_fingerprint({"a": RULES, "b": backwards}) == rules_fingerprint(
        {"b": RULES, "a": RULES}
    )


def test_the_hash_is_the_same_in_every_process() -> None:
    program = (
        "from pytest_sopbench._core.judging.fingerprint import rules_fingerprint as h\n"
        "from pytest_sopbench._core.domain import JudgingRules\n"
        "from pytest_sopbench._core.model.task import *\n"
        "field = OutputField(name='hazard', type=FieldType.ENUM, aliases={'d': 'D', 'a': 'A'})\n"
        "print(h({'domain': JudgingRules(fields=(field,))}))"
    )

    hashes = {
        subprocess.run(
            [sys.executable, "-c", program],
            env={"PYTHONHASHSEED": seed},
            capture_output=True,
            text=True,
            check=True,
        ).stdout
        for seed in ("1", "2")
    }

    assert len(hashes) == 1
    assert len(hashes.pop().strip()) == 64


SMALL = ValueCondition(source=Source.INPUT, name="amount", bounds=((Operator.BELOW, 5),))
ONCE = Rule(id="once", clause="1", demand=AtMost(limits={"a": 1, "b": 2}))
NONE = Rule(id="none", demand=Forbids(tools=("c",)), when=AllOf(conditions=(SMALL,)))


def contract_hash(*rules: Rule) -> str:
    return rules_fingerprint({"d": replace(RULES, contract=Contract(rules=rules))})


@pytest.mark.parametrize(
    "other",
    [
        pytest.param((ONCE,), id="one rule less"),
        pytest.param((replace(ONCE, severity=Severity.MUST), NONE), id="severity"),
        pytest.param((replace(ONCE, demand=AtMost(limits={"a": 2, "b": 2})), NONE), id="demand"),
        pytest.param((replace(ONCE, id="two"), NONE), id="id"),
        pytest.param((ONCE, replace(NONE, when=AnyOf(conditions=(SMALL,)))), id="any for all"),
        pytest.param((ONCE, replace(NONE, when=None)), id="no condition"),
    ],
)
def test_what_a_rule_asks_changes_the_hash(other: tuple[Rule, ...]) -> None:
    assert contract_hash(ONCE, NONE) != contract_hash(*other)


@pytest.mark.parametrize(
    "other",
    [
        pytest.param((NONE, ONCE), id="the order of rules"),
        pytest.param((replace(ONCE, clause="9"), NONE), id="the clause it cites"),
        pytest.param((replace(ONCE, demand=AtMost(limits={"b": 2, "a": 1})), NONE), id="order"),
    ],
)
def test_what_a_rule_does_not_ask_leaves_the_hash(other: tuple[Rule, ...]) -> None:
    assert contract_hash(ONCE, NONE) == contract_hash(*other)


def test_a_contract_without_rules_is_judged_as_none_is() -> None:
    assert rules_fingerprint({"d": RULES}) == contract_hash()


@pytest.mark.parametrize(
    ("name", "known"),
    [("dangerous_goods", "cd15b430191e4ae6"), ("patient_intake", "23ee3ea26ba96962")],
)
def test_a_domain_keeps_the_hash_by_which_older_baselines_know_it(name: str, known: str) -> None:
    """Their rules have conditions. A change of the rules themselves makes another hash."""
    domain = load_domain(BUNDLED / name)
    rules = JudgingRules(fields=domain.fields, contract=domain.contract)

    assert known == rules_fingerprint({name: rules})[:16]
