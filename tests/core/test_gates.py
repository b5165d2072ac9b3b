"""Gates: what holds, what does not, and when nobody can tell."""

from __future__ import annotations

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import Outcome, Summary
from pytest_sopbench._core.gates.conditions import (
    LOST,
    GateSpec,
    GateState,
    P,
    blockers_of,
    evaluate,
    gate_metrics,
    gate_names,
    gate_text,
    names,
    read_fail_under,
    read_gate,
    unasked_agents,
    unasked_verdicts,
)
from pytest_sopbench._core.metrics.counts import DocumentCounts, FieldCounts, ToolCounts


def summary(**outcomes: int) -> Summary:
    runs = sum(outcomes.values())
    counts = {Outcome(name): count for name, count in outcomes.items() if count}
    return Summary(runs=runs, tasks=runs, outcomes=counts)


def state(name: str, value: float, of: Summary) -> GateState:
    (verdict,) = evaluate([GateSpec(name=name, value=value)], {"lab": of})
    return verdict.state


@given(st.integers(0, 500), st.integers(0, 500))
def test_a_gate_at_the_very_rate_holds(correct: int, wrong: int) -> None:
    """Whatever the fraction is: rates are compared as counts, since 0.1 + 0.2 is not 0.3."""
    runs = correct + wrong
    if not runs:
        return

    assert GateState.HOLDS is state("tsr", correct / runs, summary(correct=correct, wrong=wrong))


@given(st.integers(0, 499), st.integers(1, 500))
def test_a_gate_one_run_above_the_rate_does_not_hold(correct: int, wrong: int) -> None:
    bound = (correct + 1) / (correct + wrong)

    assert GateState.FAILS is state("tsr", bound, summary(correct=correct, wrong=wrong))


def test_a_rate_just_below_its_bound_is_not_printed_as_the_bound() -> None:
    (found,) = evaluate((GateSpec(name="tsr", value=0.6667),), {"a": summary(correct=2, wrong=1)})

    assert ("TSR >= 66.67%", "66.6666667%") == (found.asked, found.got)


@pytest.mark.parametrize(
    ("name", "of", "expected"),
    [
        pytest.param("tsr", summary(), GateState.INCONCLUSIVE, id="no run at all"),
        pytest.param(
            "tsr", summary(correct=99, not_run=1), GateState.INCONCLUSIVE, id="one never started"
        ),
        pytest.param(
            "tsr", summary(correct=94, unavailable=6), GateState.INCONCLUSIVE, id="6 % unavailable"
        ),
        pytest.param(
            "tsr", summary(correct=95, unavailable=5), GateState.HOLDS, id="5 % unavailable"
        ),
        pytest.param("tsr", summary(correct=49, crash=51), GateState.FAILS, id="crashes count"),
        pytest.param("ecr", summary(wrong=60, no_answer=40), GateState.HOLDS, id="ECR"),
        pytest.param("ecr", summary(wrong=40, timeout=60), GateState.FAILS, id="ECR of time-outs"),
        pytest.param("c_tsr", summary(error=9), GateState.INCONCLUSIVE, id="nothing completed"),
        pytest.param("c_tsr", summary(correct=5, error=9), GateState.HOLDS, id="C-TSR"),
        pytest.param("tool_accuracy", summary(correct=9), GateState.INCONCLUSIVE, id="no call"),
        pytest.param("contract", summary(correct=9), GateState.INCONCLUSIVE, id="no contract"),
        pytest.param("grounded_tsr", summary(correct=9), GateState.INCONCLUSIVE, id="no required"),
    ],
)
def test_a_gate_of_one_half(name: str, of: Summary, expected: GateState) -> None:
    assert expected is state(name, 0.5, of)


DESK = replace(summary(correct=3), documents=DocumentCounts(runs=3, matches=3))
"""Of a domain without tools, whose answers are documents."""

