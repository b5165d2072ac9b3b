"""What a session is about to make, said before its first run: how many runs, and the last time."""

from __future__ import annotations

from collections.abc import Collection, Iterator

from pytest_sopbench._core.model.keys import RunKey
from pytest_sopbench._hooks.runs.resumed_runs import taken_over_of
from pytest_sopbench._hooks.session.pace import needs_main_thread
from pytest_sopbench._hooks.session.partial import is_narrowed
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._reports.text.numbers import counted, minutes, money
from pytest_sopbench._sessions.folder.last_time import LastSession, read_last
from pytest_sopbench._sessions.folder.pointer import followed, last_path
from pytest_sopbench._settings.readers import AUTO

IN_MAIN = "sop: runs are made one at a time in the main thread, without a limit of time"
SHORT = 1.0
"""Seconds; what took no longer than that need not be announced."""


def forecast_of_plan(sop: SopSession) -> Iterator[str]:
    """Say what is planned and not taken over, once items are collected."""
    planned, taken = sop.plan.planned, taken_over_of(sop)
    keys = [key for key in planned if not taken.needs_nothing(key)]
    if keys:
        yield from _lines(sop, keys, {key.domain for key in planned})


def forecast_of_options(sop: SopSession) -> Iterator[str]:
    """Say what the options select, where only workers will know what is collected."""
    keys = [
        RunKey(active.domain.name, active.domain.task_ids[position], trial, agent)
        for active in sop.domains
        for position in active.positions
        for trial in range(1, sop.options.trials + 1)
        for agent in sop.agents
    ]
    # What is taken away or taken over, the workers find out.
    at_most = is_narrowed(sop.config) or sop.options.resume is not None
    domains = {active.domain.name for active in sop.domains}
    yield from _lines(sop, keys, domains, at_most=at_most)


def _lines(
    sop: SopSession,
    keys: Collection[RunKey],
    domains: Collection[str],
    *,
    at_most: bool = False,
) -> Iterator[str]:
    if needs_main_thread(sop.config):
        yield IN_MAIN
    tasks = len({(key.domain, key.task) for key in keys})
    most = max(key.trial for key in keys) if keys else 1
    in_flight = _in_flight(sop)
    before = _last_time(sop, None if at_most else len(keys), domains)
    if most > 1 or in_flight or before:
        runs = _runs(tasks, most, len(keys))
        yield f"sop: {'up to ' if at_most else ''}{runs}{in_flight}{before}"


def _runs(tasks: int, trials: int, runs: int) -> str:
    if trials == 1:
        return counted(runs, "run")
    if tasks * trials == runs:
        return f"{counted(tasks, 'task')} x {trials} = {counted(runs, 'run')}"
    return f"{counted(runs, 'run')} of {counted(tasks, 'task')}"


def _in_flight(sop: SopSession) -> str:
    options = sop.options
    if options.concurrency is None or needs_main_thread(sop.config):
        return ""
    if options.concurrency == AUTO:
        return ", as many in flight as the provider bears"
    return f", {options.concurrency} in flight"


def _last_time(sop: SopSession, runs: int | None, domains: Collection[str]) -> str:
    last = read_last(followed(last_path(sop.options.sessions_dir)))
    if last is None or last.agent != sop.agent_shown or last.domains != frozenset(domains):
        return ""
    now = sop.options.replay
    if (last.replay in {"only", "auto"}) != now.serves:
        # What is replayed takes no time, and costs nothing.
        return ""
    if last.duration_s < SHORT and not last.cost_usd:
        return ""
    made = "" if last.runs == runs else f"{counted(last.runs, 'run')} in "
    cost = "" if last.cost_usd is None else f", {money(last.cost_usd)}"
    return f"; last time {made}{minutes(last.duration_s)}{_other_pace(sop, last)}{cost}"


def _other_pace(sop: SopSession, last: LastSession) -> str:
    """Say how many runs were in flight last time, where that is not as many as now."""
    now = 1 if needs_main_thread(sop.config) else sop.options.concurrency
    if (last.concurrency or 1) == (now or 1):
        return ""
    if last.concurrency is None:
        return " without --sop-concurrency"
    if last.concurrency == AUTO:
        return f" with --sop-concurrency={AUTO}"
    return f" with {last.concurrency} in flight"
