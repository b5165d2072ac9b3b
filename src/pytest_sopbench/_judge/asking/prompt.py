"""The prompt of the judge: a file whose hash is a part of every judgement."""

from __future__ import annotations

from functools import cache
from hashlib import sha256
from importlib.resources import files
from string import Template
from typing import Any, Final

from pytest_sopbench.agents.conversation import Message, ModelRequest

from .fence import fence_name, fenced, quoted
from .question import Question

REPLY_SCHEMA: Final[dict[str, Any]] = {
    "type": "object",
    "properties": {
        # The reason comes first: a model that has decided before it gives reasons makes them up.
        "reason": {"type": "string"},
        "quote": {"type": "string"},
        "held": {"type": "boolean"},
    },
    "required": ["reason", "quote", "held"],
    "additionalProperties": False,
}

EXPECTED: Final = "expected"
ANSWER: Final = "answer"


@cache
def prompt_text() -> str:
    """Return the file of the prompt."""
    return files("pytest_sopbench._judge.asking").joinpath("prompt.md").read_text("utf-8")


@cache
def prompt_hash() -> str:
    """Return what changes with the prompt."""
    return sha256(prompt_text().encode()).hexdigest()[:16]


def request_of(question: Question, *, structured: bool = True) -> ModelRequest:
    """Return the conversation that asks a question.

    Args:
        question: what is asked.
        structured: whether the reply is asked to follow a schema, which some servers refuse.
    """
    texts = {EXPECTED: question.expected, ANSWER: question.actual}
    name = fence_name({**texts, "rubric": question.rubric})
    order = (EXPECTED, ANSWER) if question.expected_first else (ANSWER, EXPECTED)
    system = Template(prompt_text()).substitute(
        fence=name, field=quoted(question.field), rubric=question.rubric
    )
    return ModelRequest(
        messages=(
            Message(role="system", text=system),
            Message(role="user", text="\n\n".join(fenced(name, one, texts[one]) for one in order)),
        ),
        reply_schema=REPLY_SCHEMA if structured else None,
    )
