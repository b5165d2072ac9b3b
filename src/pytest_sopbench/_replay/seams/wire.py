"""Recorded replies as bytes on a wire, which libraries read by their own means.

In that way a library builds its response as it always does, whatever the response is made of in its
version. Streams are chunked, one chunk for each that was recorded. A stream that the agent left
early lacks its end, and libraries know what to think of that.
"""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus
from typing import Any

from pytest_sopbench._replay.exchange import Response
from pytest_sopbench._replay.seams.take import NOT_OF_DECODED, Take

# The bytes of a live reply, seen where `http.client` reads them from its connection.
#
# urllib3, requests and botocore read a reply in many ways: at once, in pieces, by chunks, by
# lines, decoded or not. All of them end in `http.client.HTTPResponse.fp`, which stands there from
# Python 3.11 to 3.14. What is above it works as ever, and an agent gets each byte as early as
# without us.


def tap(response: Any, take: Take) -> None:
    """Have the take see the body of a response of urllib3 that nobody has begun to read."""
    raw = getattr(response, "_original_response", None)
    if raw is None or not hasattr(raw, "fp"):
        take.fail(ConnectionError("the reply came by HTTP/2, which urllib3 does not let us see"))
    elif raw.fp is None or raw.length == 0:
        take.end()
    else:
        raw.fp = _Tap(raw.fp, take, _Dechunker() if raw.chunked else _Whole(raw.length))


class _Tap:
    """A file that tells what is read from it."""

    def __init__(self, file: Any, take: Take, framing: _Dechunker | _Whole) -> None:
        self._file = file
        self._take = take
        self._framing = framing

    def read(self, *size: Any) -> bytes:
        return self._seen("read", *size)

    def read1(self, *size: Any) -> bytes:
        return self._seen("read1", *size)

    def readline(self, *size: Any) -> bytes:
        return self._seen("readline", *size)

    def readinto(self, buffer: Any) -> int:
        data = self._seen("read", len(buffer))
        buffer[: len(data)] = data
        return len(data)

    def _seen(self, method: str, *size: Any) -> bytes:
        try:
            data: bytes = getattr(self._file, method)(*size)
        except BaseException as error:
            self._take.fail(error)
            raise
        for chunk in self._framing.feed(data):
            self._take.add(chunk)
        if _is_at_end(method, data, size):
            self._framing.at_end_of_file()
            if not self._framing.ended:
                self._take.fail(ConnectionError("the connection ended within the reply"))
        if self._framing.ended:
            for chunk in self._framing.rest():
                self._take.add(chunk)
            self._take.end()
        return data

    def close(self) -> None:
        if not self._framing.ended:
            for chunk in self._framing.rest():
                self._take.add(chunk)
            self._take.leave()
        self._file.close()

    def __getattr__(self, name: str) -> Any:
        return getattr(self._file, name)


def _is_at_end(method: str, data: bytes, size: tuple[Any, ...]) -> bool:
    """Tell whether a file has no more: `read` gives less than it is asked for only there."""
    wanted = size[0] if size else None
    if method == "read":
        return wanted is None or wanted < 0 or len(data) < wanted
    return not data and wanted != 0


class _Whole:
    """A body of known length, or one that ends with its connection: it has no chunks.

    Events are cut where they end, as the server wrote them.
    """

    def __init__(self, length: int | None) -> None:
        self._left = length
        self._data = bytearray()
        self.ended = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        self._data += data
        if self._left is not None:
            self._left -= len(data)
            self.ended = self._left <= 0
        return iter(())

    def at_end_of_file(self) -> None:
        self.ended = self.ended or self._left is None

    def rest(self) -> Iterator[bytes]:
        """Return what is not cut off yet, once."""
        data, self._data = bytes(self._data), bytearray()
        while data:
            end = data.find(b"\n\n") + 2
            cut = end if end > 1 and data.startswith((b"data:", b"event:", b"id:", b":")) else None
            yield data[:cut]
            data = data[cut:] if cut else b""


class _Dechunker:
    """The chunked transfer encoding undone, for bytes that come in pieces of any size."""

    def __init__(self) -> None:
        self._line = bytearray()
        self._chunk = bytearray()
        self._left = 0
        self._in_trailers = False
        self._after_chunk = False
        self.ended = False

    def feed(self, data: bytes) -> Iterator[bytes]:
        while data and not self.ended:
            if self._left:
                self._chunk += data[: self._left]
                taken = min(self._left, len(data))
                self._left -= taken
                data = data[taken:]
                if not self._left:
                    self._after_chunk = True
                    yield from self.rest()
                continue
            line, found, data = data.partition(b"\n")
            self._line += line
            if found:
                self._end_line(bytes(self._line).strip())
                self._line.clear()

    def _end_line(self, line: bytes) -> None:
        if self._in_trailers:
            self.ended = not line
        elif self._after_chunk:
            self._after_chunk = False
        else:
            size = line.partition(b";")[0]
            self._left = int(size, 16) if size else 0
            self._in_trailers = not self._left

    def at_end_of_file(self) -> None:
        """After the last chunk, trailers may be missing."""
        self.ended = self.ended or self._in_trailers

    def rest(self) -> Iterator[bytes]:
        """Return what has come of the chunk in progress."""
        if self._chunk:
            chunk = bytes(self._chunk)
            self._chunk.clear()
            yield chunk


def head(answer: Response) -> bytes:
    """Return the status line and the headers."""
    lines = [f"HTTP/1.1 {answer.status} {reason(answer.status)}"]
    lines += [f"{name}: {value}" for name, value in headers(answer)]
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")


def body(answer: Response) -> Iterator[bytes]:
    """Return what follows, in the pieces in which it was recorded."""
    if not is_chunked(answer):
        yield answer.body
        return
    for chunk in answer.chunks:
        if chunk:
            yield b"%x\r\n%b\r\n" % (len(chunk), chunk)
    if answer.complete:
        yield b"0\r\n\r\n"


def is_chunked(answer: Response) -> bool:
    """Tell whether a body comes in chunks."""
    return len(answer.chunks) > 1 or not answer.complete


def headers(answer: Response) -> Iterator[tuple[str, str]]:
    """Return the headers, with one that says how the body is framed."""
    for name, value in answer.headers:
        if name.lower() not in NOT_OF_DECODED:
            yield name, value.replace("\r", " ").replace("\n", " ")
    if is_chunked(answer):
        yield "Transfer-Encoding", "chunked"
    else:
        yield "Content-Length", str(len(answer.body))


def reason(status: int) -> str:
    """Return the usual words for a status."""
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Recorded"
