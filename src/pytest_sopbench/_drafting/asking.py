"""Ask a model once: what it replied is kept, and served again to the same request."""

from __future__ import annotations

import json
import re
from collections.abc import Callable, Mapping
from dataclasses import asdict, dataclass, field, replace
from importlib.resources import files
from pathlib import Path
from string import Template
from threading import Lock
from typing import Any, Final, TypeVar

from pytest_sopbench._core.model.trace import UNKNOWN_USAGE, Usage
from pytest_sopbench._core.model.usage import Prices, add_usage, read_usage
from pytest_sopbench._core.records.redaction import Redaction
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._judge.asking import digest, fence_name, fenced
from pytest_sopbench._sessions.atomic import replace_file
from pytest_sopbench.agents.clients import Named, make_client, server_of
from pytest_sopbench.agents.conversation import (
    Message,
    ModelClient,
    ModelRequest,
    ModelUsage,
    Reply,
    StopReason,
    ToolRequest,
    as_object,
)
from pytest_sopbench.agents.settings import Connection
from pytest_sopbench.errors import AgentSpecError, SopbenchError

_T = TypeVar("_T")
_BLOCK: Final = re.compile(r"```[a-z]*[ \t]*\n(.*?)\n?[ \t]*```", re.DOTALL)
_STOPPED: Final = {
    StopReason.REFUSAL: "the model refused",
    StopReason.CONTENT_FILTER: "the provider's filter stopped the reply",
    StopReason.LENGTH: "the reply was cut off",
}
_FAILED: Final = ".failed.json"
_AGAIN: Final = "run the same command again; what was done before is kept, and not paid for twice"


class UnusableError(Exception):
    """A reply that cannot be used; its text says to the model what is wrong with it."""


@dataclass(kw_only=True)
class Recordings:
    """The replies of a folder, one file for each, and the clients that are asked for others.

    A client is made with the first request that no file answers, so a replay needs no key.

    What the project masks is masked in a file. A reply is gone on with as it was kept, so that a
    replay comes to the same requests; the name of a file is a hash of a request as it was sent.

    Attributes:
        folder: where they lie.
        redaction: takes secrets out of what is kept.
        asked: how many requests went to a model since this was made.
        kept: how many were answered by a file.
    """

    folder: Path
    redaction: Redaction = field(default_factory=Redaction)
    asked: int = 0
    kept: int = 0
    _clients: dict[str, ModelClient] = field(default_factory=dict[str, ModelClient])
    _lock: Lock = field(default_factory=Lock)

    def reply(self, model: str, stage: str, request: ModelRequest) -> Reply:
        """Return the reply to a request: the one that is kept, or else a new one, which is kept.

        A refusal and a reply that was cut off are kept apart, since asking again may help.

        Raises:
            SopbenchError: the provider did not answer.
        """
        key = self.key(model, request)
        path = self.folder / f"{key}.json"
        kept = _read(path)
        if kept is not None:
            with self._lock:
                self.kept += 1
            return kept
        with self._lock:
            client = self._client(model)
            self.asked += 1
        try:
            reply = client.complete(request)
        except Exception as fault:  # a client raises what its provider's library raises
            msg = f"stage {stage}: the provider did not answer: {type(fault).__name__}: {fault}"
            raise SopbenchError(msg, hint=_AGAIN) from fault
        stopped = reply.refusal or reply.stop in _STOPPED
        path = self._failed(key) if stopped else path
        told = asdict(reply)
        told["message"] = self._masked(told["message"])
        told["refusal"] = self.redaction.text(reply.refusal)
        data = {
            "stage": stage,
            "model": self.redaction.text(model),
            "request": self._masked(asdict(request)),
            "reply": told,
        }
        with replace_file(path) as file:
            file.write(json.dumps(data, ensure_ascii=True, indent=1).encode("ascii") + b"\n")
        # What a replay will find is what counts, also the first time.
        return _read(path) or reply

    def _masked(self, value: object) -> JsonValue:
        return self.redaction.value(json.loads(json.dumps(value)))

    def key(self, model: str, request: ModelRequest) -> str:
        """Return what names a reply: a hash of the model and of all that it was told."""
        return digest({"model": model, "request": asdict(request)})[:32]

    def set_aside(self, model: str, request: ModelRequest) -> None:
        """Have a request asked again next time; what it cost stays counted."""
        key = self.key(model, request)
        path = self.folder / f"{key}.json"
        if path.is_file():
            path.replace(self._failed(key))

    def spent(self, prices: Prices | None) -> Mapping[str, tuple[int, Usage]]:
        """Return the requests of each stage and what they took, whenever that was paid."""
        found: dict[str, tuple[int, Usage]] = {}
        for path in sorted(self.folder.glob("*.json")) if self.folder.is_dir() else ():
            try:
                data = json.loads(path.read_text("ascii"))
                usage = ModelUsage(**data["reply"]["usage"])
                stage = str(data["stage"])
            except (OSError, ValueError, KeyError, TypeError):
                continue
            told = read_usage(usage.as_report())
            cost = prices.cost(told, usage.server) if prices is not None else None
            requests, before = found.get(stage, (0, UNKNOWN_USAGE))
            found[stage] = requests + 1, add_usage(before, replace(told, cost_usd=cost))
        return found

    def _client(self, model: str) -> ModelClient:
        if model not in self._clients:
            connection = Connection()
            try:
                client = make_client(model, {}, connection)
            except AgentSpecError as fault:
                # The hint of a session names options that this command does not have.
                hint = f"a reply is not recorded, so the key of the provider is needed; {_AGAIN}"
                raise SopbenchError(fault.message, hint=hint) from fault
            self._clients[model] = Named(client, model, server_of(model, connection))
        return self._clients[model]

    def _failed(self, key: str) -> Path:
        names = (f"{key}.{number}{_FAILED}" for number in range(1, 10_000))
        return next(path for name in names if not (path := self.folder / name).exists())


