"""The server: it says back what it was asked, in the words of the API."""

from __future__ import annotations

import gzip
import json
import re
import threading
import zlib
from collections.abc import Callable, Iterable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Self
from urllib.parse import unquote, urlsplit

from . import words

Whole = Callable[[str], dict[str, Any]]
Events = Callable[[str], Iterable[bytes]]

APIS: dict[str, tuple[Whole, Events, str]] = {
    r"/v1/chat/completions": (words.chat, words.chat_events, words.EVENTS),
    r"/v1/responses": (words.response, words.response_events, words.EVENTS),
    r"/v1/messages": (words.anthropic, words.anthropic_events, words.EVENTS),
    r"/model/.+/converse(-stream)?": (words.converse, words.converse_events, words.AWS_EVENTS),
}
PACK: dict[str, Callable[[bytes], bytes]] = {"gzip": gzip.compress, "deflate": zlib.compress}


class Provider(ThreadingHTTPServer):
    """Serves from a thread; `requests` are those that came."""

    request_queue_size = 512
    daemon_threads = True

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.reset()

    def reset(self) -> None:
        self.requests: list[tuple[str, dict[str, str], bytes]] = []
        self.encoding = ""
        self.go_on = threading.Event()
        """Streams at `/held` wait for it behind their first event."""
        self.lock = threading.Lock()

    @property
    def url(self) -> str:
        return f"http://127.0.0.1:{self.server_port}"

    def __enter__(self) -> Self:
        threading.Thread(target=self.serve_forever, args=(0.01,), daemon=True).start()
        return self

    def __exit__(self, *_: object) -> None:
        self.go_on.set()
        self.shutdown()
        self.server_close()

    def handle_error(self, *_: object) -> None:
        """A client that goes away is no news."""


class Handler(BaseHTTPRequestHandler):
    protocol_version = "HTTP/1.1"
    disable_nagle_algorithm = True
    wbufsize = -1
    server: Provider

    def do_POST(self) -> None:
        self.sent = body = self._body()
        with self.server.lock:
            headers = {name.lower(): value for name, value in self.headers.items()}
            self.server.requests.append((self.path, headers, body))
        path = unquote(urlsplit(self.path).path)
        for form, (whole, events, kind) in APIS.items():
            if re.fullmatch(form, path):
                self._api(path, json.loads(body), whole, events, kind)
                return
        getattr(self, "say_" + path.strip("/").replace("/", "_"), self._nothing)()

    do_GET = do_HEAD = do_POST  # noqa: N815 - so the standard library calls them

    def _body(self) -> bytes:
        if self.headers.get("Transfer-Encoding", "") != "chunked":
            return self.rfile.read(int(self.headers.get("Content-Length", 0)))
        data = b""
        while size := int(self.rfile.readline(), 16):
            data += self.rfile.read(size)
            self.rfile.readline()
        self.rfile.readline()
        return data

    def _api(
        self, path: str, body: dict[str, Any], whole: Whole, events: Events, kind: str
    ) -> None:
        text = f"heard {words.asked(body)} indeed"
        if body.get("stream") or path.endswith("-stream"):
            self._stream(events(text), kind)
        else:
            self._whole(json.dumps(whole(text)).encode())

    def say_echo(self) -> None:
        said = {"path": self.path, "heard": self.sent.decode(), "of": self.command}
        self._whole(json.dumps(said).encode())

    def say_held(self) -> None:
        def events() -> Iterable[bytes]:
            yield b"data: first\n\n"
            self.server.go_on.wait(60)
            yield b"data: second\n\n"
            yield b"data: third\n\n"

        self._stream(events(), words.EVENTS)

    def say_done(self) -> None:
        self._stream(words.chat_events("a few words"), words.EVENTS)

    def say_cut(self) -> None:
        """Break off in the middle of a stream."""
        self._head(200, words.EVENTS, {"Transfer-Encoding": "chunked"})
        self._chunk(b"data: first\n\n")
        self.close_connection = True

    def say_close(self) -> None:
        """End a body with its connection, as servers of HTTP/1.0 do."""
        self._head(200, words.EVENTS, {"Connection": "close"})
        self.wfile.write(b"data: first\n\ndata: second\n\n")
        self.close_connection = True

    def say_large(self) -> None:
        self._stream((b"x" * 70_000 for _ in range(20)), "text/plain")

    def say_unknown(self) -> None:
        self._whole(b"?", {"Content-Encoding": "zz"}, "text/plain")

    def say_nothing(self) -> None:
        self.send_response(204)
        self.end_headers()

    def say_moved(self) -> None:
        self._whole(b"", {"Location": f"{self.server.url}/echo"}, "text/plain", status=307)

    def say_busy(self) -> None:
        self._whole(b'{"error": "busy"}', status=503)

    def say_drop(self) -> None:
        """Give no reply at all."""
        self.close_connection = True

    def _nothing(self) -> None:
        self._whole(b'{"error": "there is nothing here"}', status=404)

    def _whole(
        self,
        data: bytes,
        headers: dict[str, str] | None = None,
        kind: str = words.JSON,
        status: int = 200,
    ) -> None:
        more = dict(headers or {})
        if pack := self._pack():
            data = pack(data)
            more["Content-Encoding"] = self.server.encoding
        self._head(status, kind, {"Content-Length": str(len(data)), **more})
        if self.command != "HEAD":
            self.wfile.write(data)

    def _stream(self, chunks: Iterable[bytes], kind: str) -> None:
        self._head(200, kind, {"Transfer-Encoding": "chunked"}, encoded=True)
        coder = zlib.compressobj(wbits=31) if self.server.encoding == "gzip" else None
        for chunk in chunks:
            if coder is None:
                self._chunk(chunk)
            else:
                self._chunk(coder.compress(chunk) + coder.flush(zlib.Z_SYNC_FLUSH))
        if coder is not None:
            self._chunk(coder.flush())
        self.wfile.write(b"0\r\n\r\n")

    def _pack(self) -> Callable[[bytes], bytes] | None:
        if self.server.encoding == "br":
            import brotli  # noqa: PLC0415 - not everywhere

            return brotli.compress  # type: ignore[no-any-return]
        return PACK.get(self.server.encoding)

    def _chunk(self, data: bytes) -> None:
        self.wfile.write(b"%x\r\n%b\r\n" % (len(data), data))
        self.wfile.flush()

    def _head(
        self, status: int, kind: str, headers: dict[str, str], *, encoded: bool = False
    ) -> None:
        self.send_response(status)
        self.send_header("Content-Type", kind)
        self.send_header("X-Request-Id", "req_1")
        if encoded and self.server.encoding:
            self.send_header("Content-Encoding", self.server.encoding)
        for name, value in headers.items():
            self.send_header(name, value)
        self.end_headers()

    def log_message(self, *_: object) -> None:
        """Say nothing of it."""