CLAIMS = replace(
    summary(correct=3),
    by_field={"refund": FieldCounts(runs=3, right=3)},
    by_number={1: FieldCounts(runs=3, right=3)},
    tools={"find": ToolCounts(calls=3)},
)
"""Of a domain with a tool, and without a contract."""

NOTHING = {
    "field:refund": "the answers have no output fields",
    "field:*": "the answers have no output fields",
    "fields": "the answers have no output fields",
    "tool_accuracy": "no tool was called",
    "contract": "no run was held against a contract",
    "grounded_tsr": "no rule requires a tool",
}


@pytest.mark.parametrize("name", NOTHING)
def test_a_gate_holds_nowhere_where_there_is_nothing_to_measure(name: str) -> None:
    (verdict,) = evaluate([GateSpec(name=name, value=0.0)], {"desk": DESK})

    assert (GateState.INCONCLUSIVE, NOTHING[name]) == (verdict.state, verdict.why)


@pytest.mark.parametrize(
    ("name", "why"),
    [
        ("tier_score", "no answer is asked for as a JSON document"),
        ("field:note", "no output field has this name (fields: refund)"),
        ("contract", "no run was held against a contract"),
    ],
)
def test_a_gate_holds_nowhere_where_nothing_was_declared(name: str, why: str) -> None:
    (verdict,) = evaluate([GateSpec(name=name, value=0.0)], {"claims": CLAIMS})

    assert (GateState.INCONCLUSIVE, why) == (verdict.state, verdict.why)


@pytest.mark.parametrize("name", ["tier_score", "tool_accuracy", "fields", "field:*"])
def test_what_one_domain_measures_makes_no_pass_for_another(name: str) -> None:
    both = {"claims": CLAIMS, "desk": DESK}

    verdicts = evaluate([GateSpec(name=name, value=0.5)], both)

    of = {one.where: one.state for one in verdicts}
    without = "claims" if name == "tier_score" else "desk"
    assert GateState.INCONCLUSIVE is of[without]
    assert GateState.HOLDS is of["desk" if without == "claims" else "claims"]


TRIALS = Summary(
    runs=20,
    tasks=4,
    outcomes={Outcome.CORRECT: 16, Outcome.WRONG: 4},
    trials_by={(5, 5): 2, (5, 4): 1, (5, 2): 1},
)


@pytest.mark.parametrize(
    ("name", "value", "expected"),
    [
        pytest.param("pass_any", 1.0, GateState.HOLDS, id="each task passes once"),
        pytest.param("pass_all", 0.5, GateState.HOLDS, id="half of the tasks pass always"),
        pytest.param("pass_all", 0.51, GateState.FAILS, id="no more than half"),
        pytest.param("task", 0.4, GateState.HOLDS, id="at the rate of the worst task"),
        pytest.param("task", 0.41, GateState.FAILS, id="above it"),
    ],
)
def test_a_gate_on_trials(name: str, value: float, expected: GateState) -> None:
    assert expected is state(name, value, TRIALS)


def test_the_gate_on_every_task_counts_tasks() -> None:
    (verdict,) = evaluate([GateSpec(name="task", value=0.8)], {"lab": TRIALS})

    assert ("every task >= 80%", "3 of 4 tasks", "1 below") == (
        verdict.asked,
        verdict.got,
        verdict.why,
    )


@pytest.mark.parametrize("name", ["pass_any", "pass_all", "task"])
def test_trials_that_were_never_made_leave_a_gate_inconclusive(name: str) -> None:
    assert GateState.INCONCLUSIVE is state(name, 0.1, summary(correct=9, not_run=1))


@pytest.mark.parametrize("name", ["pass_any", "pass_all"])
def test_with_one_trial_nothing_can_be_said_of_several(name: str) -> None:
    """Who forgets the trials must not get a gate that holds."""
    assert GateState.INCONCLUSIVE is state(name, 0.9, summary(correct=10))


def test_tool_accuracy_is_asked_of_all_tools_together() -> None:
    of = Summary(
        runs=1,
        tasks=1,
        outcomes={Outcome.CORRECT: 1},
        tools={"a": ToolCounts(calls=9, bad=0), "b": ToolCounts(calls=1, bad=1)},
    )

    assert GateState.HOLDS is state("tool_accuracy", 0.9, of)


