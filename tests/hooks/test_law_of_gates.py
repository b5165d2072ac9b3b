"""The law of gates, through the front door: what failed and was not forgiven never ends with 0.

Sessions are invented: who is typed, who runs by a mark or a fixture, what each run does, what the
tasks file forgives, and what is asked. What each comes to is reckoned here, run by run.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import pytest
from click.testing import CliRunner
from hypothesis import HealthCheck, event, example, given, settings
from hypothesis import strategies as st

from pytest_sopbench.cli import main
from tests.builders.tables import percent

AGENTS: Final = """
import json, pathlib


def behave(name, inputs, tools):
    does = json.loads(pathlib.Path("fates.json").read_text())[name][inputs["sample_id"]]
    reading = tools.call("measure", sample_id=inputs["sample_id"])["reading"]
    if "loose" in does:
        tools.call("measure", sample_id=inputs["sample_id"])
    if "raises" in does:
        raise RuntimeError("no model")
    if "mute" in does:
        return "I have read the procedure."
    if "wrong" in does:
        return {"grade": "unknown"}
    return {"grade": "pass" if reading > 70 else "retest" if reading > 40 else "fail"}


def first(inputs, tools):
    return behave("first", inputs, tools)


def second(inputs, tools):
    return behave("second", inputs, tools)
"""
TASKS: Final = ("T_01", "T_02", "T_03", "T_04")
RULE: Final = {"id": "once", "severity": "must", "at_most": {"measure": 1}}
OWN: Final = {
    "built-in": "",
    "own": "def test_it(sop_run): sop_run.assert_correct()",
    "mark": """
import pytest

@pytest.mark.sop(agent="lawful:second")
def test_it(sop_run): sop_run.assert_correct()
""",
    "fixture": """
import lawful, pytest

@pytest.fixture
def sop_agent(): return lawful.second

