"""How many runs this process may have in flight, and how far it may run ahead of its tests."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Any, Final

import pytest

from pytest_sopbench._hooks.settings.options import Options
from pytest_sopbench._running.engine.adaptive import HIGHEST, START, Limit

AHEAD: Final = 8
"""Runs that may be begun before their tests come, for each run in flight: a run that takes long
holds up the tests behind it, and with fewer the others would soon stand still."""

SHARE: Final = "sop_share"
"""What a worker is told: its part of the session's concurrency."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How a process makes its runs.

    `ahead` is how many runs may be begun before their tests come. Where `direct`, each run is
    made in the main thread, without a limit of time, when its test asks for it.
    """

    limit: Limit
    ahead: int
    timeout: float | None
    direct: bool


def pace_of(config: pytest.Config, options: Options) -> Pace:
    """Return the pace of this process, which may be one of several workers."""
    if needs_main_thread(config):
        return Pace(limit=Limit.fixed(1), ahead=0, timeout=None, direct=True)
    limit = _limit(config, options)
    direct = limit.highest == 1 and options.timeout is None
    # One run at a time begins when its test asks, as a test's own code would do it.
    ahead = options.lookahead
    if ahead is None:
        ahead = AHEAD * limit.highest if limit.highest > 1 else 0
    if _stops_early(config) or (options.budget.usd is not None and hasattr(config, "workerinput")):
        # What is begun beyond the test that ends the session is paid for in vain, and what a
        # worker has spent the controller learns in the order of the tests.
        ahead = min(ahead, limit.highest)
    return Pace(limit=limit, ahead=0 if direct else ahead, timeout=options.timeout, direct=direct)


def needs_main_thread(config: pytest.Config) -> bool:
    """Tell whether the user wants to talk to the agent, by a debugger or at the terminal."""
    option = config.option
    return bool(option.usepdb or option.trace or getattr(option, "capture", "") == "no")


def shares(total: int, workers: int) -> list[int]:
    """Share `total` runs in flight out among workers, as evenly as whole numbers allow."""
    least, more = divmod(total, workers)
    return [least + (place < more) for place in range(workers)]


def _limit(config: pytest.Config, options: Options) -> Limit:
    workerinput: dict[str, Any] = getattr(config, "workerinput", {})
    workers: int = workerinput.get("workercount", 1)
    if options.concurrency is None:
        return Limit.fixed(1)
    if options.concurrency == "auto":
        return Limit.adaptive(start=max(1, START // workers), highest=max(1, HIGHEST // workers))
    # A worker that takes over from a dead one is told its share; without a controller of ours
    # that could tell it, the smaller share never is too much.
    least = max(1, options.concurrency // workers)
    return Limit.fixed(workerinput.get(SHARE, least))


def _stops_early(config: pytest.Config) -> bool:
    return bool(config.getoption("maxfail", 0))
