"""A proxy on loopback, for agents in another process or in another language."""

from __future__ import annotations

import json
import secrets
import socket
import threading
from collections.abc import Iterable, Iterator, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from http import HTTPStatus
from http.client import HTTPException
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any, Final, Literal, cast

from pytest_sopbench._replay.exchange import Headers, Request, Response, Tape
from pytest_sopbench._replay.seams.forwarding import (
    OF_ONE_CONNECTION,
    Reply,
    Send,
    redirected,
    send,
    upstreams,
)
from pytest_sopbench._replay.seams.take import (
    NOT_OF_DECODED,
    Take,
    is_left_out,
)
from pytest_sopbench.errors import CassetteError, MissingRecordingError

# One connection of a child to the proxy.
#
# Whoever on this machine finds the port may write to it. What is of no run is refused by its head
# alone, and nobody holds a thread, or memory without end, by sending slowly or much.

_OVER: Final = "the run of this address is over, or has never been"
_NO_PATH: Final = (
    "this is no path of the replay proxy: use the address that the environment of the child names, "
    "such as OPENAI_BASE_URL, as it is"
)
_LARGEST: Final = 128 * 1024 * 1024
"""Bytes of a request, several times of what providers take."""

_IGNORED: Final = 1024 * 1024
"""Bytes that are read of a refused request, so that its sender gets to read why."""

_PATIENCE: Final = 2.0
_SIZE_LINE: Final = 1024
_TRAILERS: Final = 100
_HEX: Final = frozenset(b"0123456789abcdefABCDEF")
_WITHOUT_BODY: Final = frozenset({HTTPStatus.NO_CONTENT, HTTPStatus.NOT_MODIFIED})


@dataclass(frozen=True, slots=True)
class Visit:
    """What the path of a request means."""

    tape: Tape
    url: str
    environment: Mapping[str, str]
    forward: Send


class _RefusedError(Exception):
    """A request that is not read to its end, and what its sender is told."""

    def __init__(self, status: HTTPStatus, message: str) -> None:
        super().__init__(message)
        self.status = status


def _cut_short() -> _RefusedError:
    return _RefusedError(HTTPStatus.BAD_REQUEST, "the body of the request ends too early")


def _of_the_message(headers: Iterable[tuple[str, str]]) -> Headers:
    return tuple(one for one in headers if one[0].lower() not in OF_ONE_CONNECTION)


@dataclass(frozen=True, slots=True)
class _Body:
    """What is written behind a head, framed as the head says."""

    file: Any
    framing: Literal["none", "chunks", "bytes"]

    def write(self, chunk: bytes) -> None:
        if chunk and self.framing == "chunks":
            self.file.write(b"%x\r\n%b\r\n" % (len(chunk), chunk))
        elif self.framing == "bytes":
            self.file.write(chunk)
        self.file.flush()

    def end(self) -> None:
        if self.framing == "chunks":
            self.file.write(b"0\r\n\r\n")
        self.file.flush()


class _Source:
    """The chunks of a live reply; the tape knows that it is whole before the child does.

    Else the run might be over with the last byte, and the reply not on its tape.
    """

    def __init__(self, chunks: Iterator[bytes], take: Take | None, left: int | None) -> None:
        self._chunks = chunks
        self._take = take
        self._left = left
        self._note_end()

    def __iter__(self) -> Iterator[bytes]:
        try:
            for chunk in self._chunks:
                self._note(chunk)
                yield chunk
        except OSError as error:
            if self._take is not None:
                self._take.fail(error)
            msg = "the provider broke off"
            raise ConnectionError(msg) from error
        self._left = 0
        self._note_end()

    def leave(self) -> None:
        if self._take is not None:
            self._take.leave()

    def _note(self, chunk: bytes) -> None:
        if self._take is not None:
            self._take.add(chunk)
        if self._left is not None:
            self._left -= len(chunk)
            self._note_end()

    def _note_end(self) -> None:
        if self._take is not None and self._left == 0:
            self._take.end()


