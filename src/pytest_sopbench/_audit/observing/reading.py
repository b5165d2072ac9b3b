"""The lines of the child process, read into values."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any, cast

from pytest_sopbench._core.model.trace import Finding, FindingKind, ToolCall
from pytest_sopbench._core.values.json import JsonValue

from .observed import Incident, Observed, PolicyRun, Signature, ToolAnswer, ToolSight


def observed(lines: Iterable[Mapping[str, Any]], incidents: Sequence[Incident]) -> Observed:
    """Put together what the lines say; a line that was cut off is not among them."""
    policy: dict[int, PolicyRun] = {}
    answers: dict[str, dict[int, ToolAnswer]] = {}
    facts: dict[str, dict[str, Any]] = {}
    methods: Sequence[str] = ()
    for line in lines:
        if "policy" in line:
            policy[line["policy"]] = _policy_run(line)
        elif "methods" in line:
            methods = line["methods"]
        elif "tool" in line:
            name = line["tool"]
            facts.setdefault(name, {}).update(line)
            if "row" in line:
                answers.setdefault(name, {})[line["row"]] = _answer(line)
    names = list(facts)
    return Observed(
        policy=policy,
        tools={name: _sight(name, facts[name], answers.get(name, {})) for name in names},
        extra_tools=tuple(one for one in methods),
        incidents=tuple(dict.fromkeys(incidents)),
    )


def _policy_run(line: Mapping[str, Any]) -> PolicyRun:
    answer = line["answer"]
    return PolicyRun(
        position=line["policy"],
        answer=cast("dict[str, JsonValue]", answer) if isinstance(answer, dict) else None,
        error=line["error"] or ("" if isinstance(answer, dict) else f"it returned {answer!r}"),
        calls=tuple(_call(one) for one in line["calls"]),
    )


def _call(call: Mapping[str, Any]) -> ToolCall:
    return ToolCall(
        name=call["name"],
        arguments=call["arguments"],
        result=call["result"],
        error=call["error"],
        findings=tuple(
            Finding(kind=FindingKind.INVALID_VALUE, parameter="", message=one)
            for one in call["bad"]
        ),
    )


def _answer(line: Mapping[str, Any]) -> ToolAnswer:
    return ToolAnswer(
        position=line["row"],
        result=line["result"],
        error=line["error"],
        not_json=line["not_json"],
        again=tuple(line["again"]),
    )


def _sight(name: str, facts: Mapping[str, Any], answers: Mapping[int, ToolAnswer]) -> ToolSight:
    signature = facts.get("signature")
    return ToolSight(
        name=name,
        answers=tuple(answers[position] for position in sorted(answers)),
        uncallable=facts.get("uncallable", ""),
        ignored=tuple(facts.get("ignored", ())),
        blind=facts.get("blind", 0),
        followed=facts.get("followed", 0),
        unknown=bool(facts.get("unknown")),
        signature=Signature(
            accepts=tuple(signature["accepts"]),
            required=tuple(signature["required"]),
            anything=signature["anything"],
        )
        if signature
        else None,
    )