def _read(path: Path) -> Reply | None:
    """Read a reply; `None` if there is none, or a file that cannot be read as one."""
    try:
        told = json.loads(path.read_text("ascii"))["reply"]
        said = told["message"]
        requests = tuple(ToolRequest(**one) for one in said["requests"])
        message = Message(
            role=said["role"], text=said["text"], requests=requests, native=said["native"]
        )
        return Reply(
            message=message,
            stop=StopReason(told["stop"]),
            usage=ModelUsage(**told["usage"]),
            refusal=told["refusal"],
        )
    except (OSError, ValueError, KeyError, TypeError):
        return None


@dataclass(frozen=True, slots=True, kw_only=True)
class Recorded:
    """A model client over recordings, for an agent that leads a conversation by itself."""

    recordings: Recordings
    model: str
    stage: str

    def complete(self, request: ModelRequest) -> Reply:
        return self.recordings.reply(self.model, self.stage, request)

    async def acomplete(self, request: ModelRequest) -> Reply:
        # No agent of this room waits on an event loop.
        return self.complete(request)


@dataclass(frozen=True, slots=True, kw_only=True)
class Question:
    """What a model is asked to write.

    Attributes:
        stage: for costs and for messages.
        prompt: the name of a file of prompts.
        texts: what it reads, by name; each is data inside a fence.
        values: what the prompt itself says, in our words.
        file: what a person can write in place of the model.
    """

    stage: str
    prompt: str
    texts: Mapping[str, str]
    values: Mapping[str, object] = field(default_factory=dict[str, object])
    file: str = ""

    def request(self) -> ModelRequest:
        """Return the conversation that asks it."""
        fence = fence_name(self.texts)
        source = files("pytest_sopbench._drafting").joinpath("prompts", f"{self.prompt}.md")
        system = Template(source.read_text("utf-8")).substitute(fence=fence, **self.values)
        told = "\n\n".join(fenced(fence, name, text) for name, text in self.texts.items())
        return ModelRequest(
            messages=(Message(role="system", text=system), Message(role="user", text=told))
        )


def ask(recordings: Recordings, model: str, question: Question, read: Callable[[str], _T]) -> _T:
    """Ask, and return what was read from the reply; a reply that cannot be used is sent back once.

    Raises:
        SopbenchError: the model refused, was cut off, or could not be used twice. What was
            recorded of it is set aside, so that the next run asks again.
    """
    request, asked = question.request(), list[ModelRequest]()
    while True:
        asked.append(request)
        reply = recordings.reply(model, question.stage, request)
        if reply.refusal or reply.stop in _STOPPED:
            why = _STOPPED.get(reply.stop, _STOPPED[StopReason.REFUSAL])
            told = f": {' '.join(reply.refusal.split())[:200]}" if reply.refusal else ""
            raise _failed(question, f"{why}{told}")
        text = reply.message.text
        try:
            return read(text)
        except UnusableError as fault:
            if len(asked) > 1:
                for one in asked:
                    recordings.set_aside(model, one)
                why = f"the reply cannot be used, and neither could the one before: {fault}"
                raise _failed(question, why) from fault
            again = f"That cannot be used: {fault}. Write the whole reply again, corrected."
            more = (Message(role="assistant", text=text), Message(role="user", text=again))
            request = replace(request, messages=(*request.messages, *more))


def _failed(question: Question, why: str) -> SopbenchError:
    own = f", or write {question.file} yourself" if question.file else ""
    return SopbenchError(
        f"stage {question.stage}: {why}",
        hint=f"run the same command again, which asks again{own}; what was done before is kept",
    )


def json_in(text: str) -> Mapping[str, Any]:
    """Return the JSON object of a reply, which may stand in a fenced block.

    Raises:
        UnusableError: there is none.
    """
    for one in (text, *_BLOCK.findall(text)):
        try:
            read = as_object(json.loads(one))
        except (ValueError, RecursionError):
            continue
        if read is not None:
            return read
    msg = "it is no JSON object"
    raise UnusableError(msg)


def document_in(text: str) -> str:
    """Return the document that a reply is, with or without a fence around all of it."""
    whole = _BLOCK.fullmatch(text.strip())
    return f"{(whole[1] if whole else text).strip()}\n"


def code_in(text: str) -> str:
    """Return the code of a reply: its only fenced block, or else all of it."""
    blocks = _BLOCK.findall(text)
    return f"{(blocks[0] if len(blocks) == 1 else text).strip()}\n"
