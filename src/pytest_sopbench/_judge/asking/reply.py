"""What the judge replied: a judgement, or nothing that may count as one."""

from __future__ import annotations

import json
import re
from dataclasses import dataclass, replace
from typing import Final, NoReturn

from pytest_sopbench._core.fields.match import stands_in
from pytest_sopbench._core.hiding.masking import ready_to_cut
from pytest_sopbench.agents.conversation import Reply, StopReason, as_object
from pytest_sopbench.errors import NotJudgedError

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
    if not isinstance(reason, str) or not isinstance(quote, str):
        _refuse("gave no reason or no quote")
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
