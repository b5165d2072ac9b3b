"""What the controller of xdist tells its workers, and how it shares the items out among them."""

from __future__ import annotations

import json
from collections.abc import Generator, Mapping
from dataclasses import replace
from typing import Any

import pytest

from pytest_sopbench._hooks.items.transport import GIVEN, LEARNED, PLAN
from pytest_sopbench._hooks.results.recorder import SessionRecorder
from pytest_sopbench._hooks.runs.prefetch import RESUMED, taken_over_of
from pytest_sopbench._hooks.runs.reportable import JOURNALS, journal_folder
from pytest_sopbench._hooks.session.consistency import (
    SHOWN,
    check_any_came_up,
    check_worker_started,
    has_workers,
    worker_shown,
)
from pytest_sopbench._hooks.session.domains import SHARE, pace_of, shares
from pytest_sopbench._hooks.session.session import SopSession
from pytest_sopbench._sessions.header import read_session_options

RESTARTS = 10_000
"""Deaths of workers that a session bears whose runs only the workers know."""


class ControllerHooks:
    """The hooks of xdist in its controller."""

    def __init__(self, sop: SopSession, recorder: SessionRecorder) -> None:
        self._sop = sop
        self._recorder = recorder
        self._free: list[int] | None = None
        self._came_up: set[str] = set()
        self._lost = 0

    @pytest.hookimpl(optionalhook=True)
    def pytest_configure_node(self, node: Any) -> None:
        """Tell a worker its part of the runs in flight, and where to keep its journal."""
        total = self._sop.options.concurrency
        if isinstance(total, int):
            if self._free is None:
                self._free = shares(total, node.workerinput["workercount"])
            # A worker that takes over from a dead one takes its share.
            node.workerinput[SHARE] = self._free.pop(0)
        spec = node.gateway.spec
        is_local = bool(spec.popen and not spec.via)
        node.workerinput[RESUMED] = taken_over_of(self._sop).for_worker(local=is_local)
        if is_local:
            journals = journal_folder(self._sop)
            journals.make()
            node.workerinput[JOURNALS] = str(journals.folder)
        else:
            node.workerinput[SHOWN] = worker_shown(node)

    @pytest.hookimpl(optionalhook=True, wrapper=True)
    def pytest_xdist_node_collection_finished(self, node: Any) -> Generator[None, object, object]:
        """Have the saved session opened before xdist hands out the first test.

        A worker ends runs, and writes them down, before its first message of them is read here.
        """
        self._came_up.add(node.gateway.id)
        if plan := journal_folder(self._sop).left_plan():
            self._recorder.learn(plan, node)
        # Whoever refuses the plan does so here; then nothing may be written.
        result = yield
        self._recorder.open_file()
        return result

    @pytest.hookimpl(optionalhook=True)
    def pytest_testnodedown(self, node: Any, error: object) -> None:
        """Take back the share of a dead worker, and stop if one could not come up.

        Raises:
            pytest.UsageError: it could not; xdist would start it again for every task.
        """
        output: Mapping[str, Any] = getattr(node, "workeroutput", {})
        if output.get(PLAN):
            self._recorder.learn(output[PLAN], node)
        # What a worker knows of agents that a fixture has made there.
        learned = read_session_options(json.loads(output.get(LEARNED, "{}")))
        known = self._sop.recorded
        self._sop.recorded = replace(
            known,
            prompts={**learned.prompts, **known.prompts},
            setups={**learned.setups, **known.setups},
        )
        self._sop.given.update(dict.fromkeys(output.get(GIVEN, ())))
        if node.gateway.id not in self._came_up:
            check_worker_started(node, error)
            self._lost += 1
            if not self._came_up:
                check_any_came_up(self._lost, of=node.workerinput["workercount"])
        if self._free is not None and SHARE in node.workerinput:
            self._free.append(node.workerinput[SHARE])

    @pytest.hookimpl(optionalhook=True)
    def pytest_xdist_make_scheduler(self, config: pytest.Config, log: Any) -> object:
        """Schedule by task, unless the user chose another distribution than the usual one."""
        if config.getoption("dist") != "load":
            return None
        from pytest_sopbench._hooks.scheduling import TaskScheduling  # noqa: PLC0415 - xdist is an extra

        workers = count_workers(config)
        pace = pace_of(config, self._sop.options)
        total = self._sop.options.concurrency
        share = shares(total, workers)[0] if isinstance(total, int) else pace.limit.highest
        ahead = pace.ahead * share // pace.limit.highest
        return TaskScheduling(config, log, in_flight=share, ahead=ahead)


def count_workers(config: pytest.Config) -> int:
    """Return how many workers the options of xdist ask for."""
    from xdist.workermanage import parse_tx_spec_config  # type: ignore[import-untyped]  # noqa: PLC0415  # pyright: ignore[reportMissingTypeStubs, reportUnknownVariableType] - xdist is an extra without types

    return len(parse_tx_spec_config(config))  # pyright: ignore[reportUnknownArgumentType] - likewise


def check_shares(sop: SopSession) -> None:
    """Refuse more workers than runs may be in flight: each makes one at least.

    Raises:
        pytest.UsageError: there are more.
    """
    total = sop.options.concurrency
    if not isinstance(total, int) or not has_workers(sop.config):
        return
    workers = count_workers(sop.config)
    if workers > total:
        msg = (
            f"--sop-concurrency={total}: {workers} workers of pytest-xdist would have at least "
            f"{workers} runs in flight\ngive -n {total} or fewer; one process bears hundreds"
        )
        raise pytest.UsageError(msg)


def raise_restart_limit(config: pytest.Config, runs: int = RESTARTS) -> None:
    """Let every run cost a worker: xdist's own limit would leave the rest of the tasks unrun.

    How many runs there are is known to the workers alone if tests name domains by a mark.
    """
    if getattr(config.option, "maxworkerrestart", 0) is None:
        config.option.maxworkerrestart = str(runs)
