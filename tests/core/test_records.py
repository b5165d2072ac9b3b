"""The line of a run: one reader and one writer, and nothing is lost between them."""

from __future__ import annotations

import json
import re
from contextlib import nullcontext
from dataclasses import fields, replace
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import Mismatch, Outcome, OutputField, RunKey, RunRecord, Task, Trace
from pytest_sopbench._core.contract import RuleResult, Severity
from pytest_sopbench._core.demands import DEMANDS, RuleState
from pytest_sopbench._core.domain import JudgingRules
from pytest_sopbench._core.judging import judge
from pytest_sopbench._core.model.task import (
    Compare,
    FieldType,
    GroupKey,
    TaskName,
    domain_of,
    labels_of,
    named_agents,
    of_parameter,
)
from pytest_sopbench._core.model.trace import (
    Compared,
    Ending,
    Problem,
    Returned,
    ReturnedKind,
    Usage,
)
from pytest_sopbench._core.model.world import StateChange
from pytest_sopbench._core.records.event_log import (
    event_log,
    events_of,
    trace_of_events,
    trace_of_log,
)
from pytest_sopbench._core.records.record import (
    CallRecord,
    DocumentRecord,
    TrajectoryCheck,
    from_line,
    record_from_json,
    record_of,
    to_line,
)
from pytest_sopbench._core.records.redaction import NOTHING_REDACTED, Redaction
from pytest_sopbench._core.values.json import JsonValue

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
    unneeded=st.none() | st.dictionaries(TEXT, st.integers(0, 9), max_size=2),
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
    state=st.none()
    | st.lists(
        st.builds(
            StateChange,
            step=st.integers(1, 3),
            table=TEXT,
            key=TEXT | st.integers(-3, 3),
            before=st.none() | st.dictionaries(TEXT, VALUES, max_size=2),
            after=st.none() | st.dictionaries(TEXT, VALUES, max_size=2),
        ),
        max_size=2,
    ).map(tuple),
    state_differs=TEXTS,
    unmade=st.none()
    | st.lists(
        st.builds(Mismatch, field=TEXT, expected=VALUES, actual=VALUES, why=TEXT), max_size=2
    ).map(tuple),
)
RUNS = st.builds(RunRecord, **PARTS)
"""Runs in which every field has another value than its usual one now and then."""

