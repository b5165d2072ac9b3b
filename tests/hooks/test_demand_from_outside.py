"""A demand of another kind: a class that checks, a reader of its key, and nothing else touched."""

from __future__ import annotations

import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any, ClassVar

import pytest

from pytest_sopbench import Trace, load_session
from pytest_sopbench._core.demands import (
    DEMANDS,
    DemandKind,
    Known,
    RuleCheck,
    broken,
    held,
    not_exercised,
)
from pytest_sopbench._loading.contract import READERS, DemandReader, RulePlace

WITHOUT_PAUSE = {"id": "at-once", "severity": "must", "ends_with": "measure"}


@dataclass(frozen=True, slots=True, kw_only=True)
class EndsWith:
    """The last call is of this tool."""

    kind: ClassVar[str] = "ends_with"
    tool: str

    @property
    def tools(self) -> tuple[str, ...]:
        return (self.tool,)

    def check(self, trace: Trace, _: Known, /) -> RuleCheck:
        if not trace.calls:
            return not_exercised("no tool was called")
        last = trace.calls[-1].name
        if last != self.tool:
            return broken(f"the last call is {last}, not {self.tool}")
        return held(f"ends with {last}")


def read_ends_with(tool: str, place: RulePlace) -> EndsWith:
    return EndsWith(tool=place.tool("ends_with", tool))


@pytest.fixture(autouse=True)
def ends_with(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(DEMANDS, "ends_with", EndsWith)
    monkeypatch.setitem(READERS, "ends_with", DemandReader(shape=str, read=read_ends_with))


@pytest.fixture
def with_rule(lab: Path) -> Any:
    def write(**rule: Any) -> None:
        path = lab / "metadata.json"
        metadata = {**json.loads(path.read_text()), "contract": {"rules": [rule]}}
        path.write_text(json.dumps(metadata))

    return write


def test_a_session_checks_prints_and_saves_it(pytester: pytest.Pytester, with_rule: Any) -> None:
    with_rule(**WITHOUT_PAUSE)
    pytester.makepyfile(
        hasty="from habits import number, right\n"
        "def agent(inputs, tools):\n"
        "    answer = right(inputs, tools)\n"
        "    if number(inputs) == 2:\n"
        "        try:\n"
        "            tools.call('weigh')\n"
        "        except Exception:\n"
        "            pass\n"
        "    return answer\n"
    )

    result = pytester.runpytest_inprocess("--sop-domain=lab", "--agent=hasty:agent")

    result.assert_outcomes(passed=5, failed=1)
    result.stdout.fnmatch_lines(["*at-once (must): the last call is weigh, not measure"])
    kinds = [rule.kind for run in load_session("last").records for rule in run.rules]
    assert ["ends_with"] * 6 == kinds


def test_a_name_that_no_tool_has_is_refused(pytester: pytest.Pytester, with_rule: Any) -> None:
    with_rule(id="r", ends_with="mesure")

    result = pytester.runpytest_inprocess("--sop-domain=lab", "--agent=habits:right")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*rule 'r', ends_with: no tool is called 'mesure'*"])


def test_a_rule_with_two_demands_names_all_that_there_are(
    pytester: pytest.Pytester, with_rule: Any
) -> None:
    with_rule(id="r", ends_with="measure", forbids=["measure"])

    result = pytester.runpytest_inprocess("--sop-domain=lab", "--agent=habits:right")

    result.stderr.fnmatch_lines(["*forbids and ends_with*", "*exactly one of *, ends_with"])


def test_every_kind_that_is_shipped_has_a_class_and_a_reader() -> None:
    shipped = [kind for kind in DEMANDS if kind != "ends_with"]

    assert [*DemandKind] == shipped == [kind for kind in READERS if kind != "ends_with"]
    assert all(demand.kind == kind for kind, demand in DEMANDS.items())