def test_more_unavailable_may_be_tolerated_and_is_never_a_pass_by_itself() -> None:
    of = {"lab": summary(correct=70, unavailable=30)}
    specs = [GateSpec(name="tsr", value=0.5), GateSpec(name="unavailable", value=0.3)]

    assert [GateState.HOLDS] * 2 == [verdict.state for verdict in evaluate(specs, of)]
    assert GateState.INCONCLUSIVE is state("unavailable", 0.29, of["lab"])


def test_a_gate_is_asked_of_every_domain_and_of_all_runs() -> None:
    domains = {"a": summary(correct=9, wrong=1), "b": summary(correct=1, wrong=9)}

    verdicts = evaluate([GateSpec(name="tsr", value=0.5)], domains)

    assert [
        ("a", GateState.HOLDS),
        ("b", GateState.FAILS),
        ("all", GateState.HOLDS),
    ] == [(verdict.where, verdict.state) for verdict in verdicts]


def states(of: dict[str, Summary], *gates: GateSpec) -> dict[str, GateState]:
    return {one.where: one.state for one in evaluate(gates, of) if one.asked.startswith("TSR")}


TSR_AT_HALF = GateSpec(name="tsr", value=0.5)
TOLERANT_OF_A = GateSpec(name="unavailable", value=0.9, domain="a")


def test_what_one_domain_tolerates_is_not_tolerated_in_another() -> None:
    of = {"a": summary(correct=10), "b": summary(correct=6, unavailable=4)}

    assert {
        "a": GateState.HOLDS,
        "b": GateState.INCONCLUSIVE,
        "all": GateState.INCONCLUSIVE,
    } == states(of, TSR_AT_HALF, TOLERANT_OF_A)


def test_what_a_domain_tolerates_leaves_its_gates_and_the_pooled_one_alone() -> None:
    of = {"a": summary(correct=6, unavailable=4), "b": summary(correct=10)}

    assert {GateState.HOLDS} == set(states(of, TSR_AT_HALF, TOLERANT_OF_A).values())


def test_of_several_bounds_the_strictest_counts() -> None:
    of = {"a": summary(correct=6, unavailable=4)}
    strict = GateSpec(name="unavailable", value=0.01)

    assert {"": GateState.INCONCLUSIVE} == states(of, TSR_AT_HALF, TOLERANT_OF_A, strict)


def test_of_several_bounds_on_one_domain_the_strictest_counts() -> None:
    of = {"a": summary(correct=6, unavailable=4)}
    strict = GateSpec(name="unavailable", value=0.01, domain="a")

    assert {"": GateState.INCONCLUSIVE} == states(of, TSR_AT_HALF, TOLERANT_OF_A, strict)


def test_a_bound_on_all_runs_is_asked_of_them_together() -> None:
    of = {"a": summary(correct=10), "b": summary(correct=10)}
    strict = GateSpec(name="unavailable", value=0.0)

    assert {GateState.HOLDS} == set(states(of, TSR_AT_HALF, strict).values())
    of["b"] = summary(correct=999, unavailable=1)
    assert GateState.INCONCLUSIVE is states(of, TSR_AT_HALF, strict)["all"]


def test_a_run_that_never_started_leaves_the_gates_of_all_domains_open() -> None:
    of = {"a": summary(correct=10), "b": summary(correct=9, not_run=1)}

    (verdict,) = evaluate([GateSpec(name="tsr", value=0.5, domain="a")], of)

    assert GateState.INCONCLUSIVE is verdict.state
    assert "1 of 20 runs were never started" == verdict.why


def test_a_run_that_never_started_counts_also_where_no_gate_is_asked_of_it() -> None:
    asked = {"lab": summary(correct=9)}
    doubts = blockers_of([TSR_AT_HALF], asked, {"lab": summary(correct=9, not_run=1)})

    (verdict,) = evaluate([TSR_AT_HALF], asked, doubts)

    assert GateState.INCONCLUSIVE is verdict.state


