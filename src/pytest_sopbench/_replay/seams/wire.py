"""Recorded replies as bytes on a wire, which libraries read by their own means.

In that way a library builds its response as it always does, whatever the response is made of in its
version. Streams are chunked, one chunk for each that was recorded. A stream that the agent left
early lacks its end, and libraries know what to think of that.
"""

from __future__ import annotations

from collections.abc import Iterator
from http import HTTPStatus

from pytest_sopbench._replay.tape.exchange import Response

from .take import NOT_OF_DECODED


def head(answer: Response) -> bytes:
    """Return the status line and the headers."""
    lines = [f"HTTP/1.1 {answer.status} {_reason(answer.status)}"]
    lines += [f"{name}: {_one_line(value)}" for name, value in _headers(answer)]
    lines.append("Transfer-Encoding: chunked" if _is_chunked(answer) else _length(answer))
    return "\r\n".join([*lines, "", ""]).encode("latin-1", "replace")


def body(answer: Response) -> Iterator[bytes]:
    """Return what follows, in the pieces in which it was recorded."""
    if not _is_chunked(answer):
        yield answer.body
        return
    for chunk in answer.chunks:
        if chunk:
            yield b"%x\r\n%b\r\n" % (len(chunk), chunk)
    if answer.complete:
        yield b"0\r\n\r\n"


def _is_chunked(answer: Response) -> bool:
    return len(answer.chunks) > 1 or not answer.complete


def _headers(answer: Response) -> Iterator[tuple[str, str]]:
    return (one for one in answer.headers if one[0].lower() not in NOT_OF_DECODED)


def _length(answer: Response) -> str:
    return f"Content-Length: {len(answer.body)}"


def _reason(status: int) -> str:
    try:
        return HTTPStatus(status).phrase
    except ValueError:
        return "Recorded"


def _one_line(value: str) -> str:
    return value.replace("\r", " ").replace("\n", " ")
