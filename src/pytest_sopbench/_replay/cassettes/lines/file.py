"""The lines of a cassette: what it is of, and for each trial a line about it and its exchanges."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any, Final, cast

from pytest_sopbench._core.model.trace import UNKNOWN_USAGE, Usage
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._replay.cassettes.places import TaskPlace
from pytest_sopbench._replay.tape.recording import Recorded, Recording
from pytest_sopbench._replay.tape.shape import IGNORED, MASKED, Shape, Shaping

from .bodies import BodyWriter, Get, Put, read_body_line
from .replies import read_reply, write_reply
from .seals import CRC, Seal, checksum, seal_of

VERSION: Final = 1
_dumps = json.JSONEncoder(separators=(",", ":"), allow_nan=False).encode
_USAGE: Final = ("input_tokens", "output_tokens", "cost_usd")


@dataclass(frozen=True, slots=True, kw_only=True)
class Cassette:
    """All recordings of one task, by trial, and what their checksums say where they were read."""

    place: TaskPlace
    trials: Mapping[int, Recording]
    seals: Mapping[int, Seal] = field(default_factory=dict[int, Seal])

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
        # What nobody could check so far is not vouched for because it is written again.
        if cassette.seals.get(trial) is not Seal.NONE:
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
    """Return what kind a body is of where a line does not say."""
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
    source = _Lines(lines)
    try:
        head = source.read() if lines else {}
        if head.get("cassette") != VERSION:
            msg = f"not a cassette of version {VERSION}"
            raise ValueError(msg)  # noqa: TRY301 - the number of the line is added below
        place = TaskPlace(str(head["agent"]), str(head["domain"]), str(head["task"]))
        trials: dict[int, Recording] = {}
        seals: dict[int, Seal] = {}
        while source.has_more:
            told = source.read()
            start = source.number
            reader = _TrialReader(told, shaping, get)
            for _ in range(int(told["requests"])):
                reader.add(source.read())
            trial = int(told["trial"])
            trials[trial] = reader.recording()
            seals[trial] = seal_of(told, lines[start : source.number])
    except (KeyError, TypeError, ValueError) as fault:
        told_fault = f"key {fault} is missing" if isinstance(fault, KeyError) else str(fault)
        msg = f"line {source.number}: {told_fault}"
        raise ValueError(msg) from fault
    return Cassette(place=place, trials=trials, seals=seals)


class _Lines:
    """Reads line by line, and knows where it is."""

    def __init__(self, lines: Sequence[bytes]) -> None:
        self._lines = lines
        self.number = 0

    @property
    def has_more(self) -> bool:
        return self.number < len(self._lines)

    def read(self) -> dict[str, Any]:
        self.number += 1
        if self.number > len(self._lines):
            msg = "the file ends before all requests that it announces"
            raise ValueError(msg)
        data: object = json.loads(self._lines[self.number - 1])
        if not isinstance(data, dict):
            msg = "an object expected"
            raise TypeError(msg)
        return cast("dict[str, Any]", data)


class _TrialReader:
    def __init__(self, told: Mapping[str, Any], shaping: Shaping, get: Get) -> None:
        self._told = told
        self._get = get
        self._shaping = shaping
        # A key holds of what was ignored then; where that is another thing, it is made anew.
        keyed_by = {name: told[name] for name in (IGNORED, MASKED) if name in told}
        self._keeps_keys = keyed_by == shaping.keyed_by
        self._bodies: list[JsonValue] = []
        self._exchanges: list[Recorded] = []

    def add(self, line: Mapping[str, Any]) -> None:
        request: Mapping[str, Any] = line["request"]
        body = read_body_line(request, self._bodies, self._get)
        self._bodies.append(body)
        kind = request.get("kind") or _usual_kind(body)
        shape = Shape(
            method=request["method"],
            path=request["path"],
            query=tuple((name, value) for name, value in request.get("query", ())),
            kind=kind,
            body=body,
        )
        if not self._keeps_keys:
            shape = self._shaping.settled_shape(shape)
        key: str = line["key"] if self._keeps_keys else shape.key
        self._exchanges.append(Recorded(key=key, shape=shape, response=read_reply(line["reply"])))

    def recording(self) -> Recording:
        usage: Mapping[str, Any] = self._told.get("usage", {})
        return Recording(
            exchanges=tuple(self._exchanges),
            recorded=str(self._told.get("recorded", "")),
            usage=Usage(**{name: usage.get(name) for name in _USAGE}) if usage else UNKNOWN_USAGE,
        )
