"""Providers on the loopback, real clients, and a tape in memory."""

from __future__ import annotations

import sys
from collections.abc import Callable, Generator, Iterator
from contextlib import AbstractContextManager, contextmanager, suppress
from importlib import import_module
from pathlib import Path

import pytest

from pytest_sopbench._replay.exchange import OutsideTape, Tape
from pytest_sopbench._replay.run_tape import on_tape, switched_on
from pytest_sopbench._replay.seams.watching import watching

sys.path.insert(0, str(Path(__file__).parent))

from replay_stub import MemoryTape, Provider

with suppress(ImportError):
    # A session inside of a test forgets what it imports, and the compiled parser of aiohttp goes on
    # to make readers of the module that is forgotten, which no seam of a later test would see.
    import_module("aiohttp")

OnTape = Callable[[Tape], AbstractContextManager[None]]


@pytest.fixture(scope="session")
def serving() -> Iterator[Provider]:
    """One server for all tests."""
    with Provider() as provider:
        yield provider


@pytest.fixture
def provider(serving: Provider, monkeypatch: pytest.MonkeyPatch) -> Provider:
    for name in ("HTTP_PROXY", "HTTPS_PROXY", "ALL_PROXY"):
        monkeypatch.delenv(name, raising=False)
        monkeypatch.delenv(name.lower(), raising=False)
    serving.reset()
    return serving


@pytest.fixture
def outside() -> OutsideTape:
    return OutsideTape("refuse")


@pytest.fixture
def seams(outside: OutsideTape) -> Iterator[None]:
    """Traffic is seen."""
    with watching(), switched_on(outside):
        yield


@pytest.fixture
def taped(seams: None) -> OnTape:
    """Enters the context of a run with a tape."""

    @contextmanager
    def run(tape: Tape) -> Generator[None]:
        with on_tape(tape):
            yield

    return run


@pytest.fixture
def tape() -> MemoryTape:
    return MemoryTape()
