"""Sessions that were saved before lines had checksums: read, resumed, compared, gated as before.

They were written by the version before, of a domain of six tasks in which R4 is wrong:
`finished` came to its end, `cut_short` ended when R5 killed its process, `trials_gates` has two
trials and was asked gates, `shard1` and `shard2` are its parts, `slim` is its baseline.
"""

from __future__ import annotations

import shutil
from pathlib import Path

import pytest

from pytest_sopbench._core.comparing.comparison import NotCompared
from pytest_sopbench._core.gates.conditions import GateSpec, GateState
from pytest_sopbench._sessions.commands.compare import compare_saved
from pytest_sopbench._sessions.commands.gate import ask_gates
from pytest_sopbench._sessions.commands.merge import merge_shards
from pytest_sopbench._sessions.commands.resume import read_resumable
from pytest_sopbench._sessions.reading.planned import recorded_gates, summaries_of
from pytest_sopbench._sessions.reading.reader import SavedSession, read_session
from pytest_sopbench.errors import SessionFileError

DATA = Path(__file__).parent / "data"


def older(name: str) -> SavedSession:
    return read_session(DATA / f"{name}.jsonl")


@pytest.mark.parametrize(
    ("name", "runs", "correct"),
    [
        pytest.param("finished", 6, 5, id="finished"),
        pytest.param("cut_short", 6, 3, id="cut short"),
        pytest.param("trials_gates", 12, 10, id="trials"),
    ],
)
def test_an_older_session_comes_to_what_it_came_to(name: str, runs: int, correct: int) -> None:
    summary = summaries_of(older(name))["refunds"]

    assert (runs, correct) == (summary.runs, summary.correct)


def test_only_what_it_is_unchecked_is_told_of_a_session_that_is_whole() -> None:
    for name in ("finished", "trials_gates", "slim", "shard1", "shard2"):
        assert 1 == len(older(name).problems), name
        assert () == older(name).doubts


def test_gates_are_asked_as_before() -> None:
    saved = older("trials_gates")

    gated = ask_gates(
        saved, recorded_gates(saved), comparison=compare_saved(older("finished"), saved)
    )

    assert GateState.HOLDS is gated.state
    assert 3 == len(gated.verdicts)
    cut = ask_gates(older("cut_short"), [GateSpec(name="tsr", value=0.1)])
    assert GateState.INCONCLUSIVE is cut.state


@pytest.mark.parametrize("baseline", ["finished", "slim"])
def test_a_session_that_was_cut_short_is_compared(baseline: str) -> None:
    found = compare_saved(older(baseline), older("cut_short")).pooled

    assert 5 == found.paired
    assert [NotCompared.NO_EVIDENCE] == list(found.aside.values())
    assert ["R5"] == [key.task for key in found.lost]


def test_what_a_session_finished_is_taken_over(tmp_path: Path) -> None:
    shutil.copy(DATA / "cut_short.jsonl", tmp_path)

    left = read_resumable(tmp_path / "cut_short.jsonl", ())

    assert {"R1", "R2", "R3", "R4"} == {key.task for key in left.finished}
    assert () == left.problems


def test_shards_that_do_not_tell_their_share_are_no_whole() -> None:
    """Nobody could prove that they are all that was to be shared out."""
    with pytest.raises(SessionFileError, match="an older version made it") as refused:
        merge_shards([older("shard1"), older("shard2")])

    assert refused.value.hint == "run that shard again"
