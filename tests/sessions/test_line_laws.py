"""Each kind of line has one writer and one reader, and they are inverse."""

from __future__ import annotations

import json
from typing import Any

from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench import Outcome, RunKey, RunRecord
from pytest_sopbench._core.model.task import Share
from pytest_sopbench._core.records.record import CallRecord
from pytest_sopbench._sessions.header import (
    DomainHeader,
    GitState,
    PlannedTasks,
    SessionHeader,
    SessionOptions,
    header_from_json,
    header_to_line,
)
from pytest_sopbench._sessions.lines import read_line
from pytest_sopbench._sessions.writer import (
    slim_from_json,
    slim_to_line,
    slimmed,
    start_to_line,
)

TEXT = st.text(max_size=6)
NAMES = st.lists(TEXT, max_size=3).map(tuple)
TEXTS = st.dictionaries(TEXT, TEXT, max_size=2)
KEYS = st.builds(RunKey, domain=TEXT, task=TEXT, trial=st.integers(1, 99), agent=TEXT)
PLANNED: dict[str, st.SearchStrategy[Any]] = {
    "planned": NAMES,
    "trials": st.integers(1, 9),
    "some_trials": st.dictionaries(TEXT, st.lists(st.integers(1, 9)).map(tuple), max_size=2),
}
SHARES = st.builds(Share, tasks=st.integers(0, 99), digest=TEXT, part=st.integers(0, 2**40))
DOMAINS = st.builds(
    DomainHeader,
    **PLANNED,
    **dict.fromkeys(("sop", "specs", "tools", "data", "judging"), TEXT),
    agents=st.dictionaries(TEXT, st.builds(PlannedTasks, **PLANNED), max_size=2),
    share=st.none() | SHARES,
    comparers=TEXTS,
)
HEADERS = st.builds(
    SessionHeader,
    **dict.fromkeys(("plugin", "agent", "started", "judging", "identity"), TEXT),
    agent_args=TEXTS,
    options=st.builds(
        SessionOptions,
        gates=NAMES,
        scoring=TEXT,
        agents=TEXTS,
        failures=st.none() | st.integers(0, 9),
    ),
    git=st.none() | st.builds(GitState, commit=TEXT.filter(bool), dirty=st.booleans()),
    domains=st.dictionaries(TEXT, DOMAINS, max_size=2),
)


@given(HEADERS)
def test_a_header(header: SessionHeader) -> None:
    line = header_to_line(header)

    found = header_from_json(json.loads(line))

    assert header == found
    assert line == header_to_line(found)


@given(KEYS)
def test_the_start_of_a_run(key: RunKey) -> None:
    assert key == RunKey.read(read_line("start", json.loads(start_to_line(key))))


@given(KEYS, st.sampled_from(Outcome), NAMES, TEXT)
def test_a_slim_line(key: RunKey, outcome: Outcome, calls: tuple[str, ...], text: str) -> None:
    run = RunRecord(
        **key._asdict(),
        outcome=outcome,
        task_hash=text,
        text=text,
        calls=tuple(CallRecord(name=name, arguments=text) for name in calls),
    )

    assert slimmed(run) == slim_from_json(read_line("slim", json.loads(slim_to_line(run))))
