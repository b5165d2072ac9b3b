"""The line of a run: one reader and one writer, and nothing is lost between them."""

from __future__ import annotations

import json
from dataclasses import fields
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.contract.demands import DEMANDS, RuleState
from pytest_sopbench._core.contract.rules import RuleResult, Severity
from pytest_sopbench._core.model.trace import Compared, Mismatch, Problem, Usage
from pytest_sopbench._core.records.lines import from_line, record_from_json, to_line
from pytest_sopbench._core.records.record import (
    CallRecord,
    DocumentRecord,
    RunRecord,
    TrajectoryCheck,
)
from pytest_sopbench._core.verdict import Outcome

# An agent may return half of a surrogate pair.
TEXT = st.text(max_size=6) | st.just("a\ud800")
TEXTS = st.lists(TEXT, max_size=2).map(tuple)
AMOUNTS = st.none() | st.floats(0, 1e9) | st.integers(0, 10**20)
COUNTS = st.none() | st.integers(0, 10**12)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.floats(allow_nan=False, allow_infinity=False)
    # The name of a constant is a text like others.
    | TEXT
    | st.just("NaN"),
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
OBJECTS = st.dictionaries(TEXT, VALUES, max_size=2)
RULES = st.builds(
    RuleResult,
    id=TEXT,
    clause=TEXT,
    severity=st.sampled_from(Severity),
    kind=st.sampled_from([str(kind) for kind in DEMANDS]),
    state=st.sampled_from(RuleState),
    why=TEXT,
    applies=st.booleans(),
    unfinished=st.booleans(),
)
COUNTED = ("input_tokens", "output_tokens", "model_calls", "cached_tokens", "reasoning_tokens")
USAGES = st.builds(
    Usage, **dict.fromkeys(COUNTED, COUNTS), cost_usd=AMOUNTS, model=st.none() | TEXT
)
PARTS: dict[str, st.SearchStrategy[Any]] = dict(
    **dict.fromkeys(("domain", "task", "agent", "task_hash", "reason", "answer_form"), TEXT),
    **dict.fromkeys(("text", "disagreement", "trace"), TEXT),
    **dict.fromkeys(("notes", "ignored"), TEXTS),
    trial=st.integers(1, 9),
    outcome=st.sampled_from(Outcome),
    answer=st.none() | OBJECTS,
    expected=OBJECTS,
    mismatches=st.lists(
        st.builds(Mismatch, field=TEXT, expected=VALUES, actual=VALUES, why=TEXT), max_size=2
    ).map(tuple),
    calls=st.lists(
        st.builds(
            CallRecord,
            name=TEXT,
            arguments=VALUES,
            result=VALUES,
            error=st.none() | TEXT,
            bad=st.booleans(),
            findings=TEXTS,
            overlaps=st.integers(0, 2),
        ),
        max_size=2,
    ).map(tuple),
    usage=USAGES,
    duration_s=AMOUNTS,
    problem=st.none() | st.builds(Problem, type=TEXT, message=TEXT, traceback=TEXT),
    only_published=st.booleans(),
    rules=st.lists(RULES, max_size=2).map(tuple),
    contract=st.none() | st.sampled_from(RuleState),
    grounded=st.none() | st.booleans(),
    trajectory=st.none() | st.builds(TrajectoryCheck, held=st.booleans(), departure=TEXT),
    unneeded=COUNTS,
    document=st.none()
    | st.builds(DocumentRecord, paths=TEXTS, label=TEXT, labelled=TEXTS, domain_class=TEXT),
    compared=st.lists(
        st.builds(
            Compared,
            field=TEXT,
            place=st.integers(0, 2),
            held=st.none() | st.booleans(),
            why=TEXT,
            score=AMOUNTS,
        ),
        max_size=2,
    ).map(tuple),
)
RUNS = st.builds(RunRecord, **PARTS)
"""Runs in which every field has another value than its usual one now and then."""

PLAIN = RunRecord(domain="lab", task="T1", outcome=Outcome.CORRECT)
WHOLE: dict[str, Any] = json.loads(to_line(PLAIN))
NEEDED = (
    *("domain", "task", "outcome", "mismatches", "calls", "usage", "problem", "rules"),
    *("contract", "trajectory", "notes"),
)


@given(RUNS)
def test_reading_is_the_inverse_of_writing(run: RunRecord) -> None:
    found = from_line(to_line(run))

    assert run == found
    # Equal is not enough: a text equals the member of an enumeration, and 1 is 1.0.
    assert repr(run) == repr(found)


@given(RUNS)
def test_a_line_that_was_read_is_written_as_it_was(run: RunRecord) -> None:
    line = to_line(run)

    assert line == to_line(from_line(line))


@given(RUNS)
def test_a_parsed_line_is_the_same_run(run: RunRecord) -> None:
    data = json.loads(to_line(run))
    del data["type"]

    assert repr(run) == repr(record_from_json(data))


def test_these_runs_have_every_field() -> None:
    assert {one.name for one in fields(RunRecord)} == PARTS.keys()


@pytest.mark.parametrize("name", NEEDED)
def test_a_key_that_is_missing_is_named(name: str) -> None:
    data = {one: value for one, value in WHOLE.items() if one != name}

    with pytest.raises(ValueError, match=f"missing or unknown keys: '{name}'"):
        from_line(json.dumps(data))


def test_a_key_that_is_missing_elsewhere_is_as_in_a_run_that_says_nothing() -> None:
    assert PLAIN == from_line(json.dumps({name: WHOLE[name] for name in ("type", *NEEDED)}))


@pytest.mark.parametrize(
    ("change", "why"),
    [
        pytest.param({"later": 1}, "unknown keys: 'later'", id="an unknown key"),
        pytest.param({"type": "slim"}, "not the line of a run", id="another line"),
        pytest.param({"outcome": "splendid"}, "'outcome' is of a wrong type", id="no outcome"),
        pytest.param({"duration_s": True}, "'duration_s' is .* be a number", id="no duration"),
        pytest.param({"duration_s": 10**400}, "'duration_s' is of a wrong", id="no float"),
        pytest.param({"notes": "one"}, "'notes' is .* be a valid list", id="no list"),
        pytest.param(
            {"rules": [{"id": "r", "kind": "sings", "state": "held"}]},
            "'sings' is no demand of a rule",
            id="no demand",
        ),
        pytest.param(
            {"calls": [{"name": "x", "arguments": {}, "findings": [], "colour": "red"}]},
            r"unknown keys: 'calls\.0\.colour'",
            id="a call of another shape",
        ),
    ],
)
def test_what_is_no_run_is_refused(change: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        from_line(json.dumps({**WHOLE, **change}))


def test_a_rule_of_another_version_may_say_more() -> None:
    rule = {"id": "r", "kind": str(next(iter(DEMANDS))), "state": "held", "later": 1}

    run = from_line(json.dumps({**WHOLE, "rules": [rule]}))

    assert (Severity.SHOULD, "", RuleState.HELD) == (
        run.rules[0].severity,
        run.rules[0].why,
        run.rules[0].state,
    )
