"""Why a request has no recording: the nearest recorded one of the run, and where they differ."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from itertools import takewhile

from pytest_sopbench._core.values.json import JsonValue, same_json

from .changing import advice_on
from .difference import Difference, differences
from .model_paths import asks_no_model, host_lines, model_in_path
from .recording import Recorded, Recording
from .shape import Shape

AGAIN = "sent more often than recorded"
NOTHING = "nothing is recorded"


@dataclass(frozen=True, slots=True, kw_only=True)
class Miss:
    """A request without a recording: the path that differs, and an explanation in few lines.

    Attributes:
        path: the first that differs.
        lines: the explanation.
        ignore: entries of `sop_replay_ignore` that would leave out all that differs.
        mask: likewise, patterns of `sop_replay_mask`.
    """

    path: str
    lines: tuple[str, ...]
    ignore: tuple[str, ...] = ()
    mask: tuple[str, ...] = ()

    def __str__(self) -> str:
        return "\n".join(self.lines)


def explain_miss(recording: Recording, shape: Shape, number: int, host: str = "") -> Miss:
    """Explain why a request, the `number`th of its run, has no recording, in at most six lines."""
    at = f"in request {number} of the run, {shape.method} {shape.path}"
    every = recording.exchanges
    same = ((one.shape.method, one.shape.path) == (shape.method, shape.path) for one in every)
    if asks_no_model(shape, host) and not any(same):
        lines = (f"a request to {host}, which is no provider of a model", at, *host_lines(host))
        return Miss(path=f"host:{host}", lines=lines, ignore=(f"host:{host}",))
    if not every:
        return Miss(path=NOTHING, lines=("nothing is recorded of this run", at, _REMEDY))
    if times := sum(one.key == shape.key for one in every):
        recorded = "once" if times == 1 else f"{times} times"
        told = f"it is recorded {recorded}, and sent more often than that"
        return Miss(path=AGAIN, lines=(told, at, _REMEDY))
    nearest = max(
        range(len(every)), key=lambda place: _nearness(every[place], place, shape, number)
    )
    found = _apart(every[nearest].shape, shape)
    advice = [one.advice for one in found if one.advice is not None]
    # What says something comes first; what changes with every run is not what went wrong then.
    found = sorted(found, key=lambda one: one.advice is not None)
    if len(advice) < len(found):
        advice = []
    of = f"recorded request {nearest + 1} of {len(every)}{_date(recording)}"
    agree = _agreement(every[nearest].shape.body, shape.body)
    beside = f"; {len(found) - 1} more differ" if len(found) > 1 else ""
    remedy = _CHANGING if advice else _REMEDY
    lines = (*found[0].lines(), at, f"nearest: {of}{agree}{beside}", remedy)
    return Miss(
        path=found[0].path,
        lines=lines,
        ignore=tuple(dict.fromkeys(one.ignore for one in advice if one.ignore)),
        mask=tuple(dict.fromkeys(pattern for one in advice for pattern in one.mask)),
    )


_REMEDY = "if it should differ, record anew: --sop-replay=record; what is missing alone: auto"

_CHANGING = "it changes with every run: the summary has a line for the configuration"


def _date(recording: Recording) -> str:
    day = recording.recorded.partition("T")[0]
    return f", of {day}" if day else ""


def _apart(recorded: Shape, sent: Shape) -> Sequence[Difference]:
    path, model = model_in_path(recorded.path)
    sent_path, sent_model = model_in_path(sent.path)
    if (recorded.method, path) != (sent.method, sent_path):
        one, other = f"{recorded.method} {recorded.path}", f"{sent.method} {sent.path}"
        advice = advice_on("path", one, other)
        return [Difference(path="path", recorded=one, sent=other, advice=advice)]
    # Under the name that it has where it stands in the body.
    named = differences({"model": model}, {"model": sent_model})
    query = list(differences(dict(recorded.query), dict(sent.query)))
    asked = [
        Difference(
            path=f"query.{one.path}",
            recorded=one.recorded,
            sent=one.sent,
            # A parameter of a query cannot be left out, and what stands in it can be masked.
            advice=one.advice if one.advice and one.advice.mask else None,
        )
        for one in query
    ]
    found = [*named, *asked, *differences(recorded.body, sent.body)]
    # Neither is JSON, and what kind of bytes it is tells them apart.
    return found or [Difference(path="body", recorded=recorded.kind, sent=sent.kind)]


def _nearness(one: Recorded, place: int, shape: Shape, number: int) -> tuple[float, ...]:
    """Rank a recorded request: above all by the part of the conversation that agrees."""
    recorded, sent = conversation(one.shape.body), conversation(shape.body)
    agrees = [same_json(*pair) for pair in zip(recorded, sent, strict=False)]
    return (
        one.shape.method == shape.method and one.shape.path == shape.path,
        sum(takewhile(bool, agrees)),
        sum(agrees),
        _alike(one.shape.body, shape.body),
        -abs(len(recorded) - len(sent)),
        -abs(place + 1 - number),
    )


def _alike(recorded: JsonValue, sent: JsonValue) -> int:
    """Return how many keys of two bodies hold the same."""
    if not (isinstance(recorded, Mapping) and isinstance(sent, Mapping)):
        return 0
    return sum(key in sent and same_json(one, sent[key]) for key, one in recorded.items())


def _agreement(recorded: JsonValue, sent: JsonValue) -> str:
    parts = conversation(recorded), conversation(sent)
    agrees = sum(same_json(*pair) for pair in zip(*parts, strict=False))
    return f"; {agrees} of {len(parts[1])} messages agree" if parts[1] else ""


def conversation(body: JsonValue) -> Sequence[JsonValue]:
    """Return the messages of a request, under whichever name a provider takes them."""
    name = conversation_key(body)
    found = body[name] if name is not None and isinstance(body, Mapping) else ()
    return found if isinstance(found, Sequence) and not isinstance(found, str) else ()


def conversation_key(body: JsonValue) -> str | None:
    """Return under which key a request has its messages; `None` where it has none."""
    if isinstance(body, Mapping):
        for name in ("messages", "input", "contents"):
            if isinstance(body.get(name), list | tuple):
                return name
    return None