@pytest.mark.parametrize(
    ("name", "where"),
    [
        pytest.param("lab", "lab (m:x)", id="the comparison tells agents apart"),
        pytest.param("lab (m:x)", "lab", id="the session does"),
    ],
)
def test_a_group_is_known_by_its_domain_whether_or_not_the_agent_is_told(
    name: str, where: str
) -> None:
    doubts = blockers_of([], {name: summary(correct=6, unavailable=4), "labs": summary(correct=1)})

    assert doubts.of(where)
    assert not doubts.of("labs")


@given(st.integers(1, 200), st.data())
def test_a_share_is_not_more_than_itself(runs: int, data: st.DataObject) -> None:
    count = data.draw(st.integers(1, runs))
    of = summary(correct=runs - count, unavailable=count)

    assert GateState.HOLDS is state("unavailable", count / runs, of)


def test_a_gate_on_a_domain_that_left_no_run_is_inconclusive() -> None:
    spec = GateSpec(name="tsr", value=0.0, domain="b")

    (verdict,) = evaluate([spec], {"a": summary(correct=1)})

    assert ("b", GateState.INCONCLUSIVE) == (verdict.where, verdict.state)


@pytest.mark.parametrize("name", gate_names())
def test_every_gate_says_what_it_asked_and_what_it_got(name: str) -> None:
    spec = GateSpec(name=name, value=0.25)

    (verdict,) = evaluate([spec], {"lab": summary(correct=1)})

    metric = gate_metrics().get(name)
    assert (metric.text(0.25) if metric else "25%") in verdict.asked
    assert verdict.got


# Gates as they are written, and read back.

RATES = st.floats(0, 1)


@st.composite
def gates(draw: st.DrawFn) -> GateSpec:
    name = draw(st.sampled_from(names()))
    bounds = {LOST: st.integers(0, 10_000).map(float), P: st.floats(0, 1, exclude_min=True)}
    return GateSpec(
        name=name,
        value=draw(bounds.get(name, RATES)),
        domain=draw(st.from_regex(r"[A-Za-z0-9][A-Za-z0-9._-]*", fullmatch=True) | st.just("")),
    )


@given(gates())
def test_a_gate_is_read_back(gate: GateSpec) -> None:
    assert gate == read_gate(gate_text(gate))


@given(gates())
def test_a_gate_is_read_as_the_header_of_a_session_has_it(gate: GateSpec) -> None:
    assert gate == read_gate(f"{gate.domain}:{gate.name}={gate.value}".lstrip(":"))


@pytest.mark.parametrize(
    ("text", "value"),
    [
        pytest.param("tsr=90%", 0.9, id="per cent"),
        pytest.param("drop=0.05", 0.05, id="rate"),
        pytest.param("lost=3", 3.0, id="tasks"),
        pytest.param("lost=0", 0.0, id="no task"),
        pytest.param("p=0.05", 0.05, id="probability"),
    ],
)
def test_bounds_are_read_by_the_name_of_the_gate(text: str, value: float) -> None:
    assert value == pytest.approx(read_gate(text).value)


@pytest.mark.parametrize(
    ("text", "message"),
    [
        pytest.param("tsr", "write", id="no bound"),
        pytest.param("=1", "write", id="no name"),
        pytest.param("foo=1", "NAME being one of", id="unknown"),
        pytest.param("tsr=nan", "a rate from 0 to 1", id="nan"),
        pytest.param("tsr=1_0%", "a rate from 0 to 1", id="underscore"),
        pytest.param("tsr=1.1", "a rate from 0 to 1", id="above 1"),
        pytest.param("lost=-1", "a number of tasks", id="negative"),
        pytest.param("lost=10%", "a number of tasks", id="share of tasks"),
        pytest.param("p=0", "above 0", id="impossible"),
    ],
)
def test_what_is_no_gate_is_refused(text: str, message: str) -> None:
    with pytest.raises(ValueError, match=message):
        read_gate(text)


