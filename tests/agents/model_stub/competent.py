"""What a competent model would say next."""

from __future__ import annotations

import importlib.util
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import cache
from pathlib import Path
from typing import Any

import pytest_sopbench
from pytest_sopbench import ToolError

from .seen import Call, Seen

PROCEDURES = {"DG-SOP-014": "dangerous_goods"}
DUE = {
    "_score": "Request each of the four scores",
    "record_class": "enter it in the class register",
}
"""The clauses that ask for a tool: who sees one step alone calls no tool of another one."""

COMPLETE = "complete_step"
END = "answer"


@dataclass
class Move:
    """What the model does: calls, or a text."""

    text: str = ""
    calls: tuple[Call, ...] = ()
    stop: str = "end"


class NeededError(Exception):
    """A call has to be made before the procedure can go on."""

    def __init__(self, call: Call) -> None:
        super().__init__(call.name)
        self.call = call


class LostError(Exception):
    """The conversation lacks what the procedure needs."""


def next_move(seen: Seen) -> Move:
    """Follow the procedure that the conversation holds, from its beginning to where it is."""
    try:
        answer = _policy(seen)(seen.inputs, _Caller(seen))
    except NeededError as needed:
        if COMPLETE in seen.tools and not _is_due(needed.call, seen):
            return completing("All clauses of this step are worked through.")
        return Move(calls=(needed.call,))
    except LostError as lost:
        return Move(text=f"I cannot go on: {lost}.")
    except KeyError as missing:
        return Move(text=f"I cannot go on: the task does not say its {missing.args[0]}.")
    if COMPLETE in seen.tools:
        return completing("The procedure is at its end.", END)
    return Move(text=_answer(seen, answer))


def completing(summary: str, following: str = "") -> Move:
    """Complete the step."""
    given = {"summary": summary, **({"next": following} if following else {})}
    return Move(calls=(Call(COMPLETE, given),))


def _is_due(call: Call, seen: Seen) -> bool:
    _, text = seen.step or ("", "")
    return any(call.name.endswith(end) and clause in text for end, clause in DUE.items())


class _Caller:
    """Answers the policy's calls from the results that the conversation holds."""

    def __init__(self, seen: Seen) -> None:
        self._seen = seen
        self._left = [*seen.earlier, *seen.calls]

    def __call__(self, name: str, **arguments: Any) -> Any:
        known = self._seen.tools.get(name, {}).get("properties", arguments)
        given = {key: value for key, value in arguments.items() if key in known}
        for call in self._left:
            if call.name == name and call.arguments == given:
                self._left.remove(call)
                return _result(call)
        if name not in self._seen.tools:
            msg = f"I was offered no tool {name}"
            raise LostError(msg)
        raise NeededError(Call(name, given))


def _of_mcp(told: Any) -> Any:
    """Return the JSON of a result, out of the content that clients of MCP hand on as it came."""
    content = json.loads(told) if isinstance(told, str) else told
    if isinstance(content, list) and content:
        content = content[0]
    if not isinstance(content, dict) or content.get("type") not in ("text", "input_text"):
        return content
    try:
        return json.loads(content["text"])
    except ValueError:
        raise ToolError(content["text"]) from None


def _result(call: Call) -> Any:
    try:
        result = _of_mcp(call.result)
    except ValueError:
        msg = f"I was given no result of {call.name}"
        raise LostError(msg) from None
    if "error" in result:
        raise ToolError(result["error"])
    return result


def _policy(seen: Seen) -> Callable[[Mapping[str, Any], Any], Mapping[str, Any]]:
    for number, domain in PROCEDURES.items():
        if number in seen.text:
            return _load(domain)
    msg = "I was given no procedure"
    raise LostError(msg)


@cache
def _load(domain: str) -> Any:
    path = Path(pytest_sopbench.__file__).parent / "bundled" / domain / "policy.py"
    spec = importlib.util.spec_from_file_location(f"stub_policy_{domain}", path)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module.decide


def _answer(seen: Seen, answer: Mapping[str, Any]) -> str:
    named = {name: value for name, value in answer.items() if name in seen.text}
    if not named:
        # Nobody said what the result is to be called.
        return f"The procedure leads to this: {', '.join(map(str, answer.values()))} it is."
    told = f"<final_output>{json.dumps(named)}</final_output>"
    if seen.native:
        return f"All clauses are worked through.\n{told}"
    return f"Thought: all clauses are worked through\nFinal Answer: {told}"
