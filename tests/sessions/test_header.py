"""The first line of a saved session."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import Outcome, RunKey, RunRecord, SavedSession
from pytest_sopbench._core.gates.calibration import JudgedField, JudgeReport
from pytest_sopbench._core.model.task import TaskName
from pytest_sopbench._core.model.trace import Usage
from pytest_sopbench._sessions.commands import resume as learned_options
from pytest_sopbench._sessions.header import (
    DomainHeader,
    PlannedTasks,
    SessionHeader,
    SessionOptions,
    header_from_json,
    header_to_line,
    options_to_json,
    planned_tasks,
    read_session_options,
)
from pytest_sopbench._sessions.reader import read_session
from pytest_sopbench._sessions.saved import never_started, planned_records, signs_of
from pytest_sopbench._sessions.writer import sealed_session
from pytest_sopbench._settings.readers import Shard
from pytest_sopbench.errors import SessionFileError
from tests.builders.runs import run


def test_a_header_comes_back_from_its_line(header: SessionHeader) -> None:
    line = header_to_line(header)

    assert header == header_from_json(json.loads(line))


def test_a_header_says_first_what_it_is(header: SessionHeader) -> None:
    line = header_to_line(header)

    assert line.startswith('{"type":"header","schema":1,')
    assert line.isascii()
    assert "\n" not in line


def test_a_session_outside_git_has_no_state(header: SessionHeader) -> None:
    bare = replace(header, git=None)

    assert bare == header_from_json(json.loads(header_to_line(bare)))


@pytest.mark.parametrize(
    "key", ["schema", "agent", "domains", "git", "judging", "options", "identity"]
)
def test_a_missing_key_is_named(header: SessionHeader, key: str) -> None:
    data = json.loads(header_to_line(header))
    del data[key]

    with pytest.raises(ValueError, match=key):
        header_from_json(data)


@pytest.mark.parametrize("key", ["trials", "agents", "share", "judging"])
def test_a_missing_key_of_a_domain_is_named(header: SessionHeader, key: str) -> None:
    data = json.loads(header_to_line(header))
    del data["domains"]["refunds"][key]

    with pytest.raises(ValueError, match=f"missing or unknown keys: 'domains.refunds.{key}'"):
        header_from_json(data)


def test_an_unknown_key_is_refused(header: SessionHeader) -> None:
    """It would be lost when the header is written again."""
    data = json.loads(header_to_line(header))
    data["later"] = 1

    with pytest.raises(ValueError, match="missing or unknown keys: 'later'"):
        header_from_json(data)


def test_domains_of_another_shape_are_refused(header: SessionHeader) -> None:
    data = json.loads(header_to_line(header))
    data["domains"] = ["refunds"]

    with pytest.raises(ValueError, match="domains"):
        header_from_json(data)


def test_planned_trials_are_the_same_for_each_task_or_named() -> None:
    tasks = {"T1": [1, 2, 3], "T2": [2], "T3": [3, 1, 2]}

    plan = planned_tasks(tasks)

    assert PlannedTasks(planned=("T1", "T2", "T3"), trials=3, some_trials={"T2": (2,)}) == plan
    assert [("T1", 1), ("T3", 1), ("T1", 2), ("T2", 2), ("T3", 2), ("T1", 3), ("T3", 3)] == [
        *plan.runs
    ]


def test_trials_come_back_from_a_line(header: SessionHeader) -> None:
    domain = DomainHeader(planned=("T1", "T2"), trials=2, some_trials={"T2": (2,)})
    whole = replace(header, domains={"lab": domain})

    assert whole == header_from_json(json.loads(header_to_line(whole)))


def test_a_trial_that_two_agents_have_is_one_trial_of_the_task() -> None:
    plan = planned_tasks({"T1": [1, 2, 1, 2], "T2": [2, 2]})

    assert (2, {"T2": (2,)}) == (plan.trials, plan.some_trials)


def test_agents_come_back_from_a_line(header: SessionHeader) -> None:
    agents = {
        "ag:one": PlannedTasks(planned=("T1", "T2"), trials=2, some_trials={"T2": (2,)}),
        "ag:two": PlannedTasks(planned=("T1",)),
    }
    domain = DomainHeader(planned=("T1", "T2"), trials=2, agents=agents)
    whole = replace(header, domains={"lab": domain})

    assert whole == header_from_json(json.loads(header_to_line(whole)))


# What shards learn with their first run: one without a run is a part all the same.

TOLD: dict[str, Any] = {
    "trials": 1,
    "prompts": {"a": "3f2a"},
    "setups": {"a": {"model": "m"}},
    "prices": "mine of 2026-11-01",
}


def unlike(one: dict[str, Any], other: dict[str, Any]) -> Any:
    return learned_options.unlike(read_session_options(one), read_session_options(other))


def test_a_shard_without_a_run_differs_in_nothing() -> None:
    assert ({}, {}) == unlike(TOLD, {"trials": 1})


def test_another_prompt_is_another_session() -> None:
    other = {**TOLD, "prompts": {"a": "91bc"}}

    assert ({"prompts": {"a": "3f2a"}}, {"prompts": {"a": "91bc"}}) == unlike(TOLD, other)


def test_other_prices_are_no_other_session() -> None:
    assert ({}, {}) == unlike(TOLD, {**TOLD, "prices": "mine of 2026-12-01"})


def test_all_prices_of_the_parts_are_named() -> None:
    parts = [
        read_session_options(one)
        for one in ({"trials": 1}, TOLD, {**TOLD, "prices": "mine of 2026-12-01"})
    ]

    whole = learned_options.learned(SessionOptions(), parts)

    assert "mine of 2026-11-01, mine of 2026-12-01" == whole.prices
    assert {"a": "3f2a"} == whole.prompts


# The options in a header: an object of names on disk, each with its type for whoever asks.

TEXT = st.text(st.characters(exclude_categories=["Cs"]), max_size=6)
TEXTS = st.lists(TEXT, max_size=2).map(tuple)
COUNTS = st.none() | st.integers(0, 10**9)
NAMES = st.lists(
    st.builds(TaskName, domain=st.sampled_from(["lab", "refunds"]), task=TEXT), max_size=2
).map(tuple)
VALUES: st.SearchStrategy[Any] = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats(allow_nan=False) | TEXT,
    lambda inner: st.lists(inner, max_size=2) | st.dictionaries(TEXT, inner, max_size=2),
    max_leaves=4,
)
OBJECTS = st.dictionaries(TEXT, VALUES, max_size=2)
SHARES = st.none() | st.floats(-1, 1) | st.integers(-1, 1)
JUDGES = st.builds(
    JudgeReport,
    fields=st.lists(
        st.builds(JudgedField, domain=TEXT, field=TEXT, agreement=SHARES, kappa=SHARES, doubt=TEXT),
        max_size=2,
    ).map(tuple),
    asked=st.integers(0, 10**9),
    usage=st.builds(Usage, input_tokens=COUNTS, cost_usd=st.none() | st.floats(0, 9), model=TEXT),
)


def nested(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return st.dictionaries(TEXT, values, max_size=2)


TYPED: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(("selection", "gates", "broken", "resumed_anyway"), TEXTS),
    **dict.fromkeys(("trials", "max_calls", "retries", "failures"), COUNTS),
    **dict.fromkeys(("scoring", "contract", "approver", "replay", "not_evaluated"), TEXT),
    **dict.fromkeys(("compare", "prices", "reason", "rescored"), TEXT),
    **dict.fromkeys(("quarantined", "must_pass", "expired"), NAMES),
    **dict.fromkeys(("setups", "replay_misses"), OBJECTS),
    "variants": nested(nested(nested(nested(TEXT)))),
    "may_break": NAMES.flatmap(
        lambda names: st.fixed_dictionaries({one: st.lists(TEXT).map(tuple) for one in names})
    ),
    **dict.fromkeys(("agents", "metrics", "prompts"), nested(TEXT)),
    "concurrency": COUNTS | st.just("auto"),
    "timeout": st.none() | st.floats(0, 1e9) | st.integers(0, 10**9),
    "judge": st.none() | JUDGES,
    "doubtful": st.dictionaries(TEXT, st.dictionaries(TEXT, TEXT, max_size=2), max_size=2),
    "drafts": st.dictionaries(TEXT, TEXT, max_size=2),
    "resumed": st.lists(VALUES, max_size=2).map(tuple),
    "slim": st.booleans(),
}
"""A strategy for each option, by its name."""

OPTIONS = st.fixed_dictionaries({}, optional=TYPED).map(lambda told: SessionOptions(**told))


def as_read(options: SessionOptions) -> SessionOptions:
    return read_session_options(json.loads(json.dumps(options_to_json(options))))


def test_every_option_has_a_strategy_here() -> None:
    assert {one.name for one in fields(SessionOptions)} == TYPED.keys()


@given(OPTIONS)
def test_what_is_written_is_what_is_read(options: SessionOptions) -> None:
    assert options == as_read(options)


def test_an_option_that_was_emptied_is_gone_unless_a_session_always_has_it() -> None:
    options = SessionOptions(prices="of May", gates=("tsr=0.9",))

    emptied = options_to_json(replace(options, prices="", gates=()))

    assert options_to_json(SessionOptions()) == emptied
    assert [] == emptied["gates"]
    assert "prices" not in emptied


def test_a_new_session_writes_what_it_was_asked_for_and_what_it_knows() -> None:
    told = options_to_json(SessionOptions(trials=2, replay="only"))

    assert [
        *("selection", "trials", "gates", "max_calls", "concurrency", "timeout", "retries"),
        *("scoring", "contract", "approver", "replay", "failures"),
    ] == [*told]


def test_a_session_that_recorded_nothing_says_nothing() -> None:
    assert SessionOptions() == read_session_options({})


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param(
            {"selection": ["--sop-sample=first:3", "--sop-shard=2/4"]},
            {"selection": ("--sop-sample=first:3", "--sop-shard=2/4")},
            id="a selection",
        ),
        pytest.param({"gates": ["tsr=0.9"]}, {"gates": ("tsr=0.9",)}, id="a gate"),
        pytest.param(
            {"must_pass": ["lab/a/b"]}, {"must_pass": (TaskName("lab", "a/b"),)}, id="a task"
        ),
        pytest.param({"failures": 2}, {"failures": 2}, id="failures"),
        pytest.param({"failures": None}, {"failures": None}, id="failures unknown"),
        pytest.param({"slim": True}, {"slim": True}, id="slim"),
    ],
)
def test_what_is_recorded_has_its_type(options: dict[str, Any], expected: dict[str, Any]) -> None:
    assert SessionOptions(**expected) == read_session_options(options)


@pytest.mark.parametrize(
    ("options", "why"),
    [
        pytest.param({"later": 1}, "missing or unknown keys: 'later'", id="unknown"),
        pytest.param({"failures": True}, "'failures' is of a wrong type", id="no number"),
        pytest.param({"failures": -1}, "'failures' is of a wrong type", id="less than none"),
        pytest.param({"gates": "tsr=0.9"}, "'gates' is of a wrong type", id="no list"),
        pytest.param({"slim": 1}, "'slim' is of a wrong type", id="no flag"),
        pytest.param({"compare": None}, "'compare' is of a wrong type", id="no text"),
    ],
)
def test_what_no_session_writes_is_refused(options: dict[str, Any], why: str) -> None:
    with pytest.raises(ValueError, match=why):
        read_session_options(options)


def test_the_shard_is_among_what_selected_the_tasks() -> None:
    options = SessionOptions(selection=("--sop-sample=first:3", "--sop-shard=2/4"))

    assert Shard(number=2, count=4) == options.shard


@pytest.mark.parametrize("shard", ["", "2", "0/4", "5/4", "x/y"])
def test_a_shard_that_means_nothing_passes_for_no_whole(
    tmp_path: Path, header: SessionHeader, shard: str
) -> None:
    made = replace(header, options=SessionOptions(selection=(f"--sop-shard={shard}",)))
    path = tmp_path / "s.jsonl"
    path.write_bytes(b"".join(sealed_session(made, [])))

    with pytest.raises(SessionFileError, match=r"line 1: damaged: .*write i/n"):
        read_session(path)


# Every run that a session planned, also where no line tells of it.

BOTH = ("ag:one", "ag:two")


def run_of(task: str, agent: str, outcome: Outcome = Outcome.CORRECT) -> RunRecord:
    return run(task, outcome, agent=agent)


def every_planned(saved: SavedSession) -> tuple[RunRecord, ...]:
    """Return what a reader of the file makes of it."""
    absent = tuple(never_started(saved, signs_of(saved)))
    return planned_records(replace(saved, absent=absent))


@pytest.fixture
def saved(header: SessionHeader) -> SavedSession:
    """A session of two agents with two tasks each, killed when the second began its first."""
    planned = PlannedTasks(planned=("T1", "T2"))
    domain = DomainHeader(planned=planned.planned, agents=dict.fromkeys(BOTH, planned))
    return SavedSession(
        path=Path("last.jsonl"),
        header=replace(header, domains={"lab": domain}),
        records=(run_of("T1", "ag:one"), run_of("T2", "ag:one")),
        unfinished=(RunKey("lab", "T1", 1, "ag:two"),),
        absent=(),
    )


def test_the_runs_of_one_agent_do_not_stand_for_those_of_another(saved: SavedSession) -> None:
    found = [(one.task, one.agent, one.outcome) for one in every_planned(saved)]

    assert [
        ("T1", "ag:one", Outcome.CORRECT),
        ("T2", "ag:one", Outcome.CORRECT),
        ("T1", "ag:two", Outcome.CRASH),
        ("T2", "ag:two", Outcome.NOT_RUN),
    ] == found


def test_where_agents_were_not_recorded_no_run_is_made_up(saved: SavedSession) -> None:
    """Whether the second agent had the second task, the header of an old session does not say."""
    old = replace(saved.header.domains["lab"], agents={})
    header = replace(saved.header, domains={"lab": old})

    found = [one.outcome for one in every_planned(replace(saved, header=header))]

    assert [Outcome.CORRECT, Outcome.CORRECT, Outcome.CRASH] == found
