"""An ordinary unit test: no fixture of the plugin, so no agent runs for it."""

from __future__ import annotations

from agent import MeterDesk


def test_limits_are_those_of_the_tariff() -> None:
    desk = MeterDesk()

    assert (desk.daily_limit, desk.estimate_per_day) == (60, 10)
