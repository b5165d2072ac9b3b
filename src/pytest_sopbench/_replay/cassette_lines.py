"""The lines of a recording."""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import takewhile
from pathlib import Path
from typing import Any, Final, NamedTuple, cast
from urllib.parse import unquote, urlsplit, urlunsplit
from zlib import crc32

from pytest_sopbench._core.hiding import masked_forms
from pytest_sopbench._core.model.task import MASK
from pytest_sopbench._core.model.trace import UNKNOWN_USAGE, Usage
from pytest_sopbench._core.values.json import JsonValue, same_json
from pytest_sopbench._core.values.text import safe_name
from pytest_sopbench._replay.exchange import (
    IGNORED,
    MASKED,
    Headers,
    Recorded,
    Recording,
    Response,
    Shape,
    Shaping,
    is_secret,
)

# Bodies of requests as they are written: of a growing conversation only what is new.
#
# Every request of a conversation repeats the one before. So a body is written as what differs from
# another one of the trial: `like` is the number of that one, `keep` how many items or characters
# of a key stay, `body` has the keys that differ, without what is kept of them. A body that is no
# object stands whole, as `plain`. Long texts at a place where every request repeats them stand in
# a file of their own.

_LONG: Final = 400
"""Characters from which on a text, or what is not the conversation, is kept in a file."""

_BACK: Final = 8
"""How many requests before it a body is compared with: conversations that go on side by side."""

_TEXT, _PARTS, _RAW = "$shared", "$parts", "$raw"
_MARKS: Final = frozenset((_TEXT, _PARTS, _RAW))
_SYSTEM: Final = frozenset(("system", "developer"))
_SYSTEM_KEYS: Final = frozenset(("system", "instructions", "systemInstruction"))
_TALK: Final = frozenset(("messages", "input", "contents", "prompt"))

Put = Callable[[JsonValue], str]
Get = Callable[[str], JsonValue]


class BodyWriter:
    """Writes the bodies of one trial, in order.

    Args:
        put: keeps a value in a file of its own, and returns its name.
        texts: what is known to be repeated, such as the SOP.
    """

    def __init__(self, put: Put, texts: Sequence[str]) -> None:
        self._put = put
        self._texts = [text for text in texts if len(text) >= _LONG]
        self._before: list[Mapping[str, JsonValue]] = []

    def write(self, body: JsonValue) -> dict[str, Any]:
        """Return what is written of a body."""
        if not isinstance(body, Mapping):
            self._before.append({})
            return {} if body is None else {"plain": self._value(body, is_system=False)}
        like = self._nearest(body)
        self._before.append(body)
        if like is None:
            return {"body": {key: self._top(key, one) for key, one in body.items()}}
        return self._grown(body, like)

    def _nearest(self, body: Mapping[str, JsonValue]) -> int | None:
        ranked = [
            (sum(_kept(self._before[place].get(key), one) for key, one in body.items()), place)
            for place in range(max(0, len(self._before) - _BACK), len(self._before))
        ]
        best = max(ranked, default=(0, 0))
        return best[1] if best[0] else None

    def _grown(self, body: Mapping[str, JsonValue], like: int) -> dict[str, Any]:
        before = self._before[like]
        keep: dict[str, int] = {}
        new: dict[str, JsonValue] = {}
        for key, one in body.items():
            if key in before and same_json(before[key], one):
                continue
            kept = _kept(before.get(key), one) if isinstance(one, list) else 0
            if kept and isinstance(one, list):
                keep[key] = kept
                new[key] = [self._item(item) for item in one[kept:]]
            else:
                new[key] = self._top(key, one)
        gone = sorted(key for key in before if key not in body)
        line: dict[str, Any] = {"like": like + 1, "body": new}
        return {**line, **({"keep": keep} if keep else {}), **({"gone": gone} if gone else {})}

    def _top(self, key: str, value: JsonValue) -> JsonValue:
        if key in _TALK and isinstance(value, list):
            return [self._item(one) for one in value]
        if isinstance(value, str) or key in _SYSTEM_KEYS:
            return self._value(value, is_system=key not in _TALK)
        if isinstance(value, Mapping | list) and len(json.dumps(value)) >= _LONG:
            return {_TEXT: self._put(value)}
        return self._value(value, is_system=False)

    def _item(self, item: JsonValue) -> JsonValue:
        role = item.get("role") if isinstance(item, Mapping) else None
        return self._value(item, is_system=isinstance(role, str) and role in _SYSTEM)

    def _value(self, value: JsonValue, *, is_system: bool) -> JsonValue:
        if isinstance(value, str):
            return self._text(value, is_system=is_system)
        if isinstance(value, Mapping):
            found = {key: self._value(one, is_system=is_system) for key, one in value.items()}
            return {_RAW: found} if len(found) == 1 and found.keys() <= _MARKS else found
        if isinstance(value, list | tuple):
            return [self._value(one, is_system=is_system) for one in value]
        return value

    def _text(self, text: str, *, is_system: bool) -> JsonValue:
        if len(text) < _LONG:
            return text
        for known in self._texts:
            before, found, behind = text.partition(known)
            if found:
                parts = [
                    self._text(before, is_system=is_system) if before else "",
                    {_TEXT: self._put(known)},
                    self._text(behind, is_system=is_system) if behind else "",
                ]
                return {_PARTS: [part for part in parts if part]}
        return {_TEXT: self._put(text)} if is_system else text


