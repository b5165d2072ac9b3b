"""What the summary says of recordings that were there and that no run has used."""

from __future__ import annotations

from pathlib import Path
from types import SimpleNamespace
from typing import Any, cast

import pytest

from pytest_sopbench._core.model.trace import EMPTY, REPLAYED, UNUSED
from pytest_sopbench._hooks.replaying import ReplayTotals

SERVED = f"{REPLAYED} 2026-10-12"
LEFT = f"{UNUSED} of its requests none of 2 came"
NOTHING = f"{UNUSED} {EMPTY}"


def summary_of(*notes: str) -> list[str]:
    options = SimpleNamespace(replay=SimpleNamespace(folder=Path("sop_cassettes"), mode="only"))
    config = SimpleNamespace(pluginmanager=SimpleNamespace(get_plugin=lambda _: None))
    totals = ReplayTotals(cast("Any", SimpleNamespace(config=config, options=options, shown=str)))
    for note in notes:
        run = SimpleNamespace(notes=(note,), usage=SimpleNamespace(cost_usd=None))
        totals.pytest_sop_run_finished(cast("Any", run))
    return totals.pytest_sop_summary()


@pytest.mark.parametrize(
    ("notes", "told"),
    [
        pytest.param([LEFT] * 5, "none of 5 recordings was used", id="none"),
        pytest.param([LEFT] * 3 + [SERVED] * 2, "3 of 5 runs used no recording", id="some"),
        pytest.param([NOTHING] * 5, "none of 5 recordings was used", id="nothing recorded"),
        pytest.param([NOTHING, LEFT, SERVED], "1 of 3 runs used no recording", id="one is empty"),
    ],
)
def test_recordings_that_were_not_used_are_an_alarm(notes: list[str], told: str) -> None:
    (alarm,) = [line for line in summary_of(*notes) if line.startswith("alarm")]

    assert alarm.startswith(f"alarm  {told}: does the agent ask its model in another process")


@pytest.mark.parametrize(
    "notes", [pytest.param([SERVED] * 2, id="used"), pytest.param([SERVED, NOTHING], id="as then")]
)
def test_recordings_that_were_used_are_none(notes: list[str]) -> None:
    assert not [line for line in summary_of(*notes) if line.startswith("alarm")]
