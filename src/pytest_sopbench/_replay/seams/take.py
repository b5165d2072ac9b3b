"""One live exchange that is being recorded, while its chunks pass through to the agent."""

from __future__ import annotations

import threading
from collections.abc import Callable, Iterable
from typing import Final

from pytest_sopbench._replay.tape.exchange import Request, Response, Tape
from pytest_sopbench.errors import CassetteError

from .decoding import decoder

NOT_OF_DECODED: Final = frozenset(
    {"connection", "content-encoding", "content-length", "keep-alive", "transfer-encoding"}
)
"""Headers that speak of the bytes on the wire; decoded and cut anew, a reply is served without."""

_LAST_WORDS: Final = (
    b"data: [DONE]",
    b"event: message_stop",
    b"event: response.completed",
    b"event: response.incomplete",
    b"event: response.failed",
)
"""How the events of known providers end. Their clients stop reading there, before the last byte."""

LARGEST: Final = 32 * 1024 * 1024
"""Bytes of a reply that is recorded, unpacked: many times what a model says."""

_SWITCHING_PROTOCOLS: Final = 101

_OPEN: dict[int, set[Take]] = {}
_LOCK = threading.Lock()


class Take:
    """What has come of a reply so far; it goes to the tape once, whichever way it ends."""

    def __init__(
        self,
        tape: Tape,
        request: Request,
        *,
        status: int,
        headers: Iterable[tuple[str, str]],
        decoded: bool = False,
    ) -> None:
        """Begin with the head of a reply; `decoded` where the chunks come without an encoding."""
        self._tape = tape
        self._request = request
        self._status = status
        told = tuple(headers)
        self._headers = tuple(one for one in told if one[0].lower() not in NOT_OF_DECODED)
        self._chunks: list[bytes] = []
        self._left = LARGEST
        self._ended = False
        self._over: Callable[[], object] = lambda: None
        self._error: BaseException | None = None
        encoding = ",".join(value for name, value in told if name.lower() == "content-encoding")
        try:
            self._decode = decoder("" if decoded else encoding)
        except CassetteError as error:
            self._error = error
        if status == _SWITCHING_PROTOCOLS:
            self._error = CassetteError("a web socket cannot be recorded")
        with _LOCK:
            _OPEN.setdefault(id(tape), set()).add(self)

    def when_over(self, call: Callable[[], object]) -> None:
        """Have this called when the reply has ended, whichever way."""
        self._over = call

    def add(self, chunk: bytes) -> None:
        """Take a chunk as it came."""
        if self._error is not None or self._ended:
            return
        try:
            read = self._decode(bytes(chunk))
        except Exception as error:  # noqa: BLE001 - the agent's client says what it thinks of it
            self._error = error
            return
        self._left -= len(read)
        if self._left < 0:
            self._chunks.clear()
            size = f"{LARGEST / 1024**2:g} MB"
            self._error = CassetteError(f"a reply of more than {size} is not recorded")
        elif read:
            self._chunks.append(read)

    def end(self) -> None:
        """The reply is whole."""
        if self._error is not None:
            self.fail(self._error)
        elif self._end():
            self._keep(complete=True)

    def leave(self) -> None:
        """The agent reads no further."""
        if self._error is not None:
            self.fail(self._error)
        elif self._end():
            self._keep(complete=self._has_said_all())

    def fail(self, error: BaseException) -> None:
        """The rest did not come."""
        if self._end():
            self._tape.lost(self._request, error)

    def _keep(self, *, complete: bool) -> None:
        chunks = tuple(self._chunks)
        if complete and "json" in self._content_type().partition(";")[0].rpartition("/")[2]:
            # Where the network cut a document says nothing of what the server meant.
            chunks = (b"".join(chunks),) if chunks else ()
        response = Response(
            status=self._status, headers=self._headers, chunks=chunks, complete=complete
        )
        self._tape.keep(self._request, response)

    def _content_type(self) -> str:
        return next((v.lower() for name, v in self._headers if name.lower() == "content-type"), "")

    def _has_said_all(self) -> bool:
        if not self._content_type().startswith("text/event-stream"):
            return False
        *_, last = b"".join(self._chunks).rstrip().replace(b"\r\n", b"\n").rsplit(b"\n\n")
        return last.startswith(_LAST_WORDS)

    def _end(self) -> bool:
        with _LOCK:
            if self._ended:
                return False
            self._ended = True
            open_takes = _OPEN.get(id(self._tape), set())
            open_takes.discard(self)
            if not open_takes:
                _OPEN.pop(id(self._tape), None)
        self._over()
        return True


def settle(tape: Tape) -> None:
    """End what is still open when a run is over: streams that the agent neither read nor closed."""
    with _LOCK:
        takes = list(_OPEN.get(id(tape), ()))
    for take in takes:
        take.leave()
