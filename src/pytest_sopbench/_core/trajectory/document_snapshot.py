"""A document as a snapshot keeps it: the arguments of one call that no tool takes."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from pytest_sopbench._core.model.trajectory import Call, Trajectory
from pytest_sopbench._core.values.json import JsonValue

from .snapshot import Snapshot

ANSWER: Final = "answer"
"""The name of the call; a domain whose answer is a document has no tools."""


def as_trajectory(document: Mapping[str, JsonValue]) -> Trajectory:
    """Return a document in the form in which snapshots are written."""
    return Trajectory(calls=(Call(name=ANSWER, arguments=document),))


def approved_documents(snapshot: Snapshot) -> tuple[Mapping[str, JsonValue], ...]:
    """Return the documents that were approved, and nothing of trajectories of another kind."""
    single = [one.calls[0] for one in snapshot.approved if len(one.calls) == 1]
    return tuple(
        call.arguments
        for call in single
        if call.name == ANSWER and isinstance(call.arguments, Mapping)
    )
