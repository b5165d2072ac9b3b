"""The steps of the agent are those that were approved; a change of them is a diff to be read."""

from __future__ import annotations

from typing import Any


def test_steps_are_the_approved_ones(sop_run: Any, sop_snapshot: Any) -> None:
    sop_run.assert_correct()
    assert sop_run.trajectory == sop_snapshot