def _kept(before: JsonValue, now: JsonValue) -> int:
    """Return how much of a value need not be written again."""
    if before is None or now is None:
        return 0
    if isinstance(before, list) and isinstance(now, list):
        pairs = zip(before, now, strict=False)
        same = takewhile(lambda pair: same_json(*pair), pairs)
        return sum(1 for _ in same) if len(before) <= len(now) else 0
    return 1 if same_json(before, now) else 0


def read_body_line(line: Mapping[str, Any], before: Sequence[JsonValue], get: Get) -> JsonValue:
    """Return the body that a line stands for, given those before it in the trial.

    Raises:
        CassetteError: a shared text is missing.
        ValueError, TypeError: the line is not what `BodyWriter` writes.
    """
    if "body" not in line:
        return read_value(line.get("plain"), get)
    # Each key by itself: a body is no mark, whatever its only key is called.
    body = {key: read_value(one, get) for key, one in line["body"].items()}
    if "like" not in line:
        return body
    if not 1 <= line["like"] <= len(before):
        msg = f"like={line['like']}: no request before it has that number"
        raise ValueError(msg)
    found = before[line["like"] - 1]
    if not isinstance(found, Mapping):
        msg = f"like={line['like']}: that request has no object for a body"
        raise TypeError(msg)
    keep: Mapping[str, int] = line.get("keep", {})
    grown: dict[str, Any] = {
        key: one for key, one in found.items() if key not in line.get("gone", ())
    }
    for key, one in body.items():
        grown[key] = [*grown[key][: keep[key]], *_listed(one)] if key in keep else one
    return grown


def _listed(value: JsonValue) -> list[JsonValue]:
    if isinstance(value, list):
        return value
    msg = "keep: a list expected"
    raise TypeError(msg)


def read_value(value: JsonValue, get: Get) -> JsonValue:
    """Return a written value with the texts that it names."""
    if isinstance(value, list):
        return [read_value(one, get) for one in value]
    if not isinstance(value, Mapping):
        return value
    if len(value) == 1:
        ((key, one),) = value.items()
        if key == _TEXT:
            return get(str(one))
        if key == _PARTS and isinstance(one, list):
            return "".join(str(read_value(part, get)) for part in one)
        if key == _RAW and isinstance(one, Mapping):
            value = one
    return {key: read_value(one, get) for key, one in value.items()}


# Responses as they are written: JSON as JSON, streams by chunks, what is no text in base64.

KEPT_HEADERS: Final = frozenset(
    (
        "content-type",
        "location",
        "retry-after",
        "request-id",
        "x-request-id",
        "x-amzn-requestid",
        "x-amzn-errortype",
        "mcp-session-id",
    )
)
"""Headers that clients read; no other one is ever written."""

_compact = json.JSONEncoder(separators=(",", ":"), ensure_ascii=False, allow_nan=False).encode


def write_reply(response: Response) -> dict[str, Any]:
    """Return what is written of a response."""
    line: dict[str, Any] = {"status": response.status}
    if kept := dict(kept_headers(response.headers)):
        line["headers"] = kept
    if not response.complete:
        line["complete"] = False
    body = response.body
    if not body:
        return line
    value = _json(body) if len(response.chunks) == 1 else None
    if value is not None:
        line["json"] = value
    else:
        line["chunks"] = [_chunk(one) for one in response.chunks if one]
    return line


def read_reply(line: Mapping[str, Any]) -> Response:
    """Return the response that a line stands for.

    Raises:
        ValueError: the line is not what `write_reply` writes.
    """
    headers: Mapping[str, str] = line.get("headers", {})
    if "json" in line:
        chunks: tuple[bytes, ...] = (_compact(line["json"]).encode(),)
    else:
        chunks = tuple(_bytes(one) for one in line.get("chunks", ()))
    return Response(
        status=int(line["status"]),
        headers=tuple(headers.items()),
        chunks=chunks,
        complete=line.get("complete", True),
    )


