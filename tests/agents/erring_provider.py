"""A provider on the loopback that errs by seed, as networks, gateways and models err.

It is written from the public descriptions of the three APIs, and shares nothing with `model_stub`.
Its model knows one procedure: measure the sample of the domain `lab`, then grade what was measured.
It refuses, with status 400, each history that the providers say they refuse.
"""

from __future__ import annotations

import hashlib
import json
import random
import re
import socket
import threading
from collections import Counter
from collections.abc import Callable, Iterator
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self

CHAT, RESPONSES, CONVERSE = "chat", "responses", "converse"
NAME = re.compile(r"[a-zA-Z0-9_-]{1,64}")

OF_THE_SERVER = (
    "html", "half json", "empty body", "blank body", "error object", "error text", "nothing in it",
    "null in it", "json list", "wrong type", "event stream", "error in the reply", "null content",
    "429", "500", "502", "503", "529", "dropped", "reset", "trickle then cut", "cut short", "slow",
)  # fmt: skip
OF_BEDROCK = ("424", "408")
OF_THE_MODEL = (
    "duplicate id", "empty id", "long id", "bad name", "empty name", "long name",
    "half arguments", "list as arguments", "null arguments", "half a character",
)  # fmt: skip


JSON, HTML = "application/json", "text/html; charset=utf-8"
PAGE = b"<!DOCTYPE html>\n<html><body>Bad gateway</body></html>"
IN_PLACE: dict[str, Callable[[bytes], tuple[bytes, str]]] = {
    "html": lambda _: (PAGE, HTML),
    "half json": lambda whole: (whole[: len(whole) // 2], JSON),
    "empty body": lambda _: (b"", JSON),
    "blank body": lambda _: (b"\n\n  ", JSON),
    "error object": lambda _: (
        b'{"error": {"code": 502, "message": "the upstream is down"}}',
        JSON,
    ),
    "error text": lambda _: (b'{"error": "the model is loading"}', JSON),
    "json list": lambda whole: (b"[" + whole + b"]", JSON),
    "wrong type": lambda whole: (whole, HTML),
    "event stream": lambda whole: (b"data: " + whole + b"\n\n", "text/event-stream"),
}
"""What comes with status 200 in place of a reply, and its content type."""
NAMES = {"424": "ModelErrorException", "408": "ModelTimeoutException"}


class RefusedError(Exception):
    """The history is one that the provider does not take."""


class Erring(ThreadingHTTPServer):
    """The server; `rate` of the requests meet one of the `kinds`, which `happened` counts.

    There are `most` faults at most. With an `answer` it says nothing else, whatever it is asked.
    """

    request_queue_size = 512
    daemon_threads = True

    def __init__(self, seed: int = 0, rate: float = 0.35, kinds: tuple[str, ...] = ()) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.seed, self.rate, self.kinds = seed, rate, kinds
        self.most = 10**9
        self.answer: tuple[int, dict[str, Any]] | None = None
        self.asked: Counter[str] = Counter()
        self.happened: Counter[str] = Counter()
        self.refused: list[str] = []
        self.bodies: list[dict[str, Any]] = []
        self.headers: list[dict[str, str]] = []
        self.lock = threading.Lock()
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, *_: object) -> None:
        """A client that goes away is no news."""

    def fault(self, api: str, raw: bytes) -> str:
        """Return what goes wrong with this request; the same for the same seed."""
        with self.lock:
            text = hashlib.sha256(api.encode() + raw).hexdigest()
            self.asked[text] += 1
            dice = random.Random(f"{self.seed} {text} {self.asked[text]}")  # noqa: S311 - no secret
            kinds = self.kinds or (
                *OF_THE_SERVER,
                *OF_THE_MODEL,
                *(OF_BEDROCK if api == CONVERSE else ()),
            )
            over = sum(self.happened.values()) - self.happened["nothing"] >= self.most
            kind = dice.choice(kinds) if dice.random() < self.rate and not over else ""
            self.happened[kind or "nothing"] += 1
            return kind


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    server: Erring

    def do_POST(self) -> None:
        raw = self.rfile.read(int(self.headers["Content-Length"]))
        body = json.loads(raw)
        api = CHAT if "completions" in self.path else CONVERSE
        api = RESPONSES if self.path.endswith("/responses") else api
        with self.server.lock:
            self.server.bodies.append(body)
            self.server.headers.append({name.lower(): one for name, one in self.headers.items()})
        try:
            CHECKS[api](body)
        except RefusedError as refused:
            self.server.refused.append(str(refused))
            self._error(400, "ValidationException", str(refused))
            return
        if self.server.answer is not None:
            status, told = self.server.answer
            self._send(status, json.dumps(told).encode())
            return
        kind = self.server.fault(api, raw)
        said = next_words(body, api)
        try:
            self._act(kind, REPLIES[api](said, kind))
        except OSError:
            self.close_connection = True

    def _act(self, kind: str, reply: dict[str, Any]) -> None:
        whole = json.dumps(reply).encode()
        if kind.isdigit():
            self._error(int(kind), NAMES.get(kind, "Whatever"), "try again")
        elif kind in IN_PLACE:
            data, medium = IN_PLACE[kind](whole)
            self._send(200, data, medium)
        elif kind == "trickle then cut":
            self._trickle(whole)
        elif kind in ("dropped", "reset", "slow"):
            self._leave(kind)
        else:
            self._send(200, whole, cut=kind == "cut short")

    def _leave(self, kind: str) -> None:
        if kind == "slow":
            self.server.closing.wait(8)
        if kind == "reset":
            self.connection.setsockopt(socket.SOL_SOCKET, socket.SO_LINGER, b"\1" + bytes(7))
            self.connection.close()
        self.close_connection = True

    def _trickle(self, whole: bytes) -> None:
        self.send_response(200)
        self.send_header("Content-Type", "application/json")
        self.send_header("Transfer-Encoding", "chunked")
        self.end_headers()
        for place in range(min(len(whole) // 2, 8)):
            self.wfile.write(b"1\r\n" + whole[place : place + 1] + b"\r\n")
            self.wfile.flush()
        self.close_connection = True

    def _error(self, status: int, kind: str, message: str) -> None:
        told = {"error": {"message": message, "type": kind, "code": None}, "message": message}
        self._send(status, json.dumps(told).encode(), more={"x-amzn-ErrorType": kind})

    def _send(
        self,
        status: int,
        data: bytes,
        kind: str = "application/json",
        more: dict[str, str] | None = None,
        *,
        cut: bool = False,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in (more or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if cut else data)
        self.wfile.flush()
        self.close_connection = self.close_connection or cut

    def log_message(self, *_: object) -> None:
        """Say nothing of it."""


Words = str | list[tuple[str, dict[str, Any]]]
"""A text, or calls of tools."""


def next_words(body: dict[str, Any], api: str) -> Words:
    """Say what the model does next: all that it knows stands in the request."""
    text = json.dumps(body).replace("\\", "")
    asked = {"sample_id": re.findall(r'"sample_id": ?"(T_\d+)"', text)[0]}
    measured = re.findall(r'"reading": ?"?(\d+)', text)
    names = offered(body, api)
    if "complete_step" in names and measured:
        return [("complete_step", {"summary": f'the "reading": {measured[0]}'})]
    if measured:
        grade = "pass" if int(measured[0]) > 70 else "retest" if int(measured[0]) > 40 else "fail"
        return f'Final Answer: <final_output>{{"grade": "{grade}"}}</final_output>'
    if "measure" in names:
        return [("measure", asked)]
    return f"Thought: measure it\nAction: measure\nAction Input: {json.dumps(asked)}"


def offered(body: dict[str, Any], api: str) -> list[str]:
    if api == CONVERSE:
        tools = body.get("toolConfig", {}).get("tools", ())
        return [one["toolSpec"]["name"] for one in tools]
    tools = body.get("tools", ())
    return [one.get("function", one)["name"] for one in tools]


def calls_of(said: Words, kind: str) -> Iterator[tuple[str, str, Any]]:
    """Yield id, name and arguments of each call, with what the model does wrong."""
    made = [] if isinstance(said, str) else said
    for place, (tool, arguments) in enumerate(made * (2 if kind == "duplicate id" else 1)):
        name = tool
        number = random.Random(f"{name}{arguments}{kind}{place}").randrange(10**9)  # noqa: S311
        key = f"call_{number}"
        given: Any = arguments
        if kind in ("duplicate id", "empty id"):
            key = "call_0" if kind == "duplicate id" else ""
        if kind == "long id":
            key = key * 20
        if kind in ("bad name", "empty name", "long name"):
            name = {"bad name": f"functions.{tool} ", "empty name": ""}.get(kind, tool * 20)
        if kind == "half arguments":
            given = '{"sample_id": "T_'
        if kind == "list as arguments":
            given = "[1, 2]"
        if kind == "null arguments":
            given = None
        yield key, name, given


def text_of(said: Words, kind: str) -> str | None:
    if kind == "null content":
        return None
    if kind == "half a character":
        return f"\ud83d {said if isinstance(said, str) else ''}"
    return said if isinstance(said, str) else None


def _written(given: Any) -> Any:
    return json.dumps(given) if isinstance(given, dict) else given


def chat_reply(said: Words, kind: str) -> dict[str, Any]:
    calls = [
        {"id": key, "type": "function", "function": {"name": name, "arguments": _written(given)}}
        for key, name, given in calls_of(said, kind)
    ]
    message: dict[str, Any] = {"role": "assistant", "content": text_of(said, kind)}
    if calls and kind != "null content":
        message["tool_calls"] = calls
        message["reasoning_content"] = "the procedure asks for it"
    choice: dict[str, Any] = {"index": 0, "message": message, "finish_reason": "stop"}
    if kind == "error in the reply":
        error = {"code": 502, "message": "the upstream broke off"}
        choice = {"index": 0, "message": {"role": "assistant", "content": "Fi"}}
        choice |= {"finish_reason": "error", "error": error}
    whole: dict[str, Any] = {"id": "c", "object": "chat.completion", "created": 1, "model": "m"}
    whole["usage"] = {"prompt_tokens": 50, "completion_tokens": 9, "total_tokens": 59}
    whole["choices"] = [choice]
    if kind in ("nothing in it", "null in it"):
        whole["choices"] = [] if kind == "nothing in it" else None
    return whole


def responses_reply(said: Words, kind: str) -> dict[str, Any]:
    items: list[dict[str, Any]] = [
        {
            "type": "function_call",
            "id": f"fc_{key}",
            "call_id": key,
            "name": name,
            "arguments": _written(given),
            "status": "completed",
        }
        for key, name, given in calls_of(said, kind)
    ]
    text = text_of(said, kind)
    if text is not None:
        part = {"type": "output_text", "text": text, "annotations": []}
        items.insert(0, {"type": "message", "id": "msg", "role": "assistant", "content": [part]})
        items[0]["status"] = "completed"
    whole: dict[str, Any] = {"id": "r", "object": "response", "created_at": 1, "model": "m"}
    whole |= {"status": "completed", "error": None, "incomplete_details": None}
    whole |= {"parallel_tool_calls": True, "tool_choice": "auto", "tools": []}
    whole["usage"] = {"input_tokens": 50, "output_tokens": 9, "total_tokens": 59}
    whole["output"] = items
    if kind == "error in the reply":
        whole |= {"status": "failed", "output": []}
        whole["error"] = {"code": "server_error", "message": "the upstream broke off"}
    if kind in ("nothing in it", "null content"):
        whole |= {"output": [], "usage": None}
    if kind == "null in it":
        whole["output"] = None
    return whole


def converse_reply(said: Words, kind: str) -> dict[str, Any]:
    content: list[dict[str, Any]] = [
        {"toolUse": {"toolUseId": key, "name": name, "input": given}}
        for key, name, given in calls_of(said, kind)
    ]
    stop = "tool_use" if content else "end_turn"
    text = text_of(said, kind)
    if text is not None:
        content.insert(0, {"text": text})
    whole: dict[str, Any] = {"output": {"message": {"role": "assistant", "content": content}}}
    whole |= {"stopReason": stop, "metrics": {"latencyMs": 1}}
    whole["usage"] = {"inputTokens": 50, "outputTokens": 9, "totalTokens": 59}
    if kind == "null content":
        whole["output"]["message"]["content"] = []
        whole["usage"] = {"inputTokens": 50, "outputTokens": 0, "totalTokens": 50}
    if kind == "nothing in it":
        whole["output"] = {}
    if kind == "null in it":
        whole["output"] = None
    if kind == "error in the reply":
        whole = {"Output": {"__type": "InternalFailure"}, "Version": "1.0"}
    return whole


def chat_check(body: dict[str, Any]) -> None:
    known: set[str] = set()
    waiting: set[str] = set()
    for message in body["messages"]:
        if message["role"] == "tool":
            _need(message["tool_call_id"] in waiting, "a tool message answers no call")
            waiting.remove(message["tool_call_id"])
            continue
        _need(not waiting, f"calls are not answered: {waiting}")
        for call in message.get("tool_calls") or ():
            _call(call["id"], call["function"]["name"], call["function"]["arguments"], known)
            waiting.add(call["id"])
            thought = "reasoning_content" in message
            _need(thought, "the reasoning_content in the thinking mode must be passed back")
    _need(not waiting, f"calls are not answered: {waiting}")
    _need("tools" in body or "parallel_tool_calls" not in body, "parallel_tool_calls wants tools")


def responses_check(body: dict[str, Any]) -> None:
    known: set[str] = set()
    waiting: set[str] = set()
    for item in body["input"]:
        if item.get("type") == "function_call":
            _call(item["call_id"], item["name"], item["arguments"], known)
            waiting.add(item["call_id"])
        if item.get("type") == "function_call_output":
            _need(item["call_id"] in waiting, "an output answers no call")
            waiting.remove(item["call_id"])
    _need(not waiting, f"calls are not answered: {waiting}")


def converse_check(body: dict[str, Any]) -> None:
    known: set[str] = set()
    waiting: set[str] = set()
    last = ""
    for message in body["messages"]:
        _need(message["role"] != last, "the roles must alternate")
        last = message["role"]
        _need(bool(message["content"]), "a message is empty")
        for block in message["content"]:
            _need(block.get("text", "-").strip() != "", "a text is blank")
            if "toolUse" in block:
                use = block["toolUse"]
                _need(isinstance(use["input"], dict), "the input is no object")
                _need(NAME.fullmatch(use["toolUseId"]) is not None, "a toolUseId is malformed")
                _call(use["toolUseId"], use["name"], json.dumps(use["input"]), known)
                waiting.add(use["toolUseId"])
            if "toolResult" in block:
                _need(block["toolResult"]["toolUseId"] in waiting, "a result answers no toolUse")
                waiting.remove(block["toolResult"]["toolUseId"])
        _need(not waiting or last == "assistant", f"toolUse is not answered: {waiting}")
    _need(not known or "toolConfig" in body, "toolConfig must be defined when using toolUse")


def _call(key: Any, name: Any, arguments: Any, known: set[str]) -> None:
    _need(isinstance(key, str) and key != "", "an id is empty")
    _need(key not in known, f"the id {key!r} stands there twice")
    known.add(key)
    _need(isinstance(name, str) and NAME.fullmatch(name) is not None, f"the name {name!r}")
    _need(isinstance(arguments, str), "the arguments are no text")
    try:
        _need(isinstance(json.loads(arguments), dict), "the arguments are no object")
    except ValueError:
        _need(False, "the arguments are no JSON")


def _need(holds: bool, why: str) -> None:
    if not holds:
        raise RefusedError(why)


CHECKS: dict[str, Callable[[dict[str, Any]], None]] = {
    CHAT: chat_check,
    RESPONSES: responses_check,
    CONVERSE: converse_check,
}
REPLIES: dict[str, Callable[[Words, str], dict[str, Any]]] = {
    CHAT: chat_reply,
    RESPONSES: responses_reply,
    CONVERSE: converse_reply,
}