PLAIN = RunRecord(domain="lab", task="T1", outcome=Outcome.CORRECT)
WHOLE: dict[str, Any] = json.loads(to_line(PLAIN))
CALL = {
    "name": "x",
    "arguments": {},
    "result": None,
    "error": None,
    "bad": False,
    "findings": [],
}
NEEDED = sorted(WHOLE.keys() - {"type"})


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
            {"calls": [{**CALL, "colour": "red"}]},
            r"unknown keys: 'calls\.0\.colour'",
            id="a call of another shape",
        ),
    ],
)
def test_what_is_no_run_is_refused(change: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        from_line(json.dumps({**WHOLE, **change}))


# What comparers found survives every way in which a run is kept, and secrets in it do not.

CLAIMS = JudgingRules(
    fields=(OutputField(name="reason", type=FieldType.TEXT, compare=Compare.CALL),)
)
TASK = Task(
    domain="claims", id="C", line=2, inputs={}, expected={"reason": "late"}, results={}, hash="h"
)
RETURNED = Returned(kind=ReturnedKind.MAPPING, mapping={"reason": "too late"})
FINDINGS = st.builds(
    Compared,
    field=st.just("reason"),
    held=st.sampled_from([True, False, None]),
    why=st.text(st.characters(codec="utf-8"), max_size=20),
    score=st.none() | st.floats(0, 1),
    quote=st.sampled_from(["", "too late", "late"]),
)


@given(FINDINGS)
def test_what_was_found_is_kept_and_judged_alike(one: Compared) -> None:
    trace = Trace(ending=Ending.RETURNED, returned=RETURNED, compared=(one,))
    verdict = judge(CLAIMS, TASK, trace)
    record = record_of(CLAIMS, TASK, trace, verdict)
    log = event_log(RunKey("claims", "C", 1, "a"), CLAIMS, trace, verdict, NOTHING_REDACTED)

    line = to_line(record)

    assert trace == trace_of_events(json.loads(json.dumps([*events_of(trace)])))
    assert (one,) == from_line(line).compared == trace_of_log(log).compared
    assert verdict.outcome is judge(CLAIMS, TASK, trace_of_log(log)).outcome


@pytest.mark.parametrize(
    ("answer", "quote", "is_read"),
    [
        pytest.param("too late", "too  late", True, id="folded"),
        pytest.param("too late", "in time", False, id="of-something-else"),
        pytest.param("too *** late", "too hunter2 late", True, id="masked-answer"),
        pytest.param("a" * 5_000, "b", True, id="cut-answer"),
        pytest.param(["too", "late"], '"late"', True, id="a-list"),
        pytest.param("too late", "too***late", True, id="masked-quote"),
        pytest.param("too late", "in***time", False, id="masked-quote-of-something-else"),
    ],
)
def test_a_quote_is_looked_for_in_the_answer_whenever_a_line_is_read(
    answer: JsonValue, quote: str, is_read: bool
) -> None:
    """Gates, pages and whoever judges again read lines, and none of them asks the judge."""
    one = Compared(field="reason", held=True, quote=quote)
    returned = Returned(kind=ReturnedKind.MAPPING, mapping={"reason": answer})
    trace = Trace(ending=Ending.RETURNED, returned=returned, compared=(one,))
    line = to_line(record_of(CLAIMS, TASK, trace, judge(CLAIMS, TASK, trace)))

    with nullcontext() if is_read else pytest.raises(ValueError, match="does not say"):
        assert (one,) == from_line(line).compared


def test_a_line_without_findings_is_as_short_as_before() -> None:
    trace = Trace(ending=Ending.RAISED)
    record = record_of(CLAIMS, TASK, trace, judge(CLAIMS, TASK, trace))

    assert not {"compared", "ignored"} & json.loads(to_line(record)).keys()
    assert from_line(to_line(record)).compared == ()


def test_a_secret_in_a_reason_is_masked() -> None:
    one = Compared(field="reason", held=False, why="not s3cret")
    trace = Trace(ending=Ending.RETURNED, returned=RETURNED, compared=(one,))
    redaction = Redaction(patterns=(re.compile("s3cret"),))
    verdict = judge(CLAIMS, TASK, trace)

    kept = redaction.part(record_of(CLAIMS, TASK, trace, verdict))
    log = event_log(RunKey("claims", "C", 1, "a"), CLAIMS, trace, verdict, redaction)

    assert "s3cret" not in to_line(kept) + log
    assert (replace(one, why="not ***"),) == kept.compared == redaction.part(trace).compared


# What names runs, tasks and groups of runs.


def test_the_one_group_of_a_domain_is_called_as_the_domain() -> None:
    group = GroupKey("lab", "mypkg:a")

    assert "lab" == group.title({group, GroupKey("clinic", "mypkg:b")})


def test_each_of_several_groups_of_a_domain_names_its_agent() -> None:
    group = GroupKey("lab", "mypkg:a")

    assert "lab (mypkg:a)" == group.title({group, GroupKey("lab", "mypkg:b")})


def test_the_title_of_a_group_tells_its_domain() -> None:
    groups = {GroupKey("lab", "mypkg:a"), GroupKey("lab", "b (c)"), GroupKey("clinic", "mypkg:a")}

    assert {(one, one.domain) for one in groups} == {
        (one, domain_of(one.title(groups))) for one in groups
    }


def test_a_task_is_written_behind_its_domain() -> None:
    assert "lab/T_01" == str(TaskName("lab", "T_01"))


# Short labels of agents: unique among those of a session, whatever users call them.

_PARTS = st.text("ab.1é ", min_size=1, max_size=3)
_AGENTS = st.sets(
    st.one_of(
        _PARTS,
        st.builds("{}:{}".format, _PARTS, _PARTS),
        st.builds("{}:{}/{}".format, _PARTS, _PARTS, _PARTS),
        _PARTS.map(of_parameter),
    ),
    max_size=6,
)


@pytest.mark.parametrize(
    ("agents", "labels"),
    [
        pytest.param(["function-calling:openai/gpt-5-mini"], ["gpt-5-mini"], id="a-model"),
        pytest.param(["stepwise:bedrock/amazon.nova-pro-v1:0"], ["amazon.nova-pro-v1:0"], id="0"),
        pytest.param(["react:openai/meta/llama-3"], ["llama-3"], id="a-path-of-a-model"),
        pytest.param(["pkg.desk:careful", "pkg.desk:bold"], ["careful", "bold"], id="functions"),
        pytest.param(["reference-policy"], ["reference-policy"], id="a-registered-name"),
        pytest.param(["mine", "pkg:mine"], ["mine", "pkg:mine"], id="a-name-goes-first"),
        pytest.param(["sop_agent[small]"], ["small"], id="a-parameter"),
        pytest.param(
            ["react:openai/m", "function-calling:openai/m"],
            ["react:m", "function-calling:m"],
            id="two-ways-of-prompting",
        ),
        pytest.param(
            ["react:openai/m", "react:openai-responses/m"],
            ["openai/m", "openai-responses/m"],
            id="two-interfaces",
        ),
        pytest.param(["a.x:agent", "b.x:agent"], ["a.x:agent", "b.x:agent"], id="two-packages"),
        pytest.param(["x:agent", "a.x:agent"], ["x:agent", "a.x:agent"], id="one-in-another"),
    ],
)
def test_a_label_is_the_shortest_that_tells_an_agent_from_the_others(
    agents: list[str], labels: list[str]
) -> None:
    assert labels == [*labels_of(agents).values()]


@given(_AGENTS)
def test_no_two_agents_have_one_label(agents: set[str]) -> None:
    labels = labels_of(agents)

    assert labels.keys() == agents
    assert len({*labels.values()}) == len(agents)


@given(_AGENTS)
def test_an_agent_is_found_by_its_name_and_by_its_label(agents: set[str]) -> None:
    for agent, label in labels_of(agents).items():
        assert (agent,) == named_agents(agent, agents)
        assert label in agents or (agent,) == named_agents(label, agents)


def test_no_agent_is_found_by_a_part_of_its_label() -> None:
    assert () == named_agents("gpt-5", ["react:openai/gpt-5-mini"])
