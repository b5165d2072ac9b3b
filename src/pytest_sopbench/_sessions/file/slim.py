"""A slim baseline: a session with nothing but what a comparison needs, to be committed.

Of each run it holds the task, the trial, the agent, the hash of the task, the outcome and the
names of the tools that were called; no answer, no text, no argument, no result.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import replace
from typing import Any, Final

from pytest_sopbench._core.records.record import CallRecord, RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._sessions.header.header import SCHEMA, SessionHeader

TYPE: Final = "slim"
"""The type of a slim line."""


def slim_header(header: SessionHeader, *, reason: str) -> SessionHeader:
    """Return the header of the baseline that a session becomes, with why it was accepted."""
    return replace(
        # Without an identity: a diff of two baselines shows what changed, and no checksums beside.
        header,
        schema=SCHEMA,
        identity="",
        options=replace(header.options, slim=True, reason=reason),
        domains={
            name: replace(one, planned=tuple(sorted(one.planned)))
            for name, one in header.domains.items()
        },
    )


def slimmed(record: RunRecord) -> RunRecord:
    """Return a record with what a slim line holds of it, and nothing else."""
    return RunRecord(
        domain=record.domain,
        task=record.task,
        trial=record.trial,
        agent=record.agent,
        task_hash=record.task_hash,
        outcome=record.outcome,
        calls=tuple(CallRecord(name=call.name, arguments=None) for call in record.calls),
    )


def slim_to_line(record: RunRecord) -> str:
    """One line of ASCII JSON without its end."""
    data = {
        "type": TYPE,
        **record.key._asdict(),
        "task_hash": record.task_hash,
        "outcome": record.outcome.value,
        "calls": [call.name for call in record.calls],
    }
    return json.dumps(data, ensure_ascii=True, separators=(",", ":"))


def slim_from_json(data: Mapping[str, Any]) -> RunRecord:
    """Read what `slim_to_line` wrote; what it does not hold is empty.

    Raises:
        ValueError: a key is missing, or holds something else than it should.
    """
    try:
        return RunRecord(
            domain=data["domain"],
            task=data["task"],
            trial=data["trial"],
            agent=data["agent"],
            task_hash=data["task_hash"],
            outcome=Outcome(data["outcome"]),
            calls=tuple(CallRecord(name=name, arguments=None) for name in data["calls"]),
        )
    except (KeyError, TypeError) as fault:
        msg = f"a slim line with missing or unusable keys: {fault}"
        raise ValueError(msg) from fault
