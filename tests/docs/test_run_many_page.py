"""The page on many runs at once: its commands print what it shows, with agents as it says."""

from __future__ import annotations

import re
import shlex
import sys
import threading
from types import SimpleNamespace
from typing import Any

import pytest

from tests.builders.pages import DOCS, write_late_returns

PAGE = (DOCS / "how-to" / "run-many-at-once.md").read_text(encoding="utf-8")
HERE = PAGE.partition("## Shards in CI")[0]
COMMANDS = re.findall(r"^\$ pytest (.*)\n((?:[^`\n].*\n)+)", HERE, re.MULTILINE)
HANGING = """
import time

from desk import agent as right


def agent(inputs, tools):
    if inputs["order_id"] == "R-103":
        time.sleep(3600)
    return right(inputs, tools)
"""
AWAY = """
from desk import agent as right
from pytest_sopbench import Unavailable

asked = set()


def agent(inputs, tools):
    if inputs["order_id"] in ("R-102", "R-104") and inputs["order_id"] not in asked:
        asked.add(inputs["order_id"])
        raise Unavailable("429 too many requests")
    return right(inputs, tools)
"""
CRASHING = """
import os

from desk import agent as right


def agent(inputs, tools):
    if inputs["order_id"] == "R-103":
        os._exit(1)
    return right(inputs, tools)
"""


@pytest.fixture(autouse=True)
def late_returns(pytester: pytest.Pytester) -> None:
    """The domain of the reference page, its agent, and the agents that this page speaks of."""
    desk = write_late_returns(pytester.path)
    pytester.makepyfile(desk=desk, hanging=HANGING, away=AWAY, crashing=CRASHING)


@pytest.mark.parametrize(
    ("command", "shown"), COMMANDS, ids=[shlex.split(command)[1] for command, _ in COMMANDS]
)
def test_a_command_prints_what_the_page_shows(
    pytester: pytest.Pytester, command: str, shown: str
) -> None:
    result = pytester.run(sys.executable, "-m", "pytest", *shlex.split(command))

    said = "\n".join([*result.outlines, *result.errlines, ""])
    parts = re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)
    assert re.search("(?s:.*)".join(map(re.escape, parts)), said), said


def test_the_page_has_an_example_of_everything() -> None:
    assert 6 == len(COMMANDS)


def test_the_client_of_the_page_is_made_once(monkeypatch: pytest.MonkeyPatch) -> None:
    """Eight threads ask for it at once; a stand-in for the SDK counts."""
    (code,) = [one for one in re.findall(r"```python\n(.*?)```", PAGE, re.DOTALL) if "boto3" in one]
    made: list[dict[str, int]] = []

    def make(_: str, config: dict[str, int]) -> object:
        made.append(config)
        return object()

    sdk = SimpleNamespace(client=make)
    monkeypatch.setitem(sys.modules, "boto3", sdk)
    monkeypatch.setitem(sys.modules, "botocore", SimpleNamespace())
    monkeypatch.setitem(sys.modules, "botocore.config", SimpleNamespace(Config=dict))
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - the page's own example is what is tested

    threads = [threading.Thread(target=names["client"]) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()

    assert [64] == [config["max_pool_connections"] for config in made]
