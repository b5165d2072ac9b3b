"""A session in which no test asks for a run: what that means for its gates and its status."""

from __future__ import annotations

from typing import Final

import pytest

from pytest_sopbench._hooks.session.session import SopSession, expected_runs

NOTHING_ASKED: Final = "no test asked for a run of an agent"
_WHAT_TO_DO: Final = (
    "is a folder or a test renamed? SOP tests ask for the fixture sop_run;\n"
    "--sop-domain=NAME without a path runs the tasks of a domain"
)


def check_asked(sop: SopSession) -> None:
    """Refuse a typed gate, or a shard, in a session that has no SOP test at all.

    Raises:
        pytest.UsageError: it has none, and must not stay green.
    """
    options, plan = sop.options, sop.plan
    if plan.has_tasks or plan.planned or plan.made or any(expected_runs(sop)):
        return
    if sop.config.getoption("lf", False):
        # It passes over whole files, so that nothing of them is collected.
        return
    what = "the gate" if options.gates and options.types_gate else ""
    if options.shard is not None and not plan.specs:
        what = "--sop-shard"
    if what:
        msg = f"{what}: {NOTHING_ASKED}\n{_WHAT_TO_DO}"
        raise pytest.UsageError(msg)


def fails_without_runs(session: pytest.Session, sop: SopSession) -> bool:
    """Tell whether a session fails where all of its SOP tests were taken away.

    A gate of the configuration is one for sessions that have SOP tests. Where no test at all is
    left, pytest has a status of its own.
    """
    typed = bool(sop.options.gates) and sop.options.types_gate
    return typed and session.testscollected > 0


def is_empty_shard(sop: SopSession) -> bool:
    """Tell whether this is a shard that the hash of the tasks leaves empty, and nothing else."""
    if sop.options.shard is None or not sop.plan.specs:
        return False
    return not any(sop.find_active(name).positions for name in sop.plan.specs)
