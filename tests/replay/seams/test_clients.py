"""Every real client against a provider on the loopback: recorded, then replayed without it."""

from __future__ import annotations

from typing import Any

import pytest
from replay_stub import MemoryTape, Provider
from replay_stub.asking import CLIENTS, Ask

from pytest_sopbench.errors import MissingRecordingError


@pytest.fixture(params=CLIENTS, ids=lambda ask: ask.__name__)
def ask(request: pytest.FixtureRequest) -> Ask:
    found: Ask = request.param
    return found


def test_what_was_recorded_is_served_alike(
    ask: Ask, provider: Provider, taped: Any, tape: MemoryTape
) -> None:
    live = ask(provider.url, "plain words")
    with taped(tape):
        recorded = ask(provider.url, "plain words")
    sent = len(provider.requests)

    replay = tape.replaying()
    with taped(replay):
        replayed = ask(provider.url, "plain words")

    assert live == recorded == replayed
    assert (2, 2) == (sent, len(provider.requests))
    assert ([], []) == (replay.kept, tape.failed)


def test_a_request_without_a_recording_is_refused_at_once(
    ask: Ask, provider: Provider, taped: Any
) -> None:
    replay = MemoryTape("only")

    with taped(replay), pytest.raises(MissingRecordingError, match="nothing is recorded for"):
        ask(provider.url, "plain words")

    # No client takes it for a failure of the network, and asks again.
    assert (1, []) == (len(replay.asked), provider.requests)