def test_a_bound_on_tsr_has_a_short_form() -> None:
    assert GateSpec(name="tsr", value=0.9) == read_fail_under("0.9")
    with pytest.raises(ValueError, match="a rate from 0 to 1"):
        read_fail_under("none at all")


# Gates where several agents ran: each is asked by itself, and one may be named.

GOOD, BAD = "function-calling:openai/gpt-5-mini", "react:openai/o4"


def of_agent(correct: int, runs: int = 10, **others: int) -> Summary:
    outcomes = {Outcome(name): number for name, number in others.items()}
    rest = runs - correct - sum(others.values())
    return Summary(runs=runs, outcomes={Outcome.CORRECT: correct, Outcome.WRONG: rest, **outcomes})


BOTH = {
    f"lab ({GOOD})": of_agent(10),
    f"lab ({BAD})": of_agent(2),
    f"clinic ({GOOD})": of_agent(9),
    f"clinic ({BAD})": of_agent(3),
}


def asked(text: str, of: dict[str, Summary] | None = None) -> dict[str, str]:
    return {
        one.where: f"{one.state.value} {one.got}"
        for one in evaluate([read_gate(text)], BOTH if of is None else of)
    }


def test_a_gate_without_a_name_is_asked_of_each_agent_and_never_of_both_together() -> None:
    assert {
        f"lab ({GOOD})": "holds 100%",
        f"lab ({BAD})": "does not hold 20%",
        f"clinic ({GOOD})": "holds 90%",
        f"clinic ({BAD})": "does not hold 30%",
        f"all ({GOOD})": "holds 95%",
        f"all ({BAD})": "does not hold 25%",
    } == asked("tsr=0.6")


@pytest.mark.parametrize("name", [GOOD, "gpt-5-mini"], ids=["by-its-spec", "by-its-label"])
def test_a_gate_may_name_an_agent(name: str) -> None:
    found = asked(f"tsr=0.6@{name}")

    assert {f"lab ({GOOD})", f"clinic ({GOOD})", f"all ({GOOD})"} == found.keys()


def test_a_gate_may_name_a_domain_and_an_agent() -> None:
    assert {f"lab ({BAD})": "holds 20%"} == asked("lab:tsr=0.2@o4")


def test_a_gate_on_an_agent_that_did_not_run_is_inconclusive() -> None:
    assert {"all (nobody)": "inconclusive n/a"} == asked("tsr=0@nobody")


def test_the_one_agent_of_a_session_may_be_named() -> None:
    gate = read_gate("tsr=0.6@gpt-5-mini")

    (verdict,) = evaluate([gate], {"lab": of_agent(9)}, agents={"lab": GOOD})

    assert GateState.HOLDS is verdict.state


def test_unavailable_runs_of_one_agent_leave_the_others_gates_alone() -> None:
    of = {**BOTH, f"lab ({BAD})": of_agent(5, unavailable=5)}

    found = asked("tsr=0.6", of)

    assert "holds 100%" == found[f"lab ({GOOD})"]
    assert "holds 95%" == found[f"all ({GOOD})"]
    assert "inconclusive n/a" == found[f"lab ({BAD})"]
    assert "inconclusive n/a" == found[f"all ({BAD})"]


def test_a_bound_on_unavailable_runs_may_be_that_of_one_agent() -> None:
    of = {name: of_agent(5, unavailable=5) for name in BOTH}
    gates = [read_gate("tsr=0.5"), read_gate("unavailable=0.5@gpt-5-mini")]

    states = {one.where: one.state for one in evaluate(gates, of) if one.asked.startswith("TSR")}

    assert GateState.HOLDS is states[f"lab ({GOOD})"]
    assert GateState.INCONCLUSIVE is states[f"lab ({BAD})"]