def test_it(sop_run): sop_run.assert_correct()
""",
}


@dataclass(frozen=True, kw_only=True)
class Invented:
    """A session: what each run does, what is forgiven, who is typed, and what is asked of it."""

    fates: dict[str, dict[str, str]]
    may_fail: frozenset[str] = frozenset()
    may_break: frozenset[str] = frozenset()
    typed: tuple[str, ...] = ("first",)
    tests: str = "built-in"
    gate: str = ""
    bound: float = 0.5
    more: str = "--tb=no"

    @property
    def running(self) -> tuple[str, ...]:
        return self.typed if self.tests in {"built-in", "own"} else ("second",)


ALIKE: Final = 5
RAISES: Final = dict.fromkeys(TASKS, "raises")
DOES: Final = st.sampled_from(
    ["right", "right", "right", "wrong", "mute", "raises", "loose", "loose wrong", "loose raises"]
)
FATES: Final = st.fixed_dictionaries(dict.fromkeys(TASKS, DOES))
WELL: Final = dict.fromkeys(TASKS, "right")
LOOSE: Final = {**WELL, "T_02": "loose wrong"}
SOME: Final = st.frozensets(st.sampled_from(TASKS), max_size=3)
SESSIONS: Final = st.builds(
    Invented,
    fates=st.fixed_dictionaries({"first": FATES, "second": FATES}),
    may_fail=SOME,
    may_break=SOME,
    typed=st.sampled_from([("first",), ("first",), ("first", "second")]),
    tests=st.sampled_from([*OWN]),
    gate=st.sampled_from(["", "tsr", "contract"]),
    bound=st.sampled_from([0.0, 0.5, 0.75, 1.0]),
    more=st.sampled_from(["--tb=no", "--sop-concurrency=3", "--sop-replay=record"]),
)


def is_left_out(session: Invented, does: str, task: str) -> bool:
    """Tell whether the gate leaves a run out."""
    if session.gate == "contract":
        return "loose" in does and task in session.may_break
    return task in session.may_fail and "raises" not in does


def is_met(session: Invented, does: str) -> bool:
    """Tell whether a run counts for the gate."""
    is_right = does in {"right", "loose"}
    return "loose" not in does if session.gate == "contract" else is_right


def shares(session: Invented) -> list[tuple[int, int]]:
    """Return what the gate gets of each agent, of how many; agents of whom nothing is asked not."""
    found: list[tuple[int, int]] = []
    for agent in session.running:
        fates = session.fates[agent].items()
        asked = [does for task, does in fates if not is_left_out(session, does, task)]
        if asked:
            found.append((sum(is_met(session, one) for one in asked), len(asked)))
    return found


def is_well(session: Invented) -> bool:
    """Tell whether nothing failed that is not forgiven."""
    if {*session.typed} - {*session.running} or (session.tests == "fixture"):
        return False
    breaches = [
        task
        for agent in session.running
        for task, does in session.fates[agent].items()
        if "loose" in does and task not in session.may_break
    ]
    failed = [
        task
        for agent in session.running
        for task, does in session.fates[agent].items()
        if does not in {"right", "loose"} and (task not in session.may_fail or "raises" in does)
    ]
    if breaches:
        return False
    if not session.gate or session.tests != "built-in":
        # A gate forgives the misses of built-in tests, and no failure of a test of the user.
        found = shares(session) if session.gate else [(1, 1)]
        return not failed and bool(found) and all(a >= session.bound * b for a, b in found)
    found = shares(session)
    return bool(found) and all(met >= session.bound * asked for met, asked in found)


def write(folder: Path, session: Invented) -> Sequence[str]:
    """Write what a session reads, and return its command."""
    (folder / "fates.json").write_text(json.dumps(session.fates))
    said: list[str] = []
    for task in sorted(session.may_fail | session.may_break):
        said += [f'["lab/{task}"]', "until = 2999-12-31"]
        said += ['may_fail = "two invoices"'] if task in session.may_fail else []
        said += ['may_break = ["once"]'] if task in session.may_break else []
    (folder / "sop_tasks.toml").write_text("\n".join(said))
    return (
        "--sop-domain=lab",
        *(f"--agent=lawful:{one}" for one in session.typed),
        *([] if session.tests == "built-in" else [f"test_{session.tests}.py"]),
        *([f"--sop-gate={session.gate}={session.bound}"] if session.gate else []),
        session.more,
    )


@pytest.fixture
def lawful(pytester: pytest.Pytester, lab: Path) -> Path:
    pytester.makepyfile(lawful=AGENTS)
    pytester.makepyfile(**{f"test_{name}": text for name, text in OWN.items() if text})
    rows = (lab / "data.csv").read_text().splitlines(keepends=True)
    (lab / "data.csv").write_text("".join(rows[: len(TASKS) + 1]))
    metadata = json.loads((lab / "metadata.json").read_text())
    (lab / "metadata.json").write_text(json.dumps({**metadata, "contract": {"rules": [RULE]}}))
    return pytester.path


@given(session=SESSIONS)
@example(session=Invented(fates={"first": WELL, "second": WELL}, gate="tsr", bound=1.0))
@example(session=Invented(fates={"first": LOOSE, "second": WELL}, may_fail=frozenset({"T_02"})))
@example(
    session=Invented(
        fates={"first": LOOSE, "second": WELL},
        may_fail=frozenset({"T_02"}),
        may_break=frozenset({"T_02"}),
        gate="contract",
        bound=1.0,
    )
)
@example(
    session=Invented(
        fates={"first": LOOSE, "second": WELL}, may_fail=frozenset({"T_02"}), gate="tsr", bound=0.0
    )
)
@example(
    session=Invented(
        fates={"first": LOOSE, "second": WELL},
        may_fail=frozenset({"T_02"}),
        gate="contract",
        bound=1.0,
    )
)
@example(
    session=Invented(
        fates={"first": {**WELL, "T_02": "wrong"}, "second": WELL}, tests="own", gate="tsr"
    )
)
@example(
    session=Invented(
        fates={"first": {**WELL, "T_01": "loose"}, "second": {**WELL, "T_04": "loose"}},
        may_break=frozenset({"T_01"}),
        typed=("first", "second"),
        gate="contract",
        bound=0.0,
    )
)
@example(session=Invented(fates={"first": RAISES, "second": RAISES}, typed=("first", "second")))
@example(session=Invented(fates={"first": LOOSE, "second": WELL}, tests="mark"))
@example(session=Invented(fates={"first": LOOSE, "second": WELL}, tests="fixture"))
@settings(
    max_examples=15,
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture, HealthCheck.too_slow],
)
def test_what_failed_and_was_not_forgiven_never_ends_with_0(
    pytester: pytest.Pytester, lawful: Path, session: Invented
) -> None:
    result = pytester.runpytest(*write(lawful, session))

    well = is_well(session)
    event(f"{session.tests}, {session.gate or 'no gate'}, {'well' if well else 'not'}")
    # Two agents and a fixture in their place cannot be meant: wrong usage, and no failed session.
    is_refused = session.tests == "fixture" and len(session.typed) > 1
    # Nor is an agent worth any more runs if its first ones all end in the same error.
    is_stopped = "ended in the same error" in result.stderr.str()
    does = [does for agent in session.running for does in session.fates[agent].values()]
    assert not is_stopped or sum("raises" in one for one in does) >= ALIKE
    assert (4 if is_refused or is_stopped else int(not well)) == result.ret
    if (
        is_stopped
        or not session.gate
        or session.running != session.typed
        or session.tests == "fixture"
    ):
        return
    printed = [line for line in result.outlines if line.startswith("gate   ") and "(got" in line]
    got = [f"(got {percent(met / asked)})" for met, asked in shares(session)]
    of_gate = [line for line in printed if " >= " in line and "n/a" not in line]
    # An agent whose first runs are left out comes after the other one.
    assert sorted(got) == sorted(
        line[line.index("(got") :].partition(")")[0] + ")" for line in of_gate
    )
    gated = CliRunner().invoke(main, ["gate", "last"], catch_exceptions=False)
    assert well is (gated.exit_code == 0)