class Handler(BaseHTTPRequestHandler):
    """Serves what is recorded, and passes on what is not."""

    protocol_version = "HTTP/1.1"
    default_request_version = "HTTP/1.0"
    disable_nagle_algorithm = True
    wbufsize = -1
    timeout = 120
    """Seconds in which something of a request must come; replies may take their time."""

    def do_POST(self) -> None:
        try:
            visit = self._visit()
            body = self._body()
        except _RefusedError as refused:
            self._turn_away(refused.status, str(refused))
            return
        except TimeoutError:
            told = f"nothing of the request came for {self.timeout} seconds"
            self._turn_away(HTTPStatus.REQUEST_TIMEOUT, told)
            return
        headers = _of_the_message(self.headers.items())
        asked = Request(method=self.command, url=visit.url, headers=headers, body=body)
        self.connection.settimeout(None)
        with suppress(ConnectionError):
            self._serve(visit, asked)
        self.connection.settimeout(self.timeout)

    do_GET = do_PUT = do_DELETE = do_PATCH = do_HEAD = do_POST  # noqa: N815 - so it is called

    def handle_expect_100(self) -> bool:
        """Have a body sent only if it would be read."""
        try:
            self._visit()
        except _RefusedError as refused:
            self._turn_away(refused.status, str(refused))
            return False
        return super().handle_expect_100()

    def send_error(self, code: int, message: str | None = None, explain: str | None = None) -> None:
        """Refuse what the standard library does: too long a head, no HTTP, another method."""
        del explain
        status = HTTPStatus(code)
        if status is HTTPStatus.NOT_IMPLEMENTED:
            status = HTTPStatus.METHOD_NOT_ALLOWED
        elif status >= HTTPStatus.INTERNAL_SERVER_ERROR:
            status = HTTPStatus.BAD_REQUEST
        self._turn_away(status, message or status.phrase)

    def _visit(self) -> Visit:
        if not (self.path.startswith("/") and self.path.isascii() and self.path.isprintable()):
            raise _RefusedError(HTTPStatus.BAD_REQUEST, _NO_PATH)
        visit = cast("_Server", self.server).visit(self.path)
        if visit is None:
            raise _RefusedError(HTTPStatus.GONE, _OVER)
        return visit

    def _turn_away(self, status: HTTPStatus, message: str) -> None:
        """Refuse a request of which something may be unread; a reset would hide the reason."""
        self.close_connection = True
        with suppress(OSError):
            self._refuse(status, message, ("Connection", "close"))
            self.connection.shutdown(socket.SHUT_WR)
            self.connection.settimeout(_PATIENCE)
            left = _IGNORED
            while left > 0 and (data := self.connection.recv(min(left, 65_536))):
                left -= len(data)

    def _serve(self, visit: Visit, asked: Request) -> None:
        if is_left_out(asked.url):
            self._pass_on(visit, asked, None)
            return
        try:
            answer = visit.tape.answer(asked)
        except MissingRecordingError as missing:
            self._refuse(HTTPStatus.FAILED_DEPENDENCY, str(missing))
            return
        if answer is not None:
            self._replay(answer)
        else:
            self._pass_on(visit, asked, visit.tape)

    def _replay(self, answer: Response) -> None:
        headers = tuple(one for one in answer.headers if one[0].lower() not in NOT_OF_DECODED)
        chunked = len(answer.chunks) > 1 or not answer.complete
        body = self._head(answer.status, headers, None if chunked else len(answer.body))
        for chunk in answer.chunks:
            body.write(chunk)
        if answer.complete:
            body.end()
        else:
            self.close_connection = True

    def _pass_on(self, visit: Visit, asked: Request, tape: Tape | None) -> None:
        try:
            reply = visit.forward(asked, visit.environment)
        except (OSError, ValueError, HTTPException, CassetteError) as error:
            if tape is not None:
                tape.lost(asked, error)
            self._refuse(HTTPStatus.BAD_GATEWAY, f"the provider cannot be reached: {error}")
            return
        take = None
        if tape is not None:
            take = Take(tape, asked, status=reply.status, headers=reply.headers)
        try:
            self._stream(reply, take)
        finally:
            reply.close()

    def _stream(self, reply: Reply, take: Take | None) -> None:
        length = next((v for name, v in reply.headers if name.lower() == "content-length"), None)
        told = length is not None and length.isdecimal() and not self._is_bare(reply.status)
        left = int(length or 0) if told else None
        source = _Source(reply.chunks(), take, 0 if self._is_bare(reply.status) else left)
        try:
            body = self._head(
                reply.status,
                _of_the_message(reply.headers),
                left,
            )
            for chunk in source:
                body.write(chunk)
            body.end()
        except ConnectionError:
            # Whichever side it is that has gone: what the child has is no whole reply.
            self.close_connection = True
            source.leave()

    def _is_bare(self, status: int) -> bool:
        """Tell whether a reply has a head alone."""
        return self.command == "HEAD" or status in _WITHOUT_BODY or status < HTTPStatus.OK

    def _refuse(self, status: HTTPStatus, message: str, *more: tuple[str, str]) -> None:
        error = {"message": message, "type": "sop_replay", "code": None}
        data = json.dumps({"type": "error", "error": error, "message": message}).encode()
        # The clients of OpenAI and Anthropic do not ask again; those of AWS see a kind of error.
        headers = (
            ("Content-Type", "application/json"),
            ("x-should-retry", "false"),
            ("x-amzn-ErrorType", "SopReplay"),
            *more,
        )
        self._head(status, headers, len(data)).write(data)

    def _head(self, status: int, headers: Headers, length: int | None) -> _Body:
        self.send_response_only(status)
        for name, value in headers:
            self.send_header(name, value.replace("\r", " ").replace("\n", " "))
        if self._is_bare(status):
            body = _Body(self.wfile, "none")
        elif length is None:
            self.send_header("Transfer-Encoding", "chunked")
            body = _Body(self.wfile, "chunks")
        else:
            self.send_header("Content-Length", str(length))
            body = _Body(self.wfile, "bytes")
        self.end_headers()
        self.wfile.flush()
        return body

    def _body(self) -> bytes:
        if "chunked" in self.headers.get("Transfer-Encoding", "").lower():
            return b"".join(self._chunks())
        told = set(self.headers.get_all("Content-Length") or ["0"])
        length = told.pop()
        if told or not (length.isascii() and length.isdecimal()):
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "the length of the request is no number")
        return self._read(int(length), 0)

    def _chunks(self) -> Iterable[bytes]:
        taken = 0
        while size := self._size():
            yield self._read(size, taken)
            taken += size
            self._line()
        for _ in range(_TRAILERS):
            if not self._line().strip():
                return
        raise _RefusedError(HTTPStatus.BAD_REQUEST, "the request does not end with its body")

    def _size(self) -> int:
        digits = self._line().partition(b";")[0].strip()
        if not digits or not _HEX.issuperset(digits):
            raise _RefusedError(HTTPStatus.BAD_REQUEST, "the size of a chunk is no number")
        return int(digits, 16)

    def _line(self) -> bytes:
        line = self.rfile.readline(_SIZE_LINE)
        if not line.endswith(b"\n"):
            raise _cut_short()
        return line

    def _read(self, size: int, taken: int) -> bytes:
        if taken + size > _LARGEST:
            large = f"the request is larger than {_LARGEST // 1024**2} MB: send less in one request"
            raise _RefusedError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, large)
        data = self.rfile.read(size)
        if len(data) < size:
            raise _cut_short()
        return data

    def log_message(self, format: str, *args: object) -> None:  # noqa: A002 - named above
        """Say nothing of it."""


