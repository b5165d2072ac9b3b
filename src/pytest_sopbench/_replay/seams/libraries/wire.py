"""Recorded replies as bytes on a wire, which libraries read by their own means.

In that way a library builds its response as it always does, whatever the response is made of in its
version. Streams are chunked, one chunk for each that was recorded. A stream that the agent left
early lacks its end, and libraries know what to think of that.
"""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus

from pytest_sopbench._replay.seams.take import NOT_OF_DECODED
from pytest_sopbench._replay.tape.exchange import Response


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
