"""The tape around one attempt: of which task and trial it is."""

from __future__ import annotations

import json
from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_sopbench import RunKey, Trace
from pytest_sopbench._core.model.trace import (
    EMPTY,
    NO_RECORDING,
    UNUSED,
    Ending,
    Problem,
    Returned,
    ReturnedKind,
)
from pytest_sopbench._core.records.redaction import NOTHING_REDACTED
from pytest_sopbench._hooks.replaying import UNASKED, Tapes
from pytest_sopbench._replay.cassette_lines import TaskPlace
from pytest_sopbench._replay.exchange import Recording, Request, Response, Shaping
from pytest_sopbench._replay.run_tape import RunTape, current_tape
from pytest_sopbench.errors import CassetteError

ASKED = Request(method="POST", url="https://api.example.com/v1/chat", body=b'{"turn": 1}')
FIRST = Response(status=200, chunks=(b'{"said": "first"}',))
SECOND = Response(status=200, chunks=(b'{"said": "second"}',))


PLACE = TaskPlace("mypkg:agent", "lab", "T_01")
KEY = RunKey("lab", "T_01", 1, "mypkg:agent")
REF = cast("Any", SimpleNamespace(key=KEY))
RETURNED = Trace(
    ending=Ending.RETURNED, returned=Returned(kind=ReturnedKind.MAPPING, mapping={"grade": "pass"})
)


def recording_of(response: Response) -> Recording:
    tape = RunTape("record", Recording(), Shaping())
    tape.answer(ASKED)
    tape.keep(ASKED, response)
    return Recording(exchanges=tape.taken.exchanges, recorded="2026-10-12T08:00:00+00:00")


@pytest.fixture
def tapes(tmp_path: Path) -> Tapes:
    replay = SimpleNamespace(folder=tmp_path, ignored=(), changing=())
    options = SimpleNamespace(retries=0, redaction=NOTHING_REDACTED, replay=replay)
    return Tapes(cast("Any", SimpleNamespace(options=options, shown=str)), "only")


@pytest.mark.parametrize(
    ("trial", "recorded"),
    [pytest.param(1, FIRST, id="the first"), pytest.param(2, SECOND, id="the second")],
)
def test_a_trial_is_served_its_own_recording(tapes: Tapes, trial: int, recorded: Response) -> None:
    for number, response in ((1, FIRST), (2, SECOND)):
        tapes.store.keep(PLACE, number, recording_of(response), trials=2)

    with tapes.pytest_sop_wrap_run(RunKey("lab", "T_01", trial, "mypkg:agent"), 1):
        tape = current_tape()
        served = tape.answer(ASKED) if tape is not None else None

    assert served is not None
    assert json.loads(recorded.body) == json.loads(served.body)


def test_run_whose_recording_was_changed_by_hand_is_unavailable_and_says_what_to_do(
    tapes: Tapes,
) -> None:
    tapes.store.keep(PLACE, 1, recording_of(FIRST), trials=1)
    (path,) = tapes.store.root.rglob("*.jsonl")
    path.write_text(path.read_text().replace("first", "better"))
    raised = Trace(ending=Ending.RAISED, problem=Problem(type="E", message="", traceback="ours"))

    with pytest.raises(CassetteError), tapes.pytest_sop_wrap_run(KEY, 1):
        pass
    trace = tapes.settle(REF, raised)

    assert trace.ending is Ending.UNAVAILABLE
    assert trace.problem is not None
    assert not trace.problem.traceback
    why, where, hint = trace.problem.message.splitlines()
    assert why == "trial 1: changed since it was recorded, its checksum is missing or does not fit"
    assert where == f"in {path}"
    assert "--sop-replay=record" in hint


@pytest.mark.parametrize(
    ("recording", "note"),
    [
        pytest.param(recording_of(FIRST), f"{NO_RECORDING} {UNASKED}", id="one"),
        pytest.param(
            Recording(recorded="2026-10-12T08:00:00+00:00"), f"{UNUSED} {EMPTY}", id="empty"
        ),
    ],
)
def test_run_that_sends_nothing_says_that_its_recording_was_not_used(
    tapes: Tapes, recording: Recording, note: str
) -> None:
    tapes.store.keep(PLACE, 1, recording, trials=1)

    with tapes.pytest_sop_wrap_run(KEY, 1):
        pass

    assert (note,) == tapes.settle(REF, RETURNED).notes


def test_run_without_a_recording_that_sends_nothing_says_nothing(tapes: Tapes) -> None:
    with tapes.pytest_sop_wrap_run(KEY, 1):
        pass

    assert () == tapes.settle(REF, RETURNED).notes