# The server on loopback: one for a process, with a path of its own for each run.


class Proxy:
    """Hands requests of children to the tapes of their runs; started with the first child."""

    def __init__(self, forward: Send = send) -> None:
        """Send what is not recorded by `forward`."""
        self._forward = forward
        self._lock = threading.Lock()
        self._routes: dict[str, tuple[Tape, dict[str, str]]] = {}
        """The tape of each path, and the environment of its child."""

        self._server: _Server | None = None

    def environment(self, tape: Tape, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the environment for a child of the run that has this tape."""
        own = dict(environment)
        with self._lock:
            if self._server is None:
                self._server = _Server(self)
                serve = partial(self._server.serve_forever, poll_interval=0.05)
                threading.Thread(target=serve, name="sop-replay-proxy", daemon=True).start()
            known = (
                key for key, (other, held) in self._routes.items() if other is tape and held == own
            )
            token = next(known, "") or secrets.token_urlsafe(12)
            self._routes[token] = tape, own
            base = f"http://127.0.0.1:{self._server.server_port}/{token}"
        return redirected(own, base)

    def forget(self, tape: Tape) -> None:
        """Refuse what children of a run send when it is over."""
        with self._lock:
            for token in [key for key, (other, _) in self._routes.items() if other is tape]:
                del self._routes[token]

    def visit(self, path: str) -> Visit | None:
        """Return what a path means; `None` if it is of no run, or of one that is over."""
        _, token, provider, *rest = [*path.split("/", 3), "", ""]
        with self._lock:
            route = self._routes.get(token)
        name, mark, query = provider.partition("?")
        bases = upstreams(route[1]) if route is not None else {}
        if route is None or name not in bases:
            return None
        url = bases[name] + (f"/{rest[0]}" if rest[0] else "") + mark + query
        return Visit(route[0], url, route[1], self._forward)

    def close(self) -> None:
        """Serve nobody from now on."""
        with self._lock:
            server, self._server = self._server, None
            self._routes.clear()
        if server is not None:
            server.shutdown()
            server.server_close()


class _Server(ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True
    block_on_close = False

    def __init__(self, proxy: Proxy) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.visit = proxy.visit

    def handle_error(self, request: object, client_address: object) -> None:
        """A child that goes away is no news."""
