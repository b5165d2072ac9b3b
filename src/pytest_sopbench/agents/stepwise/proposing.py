"""Ask a model once where the steps of an SOP begin and end; the text of the SOP stays as it is."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NoReturn, cast

from pytest_sopbench.agents.clients import make_client
from pytest_sopbench.agents.conversation import Message, ModelClient, ModelRequest, as_object
from pytest_sopbench.agents.dialogue import withheld
from pytest_sopbench.agents.model_agent import load_prompt
from pytest_sopbench.agents.settings import Connection
from pytest_sopbench.errors import AgentSpecError

PROMPT = "propose_steps"

Proposal = list[dict[str, str]]
"""Steps as a `steps.json` has them: `number`, `title` and `text`."""


def propose_steps(sop: str, model: str, client: ModelClient | None = None) -> Proposal:
    """Return the steps that a model proposes.

    Args:
        sop: the text of the SOP.
        model: `PROVIDER/MODEL`.
        client: a model client in place of that.

    Raises:
        AgentSpecError: the model cannot be asked, or its reply proposes nothing that can be used.
    """
    lines = sop.split("\n")
    prompt = load_prompt(PROMPT, None, ("system", "user"))
    asked = ModelRequest(
        messages=(
            Message(role="system", text=prompt.render("system", {"lines": lines})),
            Message(role="user", text=prompt.render("user", {"lines": lines})),
        )
    )
    reply = (client or make_client(model, {}, Connection())).complete(asked)
    refused = withheld(reply)
    if refused:
        _unusable(refused)
    return read_proposal(reply.message.text, lines)


def read_proposal(text: str, lines: Sequence[str]) -> Proposal:
    """Read what a model has proposed for these lines.

    Raises:
        AgentSpecError: it is no list of steps, or they overlap or lie outside of the SOP.
    """
    proposed = _object(text).get("steps")
    if not isinstance(proposed, list) or not proposed:
        _unusable("the reply has no list of steps")
    steps: Proposal = []
    end = 0
    for number, one in enumerate(cast("list[object]", proposed), start=1):
        step = as_object(one) or {}
        first, last = _number(step.get("first_line")), _number(step.get("last_line"))
        if not end < first <= last <= len(lines):
            told = f"step {number} goes from line {first} to line {last}"
            _unusable(f"{told}, after line {end} of {len(lines)}")
        body = "\n".join(lines[first - 1 : last]).strip("\n")
        if not body.strip():
            _unusable(f"step {number}, line {first} to {last}, has no text")
        title = " ".join(str(step.get("title") or "").split()) or body.strip().split("\n")[0]
        steps.append({"number": str(number), "title": title, "text": body})
        end = last
    return steps


def _number(value: object) -> int:
    return value if isinstance(value, int) else 0


def _object(text: str) -> Mapping[str, Any]:
    start = text.find("{")
    try:
        found = json.JSONDecoder().raw_decode(text, max(start, 0))[0]
    except ValueError:
        found = None
    return as_object(found) or {}


def _unusable(why: str) -> NoReturn:
    msg = f"the model proposed no steps that can be used: {why}"
    raise AgentSpecError(msg, hint="ask again or ask another model, or write steps.json yourself")
