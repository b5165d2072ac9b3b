"""Pages made of invented runs, and read as browsers read them."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Any

import html5lib
import pytest

from pytest_sopbench import RunRecord, SessionPage, Trace
from pytest_sopbench._core.gates.decide import TaskFacts
from pytest_sopbench._reports.html.page import html_page
from pytest_sopbench._sessions.saved import summarized
from tests.builders.runs import timed_run

sys.path.insert(0, str(Path(__file__).parents[3] / "benchmarks"))


class Sources:
    """What a test says of tasks, event logs and the baseline."""

    def __init__(
        self,
        facts: TaskFacts | None = None,
        trace: Trace | None = None,
        baseline: Sequence[RunRecord] = (),
        masked: Callable[[str], str] = str,
        again: str = "",
        sop: str = "",
    ) -> None:
        self._facts = facts or TaskFacts()
        self._trace = trace
        self._baseline = baseline
        self._masked = masked
        self._again = again
        self._sop = sop

    def facts(self, _: RunRecord) -> TaskFacts:
        return self._facts

    def again(self, _: RunRecord) -> str:
        return self._again

    def sop(self, _: str) -> str:
        return self._sop

    def trace(self, _: RunRecord) -> Trace | None:
        return self._trace

    def baseline(self) -> Sequence[RunRecord]:
        return self._baseline

    def masked(self, text: str) -> str:
        return self._masked(text)


class Parsed:
    """A page as a parser of HTML5 sees it."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tree = html5lib.parse(text, namespaceHTMLElements=False)

    def all(self, path: str) -> list[Any]:
        return self.tree.findall(f".//{path}")

    def said(self, path: str) -> list[str]:
        """Return the texts of elements, blanks as one."""
        return [" ".join("".join(one.itertext()).split()) for one in self.all(path)]

    def runs(self) -> dict[str, Any]:
        return json.loads(self.tree.find(".//script[@id='runs-data']").text)

    def commands(self) -> dict[str, str]:
        return json.loads(self.tree.find(".//script[@id='details-data']").text)["again"]

    def detail(self, place: int) -> Any:
        """Return the details of a run as the script unpacks them."""
        data = json.loads(self.tree.find(".//script[@id='details-data']").text)
        return _unpacked(data["runs"].get(str(place)), data["strings"])


def _unpacked(value: Any, strings: list[str]) -> Any:
    if isinstance(value, str):
        return strings[int(value[1:])] if value.startswith("\x01") else value
    if isinstance(value, list):
        return [_unpacked(one, strings) for one in value]
    if isinstance(value, dict):
        return {name: _unpacked(one, strings) for name, one in value.items()}
    return value


@pytest.fixture
def sources() -> type[Sources]:
    return Sources


@pytest.fixture
def run() -> Callable[..., RunRecord]:
    return timed_run


@pytest.fixture
def page_of() -> Callable[..., Parsed]:
    def make(*records: RunRecord, **more: Any) -> Parsed:
        page = SessionPage(agent="a:b", records=records, summaries=summarized(records), **more)
        return Parsed(html_page(page))

    return make


@pytest.fixture
def parsed() -> type[Parsed]:
    return Parsed
