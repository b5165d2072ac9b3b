"""Imports what the tests that are left after collection will need, and nothing for others.

A session that runs no SOP test, such as `-m "not sop"`, needs neither an agent nor its key.
"""

from __future__ import annotations

from collections.abc import Sequence
from typing import Any, Final

import pytest

from pytest_sopbench._hooks.code.agents import check_agent_given
from pytest_sopbench._hooks.runs.run_cache import RunCache
from pytest_sopbench._hooks.session.consistency import SHOWN
from pytest_sopbench._hooks.session.domains.active_domain import TaskRef
from pytest_sopbench._hooks.session.session import BUILTIN, REF, SopSession
from pytest_sopbench._hooks.settings.marks import marked_agent
from pytest_sopbench._settings.values import GivenAgent

_ASK_FOR_AGENT: Final = frozenset({"sop_agent", "sop_run"})
_ASK_FOR_TOOLS: Final = frozenset({"sop_tools", "sop_run"})


def prepare_session(sop: SopSession, runs: RunCache, session: pytest.Session) -> None:
    """Prepare the items of a session; a worker of xdist tells the controller of what is wrong.

    Raises:
        pytest.UsageError: as `prepare_items`.
    """
    try:
        prepare_items(sop, runs, session.items)
    except pytest.UsageError as error:
        told: dict[str, str] | None = getattr(session.config, "workerinput", None)
        if told is None:
            raise
        errors: Any = session.config.pluginmanager.get_plugin("sop-usage-errors")
        shown = told.get(SHOWN, "")
        place = f"{shown}: " if shown else ""
        errors.tell_controller(session.config, f"{place}{error}")


def prepare_items(sop: SopSession, runs: RunCache, items: Sequence[pytest.Item]) -> None:
    """Stop now at what would else fail in every test, one by one, or be paid for in vain.

    Raises:
        pytest.UsageError: a test has no agent, or its agent or its domain's tools cannot be used.
    """
    seen: set[tuple[object, ...]] = set()
    for item in items:
        names = getattr(item, "fixturenames", ())
        if _ASK_FOR_AGENT.isdisjoint(names) and _ASK_FOR_TOOLS.isdisjoint(names):
            continue
        ref = item.stash.get(REF, None)
        # The items of one test function on one domain need the same.
        alike = (item.parent, getattr(item, "originalname", None), ref.domain if ref else None)
        if alike not in seen:
            seen.add(alike)
            _prepare(sop, runs, item, ref)


def asks_for_agent(item: pytest.Item) -> bool:
    """Tell whether a test needs an agent that its own mark does not name."""
    names = getattr(item, "fixturenames", ())
    return not _ASK_FOR_AGENT.isdisjoint(names) and marked_agent(item) is None


def _prepare(sop: SopSession, runs: RunCache, item: pytest.Item, ref: TaskRef | None) -> None:
    names = getattr(item, "fixturenames", ())
    if asks_for_agent(item):
        check_agent_given(sop, item.parent if BUILTIN in item.stash and item.parent else item)
    if ref is None:
        return
    marked = marked_agent(item)
    agents = sop.options.agents if marked is None else (GivenAgent(name=marked, spec=marked),)
    runs.prepare(
        () if _ASK_FOR_TOOLS.isdisjoint(names) else (ref.domain,),
        agents if "sop_run" in names else (),
    )
