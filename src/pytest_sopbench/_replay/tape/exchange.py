"""An exchange with a model: a request, and the response to it.

A seam sees the traffic of one library. It asks the tape of the run for an answer, sends the request
where there is none, and gives the tape what came back::

    tape = current_tape()
    if tape is None:
        return send(...)                    # nothing is recorded or replayed in this process
    response = tape.answer(request)         # raises `MissingRecordingError` in mode `only`
    if response is None:
        try:
            response = ...                  # live
        except BaseException as error:
            tape.lost(request, error)
            raise
        tape.keep(request, response)        # once the last chunk is there
    return ...                              # the library's own type, served as a stream

A tape may be asked by several threads at a time. It never changes a request or a response.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Protocol

Headers = tuple[tuple[str, str], ...]


@dataclass(frozen=True, slots=True, kw_only=True)
class Request:
    """What a client is about to send; `url` is absolute, headers are as they go out."""

    method: str
    url: str
    headers: Headers = ()
    body: bytes = b""


@dataclass(frozen=True, slots=True, kw_only=True)
class Response:
    """What came back; chunks are cut as they arrived, after any content encoding was undone.

    A seam leaves out what does not hold of decoded chunks: `content-encoding`, `content-length` and
    `transfer-encoding`. Where `complete` is false, the agent left the stream before its end: served
    again, the chunks are followed by an error, so that nobody takes them for all there was.
    """

    status: int
    headers: Headers = ()
    chunks: tuple[bytes, ...] = ()
    complete: bool = True

    @property
    def body(self) -> bytes:
        """All chunks in one."""
        return b"".join(self.chunks)


class Tape(Protocol):
    """The recorded traffic of one attempt at one run; safe for many threads."""

    def answer(self, request: Request) -> Response | None:
        """Return the recorded response, or `None`: send it live, then call `keep` or `lost`.

        Raises:
            MissingRecordingError: nothing is recorded for it, and nothing may be sent.
        """

    def keep(self, request: Request, response: Response) -> None:
        """Take a live response; called once for each `answer` of `None` that got one."""

    def lost(self, request: Request, error: BaseException) -> None:
        """Note a request that got no whole response: it is not recorded."""
