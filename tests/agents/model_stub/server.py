"""The server: reads requests, applies faults, and answers in the words of the API asked."""

from __future__ import annotations

import json
import re
import threading
import urllib.parse
from collections.abc import Callable
from dataclasses import dataclass
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from types import ModuleType
from typing import Any, Self

from . import chat, converse, responses
from .competent import next_move
from .faults import IN_TRANSPORT, Fault, erring
from .judging import is_judging, judged
from .seen import Seen
from .spoken import BadRequestError

APIS: dict[str, ModuleType] = {
    r"/v1/chat/completions": chat,
    r"/v1/responses": responses,
    r"/model/.+/converse": converse,
}
STATUSES = {"429": "ThrottlingException", "500": "InternalServerException", "401": "Unauthorized"}


@dataclass
class Request:
    """A request as it came."""

    path: str
    headers: dict[str, str]
    body: dict[str, Any]


class Stub(ThreadingHTTPServer):
    """A stub that is served from a thread; `requests` are those that came."""

    request_queue_size = 512
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.requests: list[Request] = []
        self.faults: list[Fault] = []
        self.lock = threading.Lock()
        self.closing = threading.Event()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def err(
        self,
        kind: str,
        when: Callable[[Seen], bool] = lambda _: True,
        first: int | None = None,
    ) -> None:
        """Have something go wrong, in the first requests of each task or in all of them."""
        self.faults.append(Fault(kind, when, first))

    def reset(self) -> None:
        """Forget what was asked and what goes wrong, and let go of whoever still waits."""
        with self.lock:
            self.closing.set()
            self.closing = threading.Event()
            self.requests, self.faults = [], []

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.02,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.closing.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, *_: object) -> None:
        """A client that goes away is no news."""

    def fault_of(self, seen: Seen) -> str:
        with self.lock:
            return next((one.kind for one in self.faults if one.strikes(seen)), "")


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: Stub

    def do_POST(self) -> None:
        length = int(self.headers.get("Content-Length", 0))
        body = json.loads(self.rfile.read(length))
        path = urllib.parse.unquote(self.path)
        with self.server.lock:
            self.server.requests.append(
                Request(path, {name.lower(): one for name, one in self.headers.items()}, body)
            )
            number = len(self.server.requests)
        api = next((api for form, api in APIS.items() if re.fullmatch(form, path)), None)
        if api is None:
            self._send(404, {"error": {"message": f"there is no {path}"}})
            return
        try:
            seen = api.seen(body)
        except BadRequestError as bad:
            self._fail(400, "ValidationException", str(bad))
            return
        fault = self.server.fault_of(seen)
        if fault in STATUSES:
            key = self.headers.get("Authorization", "")
            self._fail(int(fault), STATUSES[fault], f"{fault} for {key}")
        elif fault == "slow":
            self.server.closing.wait()
        else:
            kind = "" if fault in IN_TRANSPORT else fault
            play = judged if is_judging(seen) else next_move
            move = erring(kind, seen) if kind else play(seen)
            self._reply(api.reply(move, seen, body, number), body, cut=fault == "cut")

    def _reply(self, whole: dict[str, Any], body: dict[str, Any], *, cut: bool) -> None:
        if body.get("stream"):
            data = b"".join(chat.streamed(whole))
            self._write(200, data, "text/event-stream", cut=cut)
        else:
            self._send(200, whole, cut=cut)

    def _fail(self, status: int, kind: str, message: str) -> None:
        told = {"error": {"message": message, "type": kind, "code": None}, "message": message}
        self._send(status, told, {"x-amzn-ErrorType": kind, "Retry-After": "0"})

    def _send(
        self,
        status: int,
        told: object,
        headers: dict[str, str] | None = None,
        *,
        cut: bool = False,
    ) -> None:
        data = json.dumps(told).encode()
        self._write(status, data, "application/json", headers or {}, cut=cut)

    def _write(
        self,
        status: int,
        data: bytes,
        kind: str,
        headers: dict[str, str] | None = None,
        *,
        cut: bool,
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("Content-Length", str(len(data)))
        for name, value in (headers or {}).items():
            self.send_header(name, value)
        self.end_headers()
        self.wfile.write(data[: len(data) // 2] if cut else data)
        self.close_connection = cut

    def log_message(self, *_: object) -> None:
        """Say nothing of it."""
