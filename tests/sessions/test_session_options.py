"""The options in a header: an object of names on disk, each with its type for whoever asks."""

from __future__ import annotations

import json
from dataclasses import fields, replace
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.model.task import TaskName
from pytest_sopbench._sessions.file.writer import sealed_session
from pytest_sopbench._sessions.header import (
    SessionHeader,
    SessionOptions,
    options_to_json,
    read_session_options,
)
from pytest_sopbench._sessions.reading.reader import read_session
from pytest_sopbench._settings.readers import Shard
from pytest_sopbench.errors import SessionFileError

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

TYPED: dict[str, st.SearchStrategy[Any]] = {
    **dict.fromkeys(("selection", "gates", "broken", "resumed_anyway"), TEXTS),
    **dict.fromkeys(("trials", "max_calls", "retries", "failures"), COUNTS),
    **dict.fromkeys(("scoring", "contract", "approver", "replay", "not_evaluated"), TEXT),
    **dict.fromkeys(("compare", "prices", "reason", "rescored"), TEXT),
    **dict.fromkeys(("quarantined", "must_pass", "expired"), NAMES),
    **dict.fromkeys(("prompts", "setups", "replay_misses", "variants"), OBJECTS),
    "may_break": NAMES.flatmap(
        lambda names: st.fixed_dictionaries({one: st.lists(TEXT).map(tuple) for one in names})
    ),
    "agents": st.dictionaries(TEXT, TEXT, max_size=2),
    "concurrency": COUNTS | st.just("auto"),
    "timeout": st.none() | st.floats(0, 1e9) | st.integers(0, 10**9),
    "judge": st.none() | st.dictionaries(TEXT, VALUES, min_size=1, max_size=2),
    "doubtful": st.dictionaries(TEXT, st.dictionaries(TEXT, TEXT, max_size=2), max_size=2),
    "resumed": st.lists(VALUES, max_size=2).map(tuple),
    "slim": st.booleans(),
}
"""A strategy for each option, by its name."""

STANDS = st.dictionaries(st.sampled_from([*TYPED, "later"]), VALUES, max_size=6)
"""What may stand in a header, which nobody has checked."""


@st.composite
def some_options(draw: st.DrawFn) -> SessionOptions:
    """Options of a new session, or of one that was read and changed since."""
    changes = draw(st.fixed_dictionaries({}, optional=TYPED))
    counts = {"records_failures": True} if "failures" in changes else {}
    base = draw(st.just(SessionOptions()) | STANDS.map(read_session_options))
    return replace(base, **changes, **counts)


def as_read(options: SessionOptions) -> SessionOptions:
    return read_session_options(json.loads(json.dumps(options_to_json(options))))


def test_every_option_has_a_strategy_here() -> None:
    names = [one.name for one in fields(SessionOptions)]

    assert [*sorted(TYPED), "records_failures", "stands"] == [*sorted(names[:-2]), *names[-2:]]


@given(some_options())
def test_what_is_written_is_what_is_read(options: SessionOptions) -> None:
    assert options == as_read(options)


@given(STANDS)
def test_what_is_read_is_written_as_it_stood(stands: dict[str, Any]) -> None:
    written = options_to_json(read_session_options(stands))

    assert json.dumps(stands) == json.dumps(written)


@given(STANDS, st.fixed_dictionaries({}, optional=TYPED))
def test_a_change_touches_no_other_option(stands: dict[str, Any], changes: dict[str, Any]) -> None:
    """Unknown ones, and those of a wrong type, stay too."""
    changes.pop("failures", None)

    written = options_to_json(replace(read_session_options(stands), **changes))

    others = {name: value for name, value in stands.items() if name not in changes}
    assert json.dumps(others) == json.dumps(
        {name: value for name, value in written.items() if name not in changes}
    )


def test_an_option_that_was_emptied_is_gone_unless_a_session_always_has_it() -> None:
    options = read_session_options({"prices": "of May", "gates": ["tsr=0.9"], "later": 1})

    emptied = replace(options, prices="", gates=())

    assert {"gates": [], "later": 1} == options_to_json(emptied)


def test_a_new_session_writes_what_it_was_asked_for_and_what_it_knows() -> None:
    told = options_to_json(SessionOptions(trials=2, replay="only"))

    assert [
        *("selection", "trials", "gates", "max_calls", "concurrency", "timeout", "retries"),
        *("scoring", "contract", "approver", "replay"),
    ] == [*told]


def test_a_session_that_recorded_nothing_says_nothing() -> None:
    assert SessionOptions() == read_session_options({"of another version": [1]})


@pytest.mark.parametrize(
    ("options", "expected"),
    [
        pytest.param(
            {"selection": ["--sop-limit=3", "--sop-shard=2/4"]},
            {"selection": ("--sop-limit=3", "--sop-shard=2/4")},
            id="a selection",
        ),
        pytest.param({"gates": ["tsr=0.9"]}, {"gates": ("tsr=0.9",)}, id="a gate"),
        pytest.param(
            {"must_pass": ["lab/a/b"]}, {"must_pass": (TaskName("lab", "a/b"),)}, id="a task"
        ),
        pytest.param({"failures": 2}, {"failures": 2, "records_failures": True}, id="failures"),
        pytest.param({"failures": None}, {"records_failures": True}, id="failures unknown"),
        pytest.param({"failures": True}, {"records_failures": True}, id="no number"),
        pytest.param({"failures": -1}, {"records_failures": True}, id="less than none"),
        pytest.param({"not_evaluated": None, "compare": ""}, {}, id="empty"),
        pytest.param({"gates": "tsr=0.9", "expired": {}}, {}, id="of another type"),
        pytest.param({"slim": True}, {"slim": True}, id="slim"),
        pytest.param({"slim": 1}, {}, id="not slim"),
    ],
)
def test_what_is_recorded_has_its_type(options: dict[str, Any], expected: dict[str, Any]) -> None:
    assert replace(SessionOptions(), **expected) == read_session_options(options)


def test_the_shard_is_among_what_selected_the_tasks() -> None:
    options = SessionOptions(selection=("--sop-limit=3", "--sop-shard=2/4"))

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