def kept_headers(headers: Headers) -> Headers:
    """Return the headers that are written, sorted, with names in lower case."""
    found = ((name.lower(), value) for name, value in headers)
    return tuple(
        sorted(
            (name, _place(value) if name == "location" else value)
            for name, value in found
            if name in KEPT_HEADERS
        )
    )


def _place(location: str) -> str:
    """Return where a redirect leads, without what does not count of a request: host and keys."""
    try:
        parts = urlsplit(location)
    except ValueError:
        return ""
    query = (one for one in parts.query.split("&") if not is_secret(unquote(one.partition("=")[0])))
    path = masked_forms(parts.path or ("/" if parts.netloc else ""), MASK)
    return urlunsplit(("", "", path, "&".join(query), ""))


def _json(body: bytes) -> JsonValue:
    """Return the object that a body is; `None` if it would not be written back as the same."""
    try:
        value: JsonValue = json.loads(body)
        written = _compact(value)
    except (ValueError, RecursionError):
        return None
    return value if isinstance(value, dict) and json.loads(written) == value else None


def _chunk(chunk: bytes) -> str | dict[str, str]:
    try:
        return chunk.decode()
    except UnicodeDecodeError:
        return {"base64": base64.b64encode(chunk).decode()}


def _bytes(chunk: str | Mapping[str, str]) -> bytes:
    return chunk.encode() if isinstance(chunk, str) else base64.b64decode(chunk["base64"])


# A checksum over each recording, by which a reader tells that nobody changed it by hand.
#
# It is a CRC-32 of the line about the trial and of the lines of its exchanges, each as `json`
# writes what it holds: a change of line ends or of the space between keys and values is none. The
# order of keys counts, as a reply is served in it. Shared texts are named by a hash of their
# content. It finds what accidents and editors do. Whoever means to deceive can compute it.

CRC: Final = "crc"
"""The key of the line about a trial under which its checksum stands."""

CHANGED: Final = "changed since it was recorded, its checksum is missing or does not fit"

_sealed_dumps = json.JSONEncoder(separators=(",", ":")).encode


def checksum(told: Mapping[str, Any], lines: Iterable[bytes]) -> str:
    """Return the checksum of a trial, by what is told of it and the lines of its exchanges."""
    found = crc32(_sealed_dumps({key: told[key] for key in sorted(told) if key != CRC}).encode())
    for line in lines:
        found = crc32(b"\n" + line, found)
    return f"{found:08x}"


def is_sealed(told: Mapping[str, Any], lines: Iterable[bytes]) -> bool:
    """Tell whether the checksum of a trial fits what stands there; a missing one does not.

    Raises:
        ValueError: a line is no JSON.
    """
    if CRC not in told:
        return False
    found = [*lines]
    # As it was written, in nearly every file: then nothing is parsed.
    if told[CRC] == checksum(told, found):
        return True
    written = (_sealed_dumps(json.loads(line)).encode() for line in found)
    return bool(told[CRC] == checksum(told, written))


# Where a cassette lies: `AGENT/DOMAIN/TASK.jsonl`, with names that are safe on every disk.

SUFFIX: Final = ".jsonl"
SHARED: Final = "shared"


class TaskPlace(NamedTuple):
    """Of which agent, domain and task a cassette is."""

    agent: str
    domain: str
    task: str


def cassette_path(root: Path, place: TaskPlace) -> Path:
    """Return where the cassette of a task lies, always under `root`."""
    folder = root / safe_name(place.agent) / safe_name(place.domain)
    return folder / f"{safe_name(place.task)}{SUFFIX}"


# The lines of a cassette: what it is of, and for each trial a line about it and its exchanges.

VERSION: Final = 1
_dumps = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_USAGE: Final = ("input_tokens", "output_tokens", "cost_usd")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cassette:
    """All recordings of one task, by trial, and whether their checksums fit if they were read."""

    place: TaskPlace
    trials: Mapping[int, Recording]
    seals: Mapping[int, bool] = field(default_factory=dict[int, bool])

    @property
    def requests(self) -> int:
        """How many exchanges there are in all trials."""
        return sum(len(one.exchanges) for one in self.trials.values())


def cassette_lines(
    cassette: Cassette, shaping: Shaping, put: Put, texts: Sequence[str]
) -> Iterator[str]:
    """Yield the lines of a cassette, in ASCII; the same recordings give the same lines."""
    place = cassette.place
    yield _line(
        {"cassette": VERSION, "agent": place.agent, "domain": place.domain, "task": place.task}
    )
    for trial, recording in sorted(cassette.trials.items()):
        told: dict[str, Any] = {
            "trial": trial,
            "recorded": recording.recorded,
            "requests": len(recording.exchanges),
            "models": [*recording.models],
            "usage": _usage(recording.usage),
        }
        told |= shaping.keyed_by
        writer = BodyWriter(put, texts)
        lines = [_line(_exchange(one, writer)) for one in recording.exchanges]
        told[CRC] = checksum(told, (line.encode("ascii") for line in lines))
        yield _line(told)
        yield from lines


