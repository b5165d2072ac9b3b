"""Prompt, fence and reply of a judge."""

from __future__ import annotations

import json
import re
import unicodedata
from collections.abc import Mapping
from dataclasses import asdict, dataclass, replace
from functools import cache
from hashlib import sha256
from importlib.resources import files
from string import Template
from typing import Any, Final, NoReturn

from pytest_sopbench._core.fields.comparison import stands_in
from pytest_sopbench._core.hiding import ready_to_cut
from pytest_sopbench._core.values.json import get_member
from pytest_sopbench.agents.conversation import (
    Message,
    ModelClient,
    ModelRequest,
    Reply,
    StopReason,
    as_object,
)
from pytest_sopbench.errors import NotJudgedError

# What the judge is asked: whether one answer satisfies a rubric, beside the expected one.


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """One question; equal questions have one judgement.

    Attributes:
        rubric: what people were told to judge by.
        field: the output field.
        expected: the expected value, as text.
        actual: the value that the agent gave, as text.
    """

    rubric: str
    field: str
    expected: str
    actual: str

    def key(self, settings: Mapping[str, str]) -> str:
        """Return what names the judgement of this question under these settings of a judge."""
        return digest({"question": asdict(self), "settings": dict(settings)})

    @property
    def expected_first(self) -> bool:
        """Whether the expected text stands before the answer.

        A model may prefer what it reads first, so the content draws the order: the same for the
        same question, and either one in half of all questions.
        """
        return int(digest(asdict(self)), 16) % 2 == 0


def digest(value: object) -> str:
    """Hash a JSON value by its content."""
    return sha256(json.dumps(value, sort_keys=True, separators=(",", ":")).encode()).hexdigest()


# A fence around texts that are data, out of which nothing that they say can come.
#
# Two things keep a text in. Inside the fence no `<` or `>` stands, however it was written, so no
# text can close the fence or open another one. And the name of the fence is a hash of what it
# encloses, so a text that knew it would have to hold its own hash.

_BRACKETS: Final = frozenset("<>")
_UNSEEN: Final = frozenset({"Cc", "Cf", "Cn", "Co", "Cs", "Zl", "Zp"})
"""Categories of characters that nobody sees: a text could say in them what people cannot read."""


def fence_name(texts: Mapping[str, str]) -> str:
    """Return a name that none of the texts holds, the same for the same texts."""
    for attempt in range(len(texts) + 1):
        name = f"data-{digest([attempt, dict(texts)])[:32]}"
        if not any(name in text for text in texts.values()):
            return name
    # To get here each text would have to hold a hash of itself.
    msg = "no name for the fence"
    raise ValueError(msg)


def fenced(name: str, label: str, text: str) -> str:
    """Return a text between the tags of a fence, as one JSON string on one line."""
    return f'<{name} text="{label}">\n{quoted(text)}\n</{name}>'


def quoted(text: str) -> str:
    """Return a text as a JSON string without angle brackets and characters that nobody sees."""
    return "".join(
        _escaped(sign) if _is_escaped(sign) else sign
        for sign in json.dumps(text, ensure_ascii=False)
    )


def _is_escaped(sign: str) -> bool:
    if sign < "\x7f":
        return sign in _BRACKETS
    # A model may read full-width brackets as the plain ones, which they are once normalised.
    is_bracket = not _BRACKETS.isdisjoint(unicodedata.normalize("NFKC", sign))
    return is_bracket or unicodedata.category(sign) in _UNSEEN


def _escaped(sign: str) -> str:
    return json.dumps(sign)[1:-1] if sign > "\x7f" else f"\\u{ord(sign):04x}"


# The prompt of the judge: a file whose hash is a part of every judgement.

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
    return files("pytest_sopbench._judge").joinpath("prompt.md").read_text("utf-8")


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


# Put a question to a model, without what the model refuses to take.

TEMPERATURE: Final = "temperature"
SCHEMA: Final = "schema"

_WORDS: Final[Mapping[str, tuple[str, ...]]] = {
    TEMPERATURE: ("temperature",),
    SCHEMA: ("response_format", "text.format", "json_schema", "guided_json", "grammar"),
}
_BAD_REQUESTS: Final = frozenset({400, 422})


class ModelAsker:
    """Asks with temperature 0 and a schema of the reply, and leaves out what the model refuses.

    Some models take no temperature, and some servers no schema. The first request of either says
    so, and costs nothing; from then on the request goes without. Both are aids alone: what counts
    is whether the reply keeps to the form and its quote stands in the answer.
    """

    def __init__(self, client: ModelClient, without_temperature: ModelClient) -> None:
        self._clients = {False: client, True: without_temperature}
        self.left_out: frozenset[str] = frozenset()

    def ask(self, question: Question) -> Reply:
        while True:
            without = self.left_out
            client = self._clients[TEMPERATURE in without]
            try:
                return client.complete(request_of(question, structured=SCHEMA not in without))
            except Exception as error:
                refused = refused_part(error)
                # What was left out already is not what it complains of.
                if not refused or refused in without:
                    raise
                self.left_out |= {refused}


