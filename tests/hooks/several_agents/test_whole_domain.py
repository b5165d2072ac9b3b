"""Two agents on many tasks of a bundled domain: what two sessions say of them, one says."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from typing import Any

import pytest

TASKS = 120
DOMAIN = ("--sop-domain=dangerous_goods", f"--sop-sample={TASKS}@7")
AGENT = '''
"""Follows the procedure, and errs on every task whose id ends in a seven."""

import importlib.util
from pathlib import Path

import pytest_sopbench

PLACE = Path(pytest_sopbench.__file__).parent / "bundled" / "dangerous_goods" / "policy.py"
SPEC = importlib.util.spec_from_file_location("policy_of_the_domain", PLACE)
POLICY = importlib.util.module_from_spec(SPEC)
SPEC.loader.exec_module(POLICY)


def agent(inputs, tools):
    answer = POLICY.decide(inputs, tools.call)
    return answer if inputs["product_id"][-1] != "7" else {"hazard_class": "not a class"}
'''
POLICY, ERRING = "--agent=reference-policy", "--agent=sevens:agent"
ReadSaved = Callable[[], Any]


def outcomes(session: Any) -> Mapping[tuple[str, str], str]:
    return {(one["agent"], one["task"]): one["outcome"] for one in session.runs}


def counts(session: Any) -> Mapping[str, Mapping[str, object]]:
    """Return what the session says of each agent, but for the times."""
    alone = {session.header["agent"]: session.summary["domains"].get("dangerous_goods")}
    found = alone if session.summary["total"] else session.summary["domains"]
    return {
        name.removeprefix("dangerous_goods (").removesuffix(")"): {
            key: value for key, value in one.items() if not key.startswith(("latency", "durations"))
        }
        for name, one in found.items()
    }


def test_one_session_says_of_two_agents_what_two_sessions_say(
    pytester: pytest.Pytester, saved: ReadSaved
) -> None:
    pytester.makepyfile(sevens=AGENT)
    alone: list[Any] = []
    for agent in (POLICY, ERRING):
        pytester.runpytest(*DOMAIN, agent, "--tb=no", "-q")
        alone.append(saved())
    expected = {**outcomes(alone[0]), **outcomes(alone[1])}
    sevens = sum(task.endswith("7") for _, task in outcomes(alone[1]))

    options = ("-n2", "--sop-concurrency=16")
    result = pytester.runpytest(*DOMAIN, POLICY, ERRING, "--tb=no", *options)

    both = saved()
    assert expected == outcomes(both)
    assert {**counts(alone[0]), **counts(alone[1])} == counts(both)
    result.assert_outcomes(passed=2 * TASKS - sevens, failed=sevens)
    result.stdout.fnmatch_lines(
        [
            "agent *",
            "reference-policy 100.0 *",
            f"agent * {100 * (TASKS - sevens) / TASKS:.1f} *",
            f"pairs  more than chance: reference-policy over agent ({sevens} tasks to 0, *",
        ]
    )
