# ruff: noqa: T201 - what runs write is what is tested
"""What many runs write at once: to each its own, and nothing under another's."""

from __future__ import annotations

import asyncio
import contextvars
import logging
import sys
import threading
from collections.abc import Awaitable, Callable, Iterator
from typing import Any

import pytest

from pytest_sopbench._running.observing.capture import Output, RunLogHandler, captured, is_shown

LOGGER = logging.getLogger("some_agent")
RUNS = 64
LINES = 50


@pytest.fixture
def foreign() -> Iterator[list[logging.LogRecord]]:
    """The records that an item's own handler is shown, while those of runs are filed."""
    shown: list[logging.LogRecord] = []

    class Shown(logging.Handler):
        def emit(self, record: logging.LogRecord) -> None:
            shown.append(record)

    item, runs = Shown(), RunLogHandler()
    item.addFilter(is_shown)
    root, level = logging.getLogger(), LOGGER.level
    LOGGER.setLevel(logging.INFO)
    root.addHandler(item)
    root.addHandler(runs)
    yield shown
    root.removeHandler(item)
    root.removeHandler(runs)
    LOGGER.setLevel(level)


def say(name: str) -> None:
    print(f"out of {name}")
    print(f"err of {name}", file=sys.stderr)
    LOGGER.info("log of %s", name)


def sync_agent(name: str, together: threading.Barrier) -> Callable[[], None]:
    def agent() -> None:
        together.wait(60)
        for _ in range(LINES):
            say(name)
        thread = threading.Thread(target=contextvars.copy_context().run, args=(say, name))
        thread.start()
        thread.join()

    return agent


def async_agent(name: str) -> Callable[[], Awaitable[None]]:
    async def agent() -> None:
        for _ in range(LINES):
            say(name)
            await asyncio.sleep(0)
        await asyncio.to_thread(say, name)

    return agent


def test_64_runs_at_once_each_keep_their_own_lines(
    flights: Any, foreign: list[logging.LogRecord], capsys: pytest.CaptureFixture[str]
) -> None:
    together = threading.Barrier(RUNS // 2)
    engine = flights.engine(RUNS, timeout=60.0)
    keys = [f"<{number}>" for number in range(RUNS)]

    for key in keys[: RUNS // 2]:
        engine.submit(flights.job(key, sync_agent(key, together)))
    for key in keys[RUNS // 2 :]:
        engine.submit(flights.job(key, async_agent(key)))
    LOGGER.info("of the item")
    print("of the item")
    outputs = {key: engine.wait(key).output for key in keys}

    for key, output in outputs.items():
        lines = output.splitlines()
        assert 3 * (LINES + 1) == len(lines)
        assert {key} == {line.rpartition(" ")[2] for line in lines}
        assert LINES + 1 == sum(line.startswith("INFO     some_agent:") for line in lines)
    assert ["of the item"] == [record.getMessage() for record in foreign]
    assert ("of the item\n", "") == capsys.readouterr()


def test_a_record_that_cannot_be_written_breaks_no_run() -> None:
    class Unspeakable:
        def __str__(self) -> str:
            raise RuntimeError

    handler, output = RunLogHandler(), Output()

    with captured(output):
        for value in (Unspeakable(), "fine"):
            handler.handle(LOGGER.makeRecord("a", 20, "f.py", 7, "value %s", (value,), None))

    assert "Logging error" in output.text
    assert output.text.endswith("\nINFO     a:f.py:7 value fine\n")


def test_records_of_a_run_that_is_shown_are_shown(foreign: list[logging.LogRecord]) -> None:
    output = Output()

    with captured(output, "tee"):
        LOGGER.info("seen twice")

    assert "seen twice\n" == output.text.partition(" ")[2].rpartition(":")[2].partition(" ")[2]
    assert ["seen twice"] == [record.getMessage() for record in foreign]