def refused_part(error: Exception) -> str:
    """Return which part of a request a provider refuses to take, or nothing."""
    response = get_member(error, "response")
    status = get_member(error, "status_code") or get_member(response, "status_code")
    code = get_member(get_member(response, "Error"), "Code")
    if status not in _BAD_REQUESTS and code != "ValidationException":
        return ""
    # What it names as the parameter counts more than what it may quote of the conversation.
    named = str(get_member(error, "param") or "").lower()
    told = named or str(error).lower()
    return next((part for part, words in _WORDS.items() if any(one in told for one in words)), "")


# What the judge replied: a judgement, or nothing that may count as one.

_STOPPED: Final = {
    StopReason.REFUSAL: "refused",
    StopReason.CONTENT_FILTER: "was stopped by its provider's filter",
    StopReason.LENGTH: "was cut off in its reply",
}
_FENCED: Final = re.compile(r"\s*```(?:json)?[ \t]*\n(.*)\n[ \t]*```\s*", re.DOTALL)
_SHOWN: Final = 60
LONGEST: Final = 1_000
"""Characters that are kept and printed of a reason and of a quote."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Judgement:
    """What the judge decided of one question.

    Attributes:
        held: whether the answer satisfies the rubric.
        reason: why, in the model's words, as far as they are kept.
        quote: the passage of the answer that decides, cut as well.
    """

    held: bool
    reason: str
    quote: str


def read_reply(reply: Reply, answer: str) -> Judgement:
    """Return the judgement that a reply holds.

    Args:
        reply: what the model said.
        answer: the text that was judged, in which the quote must stand.

    Raises:
        NotJudgedError: there is none: the model refused, was cut off, called a tool, said nothing
            or something else than was asked, or quotes what the answer does not say.
    """
    if reply.message.requests or reply.stop is StopReason.TOOL_REQUESTS:
        _refuse("called a tool instead of judging")
    if reply.refusal or reply.stop in _STOPPED:
        _refuse(_STOPPED.get(reply.stop, _STOPPED[StopReason.REFUSAL]))
    text = reply.message.text
    if not text.strip():
        _refuse("gave an empty reply")
    judgement = _read(text)
    if not stands_in(judgement.quote, answer):
        _refuse(f"quotes what the answer does not say: {_short(judgement.quote)}")
    return bounded(judgement)


def bounded(judgement: Judgement) -> Judgement:
    """Return a judgement of which no text is longer than a reader has use for."""
    # The beginning of a passage is a passage too, for whoever looks for the quote again.
    quote = ready_to_cut(judgement.quote)[:LONGEST]
    return replace(judgement, reason=_cut(judgement.reason), quote=quote)


def _read(text: str) -> Judgement:
    found = _FENCED.fullmatch(text)
    try:
        read = as_object(json.loads(found[1] if found else text, object_pairs_hook=_each_once))
    except (ValueError, RecursionError):
        _refuse(f"gave no JSON object: {_short(text)}")
    if read is None:
        _refuse(f"gave no JSON object: {_short(text)}")
    held, reason, quote = (read.get(name) for name in ("held", "reason", "quote"))
    # Not `"true"`, not 1: who does not keep to the form may not have kept to the rubric.
    if held is not True and held is not False:
        _refuse("said neither true nor false as 'held'")
    if not isinstance(reason, str) or not reason.strip() or not isinstance(quote, str):
        _refuse("gave no reason or no quote")
    if others := sorted(set(read) - {"held", "reason", "quote"}):
        _refuse(f"said more than it was asked for: {_short(', '.join(others))}")
    return Judgement(held=held, reason=" ".join(reason.split()), quote=quote)


def _each_once(pairs: list[tuple[str, object]]) -> dict[str, object]:
    found = dict(pairs)
    if len(found) < len(pairs):
        msg = "a name stands twice"
        raise ValueError(msg)
    return found


def _cut(text: str) -> str:
    if len(text) <= LONGEST:
        return text
    text = ready_to_cut(text)
    more = len(text) - LONGEST
    return f"{text[:LONGEST]}... ({more:,} characters more)" if more > 0 else text


def _short(text: str) -> str:
    line = " ".join(ready_to_cut(text).split())
    return repr(line if len(line) <= _SHOWN else f"{line[:_SHOWN]}...")


def _refuse(why: str) -> NoReturn:
    msg = f"the judge {why}"
    raise NotJudgedError(msg) from None