@pytest.mark.parametrize(
    "text",
    ["tsr=0.9@gpt-5-mini", "lab:lost=2@a@b", "p=0.05@one=two"],
    ids=["plain", "at", "equals"],
)
def test_a_gate_with_an_agent_reads_as_it_is_written(text: str) -> None:
    assert text == gate_text(read_gate(text))


def test_the_agent_stands_behind_the_value() -> None:
    assert GateSpec(name="tsr", value=0.9, domain="lab", agent="a:b/c") == read_gate(
        "lab:tsr=90%@a:b/c"
    )
    with pytest.raises(ValueError, match=r"write \[DOMAIN:\]NAME=VALUE\[@AGENT\]"):
        read_gate("tsr=0.9@")


def test_a_gate_is_asked_also_where_no_run_is_left_to_ask_of() -> None:
    (verdict,) = evaluate([read_gate("tsr=0")], {})

    assert GateState.INCONCLUSIVE is verdict.state
    assert verdict.why.startswith("no run was planned")


# Runs of which no gate is checked: what a gate on others must not forgive.


def shares(correct: int, wrong: int, *fields: str) -> Summary:
    return Summary(
        runs=correct + wrong,
        outcomes={Outcome.CORRECT: correct, Outcome.WRONG: wrong},
        by_field={name: FieldCounts(right=correct, runs=correct + wrong) for name in fields},
    )


TWO_DOMAINS = {"lab": shares(10, 0, "grade"), "clinic": shares(7, 3, "ward")}
TWO_AGENTS = {"lab (a)": shares(10, 0), "lab (b)": shares(6, 4)}


def unasked(of: dict[str, Summary], *gates: str) -> dict[str, str]:
    found = unasked_verdicts([*map(read_gate, gates)], of)
    return {one.where: f"{one.state.value} {one.got}" for one in found}


@pytest.mark.parametrize(
    "gates",
    [
        pytest.param(["tsr=0.5"], id="every domain"),
        pytest.param(["clinic:ecr=0.5"], id="the one with misses"),
        pytest.param(["lab:tsr=1", "clinic:tsr=0"], id="each by its name"),
        pytest.param(["clinic:lost=0"], id="a comparison of it"),
        pytest.param(["field:ward=0.5"], id="a field that only it has"),
        pytest.param(["field:*=0"], id="every field"),
    ],
)
def test_misses_are_looked_at_by_gates_on(gates: list[str]) -> None:
    assert {} == unasked(TWO_DOMAINS, *gates)


@pytest.mark.parametrize(
    "gates",
    [
        pytest.param(["lab:tsr=0.5"], id="another domain"),
        pytest.param(["lab:lost=0"], id="a comparison of another domain"),
        pytest.param(["field:grade=0.5"], id="a field that only another domain has"),
        pytest.param(["lab:tsr=0.5", "clinic:unavailable=0.5"], id="what others tolerate of it"),
        pytest.param(["nobody:tsr=0.5", "lab:tsr=1"], id="a domain that did not run"),
    ],
)
def test_misses_are_not_looked_at_by_gates_on(gates: list[str]) -> None:
    assert {"clinic": "does not hold 3"} == unasked(TWO_DOMAINS, *gates)


@pytest.mark.parametrize("gate", ["tsr=0.9@a", "lab:tsr=0.9@a"])
def test_an_agent_that_no_gate_names_is_told_and_fails_nothing(gate: str) -> None:
    told = unasked_agents([read_gate(gate)], TWO_AGENTS)

    assert ["lab (b): no gate is checked; 4 of 10 are not correct"] == [*told]
    assert {} == unasked(TWO_AGENTS, gate)


def test_agents_of_a_domain_of_which_no_gate_is_asked_fail_it() -> None:
    both = {**TWO_AGENTS, "clinic (a)": shares(9, 1), "clinic (b)": shares(10, 0)}

    assert {"clinic (a)": "does not hold 1"} == unasked(both, "lab:tsr=0.9@a")


def test_a_domain_without_misses_needs_no_gate() -> None:
    assert {} == unasked(TWO_DOMAINS, "clinic:tsr=0.5")