def _exchange(one: Recorded, writer: BodyWriter) -> dict[str, Any]:
    shape = one.shape
    request = {"method": shape.method, "path": shape.path, **writer.write(shape.body)}
    if shape.query:
        request["query"] = [list(pair) for pair in shape.query]
    if shape.kind != _usual_kind(shape.body):
        request["kind"] = shape.kind
    # The reply keeps the order of its keys: an agent may print it, and send that.
    reply = write_reply(one.response)
    return {
        "key": one.key,
        "reply": {key: reply[key] for key in sorted(reply)},
        "request": json.loads(json.dumps(request, sort_keys=True)),
    }


def _usual_kind(body: JsonValue) -> str:
    """Return what kind a body is of if a line does not say."""
    return "none" if body is None else "json"


def _line(data: Mapping[str, Any]) -> str:
    return _dumps({key: data[key] for key in sorted(data)})


def _usage(usage: Usage) -> dict[str, Any]:
    told = {name: getattr(usage, name) for name in _USAGE}
    return {name: value for name, value in told.items() if value is not None}


def read_lines(lines: Sequence[bytes], shaping: Shaping, get: Get) -> Cassette:
    """Read a cassette.

    Raises:
        CassetteError: a shared text is missing.
        ValueError: a line is not what a cassette has; the message begins with its number.
    """
    at = 0
    try:
        head = _object_at(lines, at) if lines else {}
        if head.get("cassette") != VERSION:
            msg = f"not a cassette of version {VERSION}"
            raise ValueError(msg)  # noqa: TRY301 - the number of the line is added below
        place = TaskPlace(str(head["agent"]), str(head["domain"]), str(head["task"]))
        trials: dict[int, Recording] = {}
        seals: dict[int, bool] = {}
        while at + 1 < len(lines):
            at += 1
            told, start = _object_at(lines, at), at + 1
            trial = int(told["trial"])
            if trial in trials:
                msg = f"trial {trial} stands twice"
                raise ValueError(msg)  # noqa: TRY301 - the number of the line is added below
            # A key holds of what was ignored then; if that is another thing, it is made anew.
            keyed_by = {name: told[name] for name in (IGNORED, MASKED) if name in told}
            anew = None if keyed_by == shaping.keyed_by else shaping
            exchanges: list[Recorded] = []
            bodies: list[JsonValue] = []
            for _ in range(int(told["requests"])):
                at += 1
                line = _object_at(lines, at)
                bodies.append(read_body_line(line["request"], bodies, get))
                exchanges.append(_recorded(line, bodies[-1], anew))
            usage: Mapping[str, Any] = told.get("usage", {})
            trials[trial] = Recording(
                exchanges=tuple(exchanges),
                recorded=str(told.get("recorded", "")),
                usage=Usage(**{n: usage.get(n) for n in _USAGE}) if usage else UNKNOWN_USAGE,
            )
            seals[trial] = is_sealed(told, lines[start : at + 1])
    except (KeyError, TypeError, ValueError) as fault:
        told_fault = f"key {fault} is missing" if isinstance(fault, KeyError) else str(fault)
        msg = f"line {at + 1}: {told_fault}"
        raise ValueError(msg) from fault
    return Cassette(place=place, trials=trials, seals=seals)


def _object_at(lines: Sequence[bytes], at: int) -> dict[str, Any]:
    if at >= len(lines):
        msg = "the file ends before all requests that it announces"
        raise ValueError(msg)
    data: object = json.loads(lines[at])
    if not isinstance(data, dict):
        msg = "an object expected"
        raise TypeError(msg)
    return cast("dict[str, Any]", data)


def _recorded(line: Mapping[str, Any], body: JsonValue, anew: Shaping | None) -> Recorded:
    """Return the exchange of a line; `anew` makes its key if that of the line does not hold."""
    request: Mapping[str, Any] = line["request"]
    shape = Shape(
        method=request["method"],
        path=request["path"],
        query=tuple((name, value) for name, value in request.get("query", ())),
        kind=request.get("kind") or _usual_kind(body),
        body=body,
    )
    key: str = line["key"]
    if anew is not None:
        shape = anew.settled_shape(shape)
        key = shape.key
    return Recorded(key=key, shape=shape, response=read_reply(line["reply"]))
