"""The tape of one run."""

from __future__ import annotations

import threading
from collections import defaultdict, deque
from collections.abc import Generator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from typing import Final, Literal
from urllib.parse import urlsplit

from pytest_sopbench._replay.exchange import (
    Recorded,
    Recording,
    Request,
    Response,
    Shape,
    Shaping,
    Tape,
    credentials_sent,
)
from pytest_sopbench._replay.miss import Miss, explain_miss
from pytest_sopbench.errors import MissingRecordingError

# The tape of the run in progress, found by its context; and the one for what is outside any run.
#
# Threads see the tape if they were given the context of the run: `asyncio.to_thread`, tasks of
# an event loop, `contextvars.copy_context().run`. A thread that starts with an empty context
# belongs to no run that anybody could know. It meets the tape of the outside, never that of
# another run.

CURRENT: ContextVar[Tape | None] = ContextVar("sop_tape", default=None)
_OUTSIDE: list[Tape] = []
"""The last one holds. A global, as threads that lost their context are reached in no other way."""


def active() -> bool:
    """Tell whether traffic in this process is recorded or replayed."""
    return bool(_OUTSIDE)


def current_tape() -> Tape | None:
    """Return the tape to ask, `None` if nothing is recorded or replayed in this process."""
    tape = CURRENT.get()
    if tape is None and _OUTSIDE:
        return _OUTSIDE[-1]
    return tape


@contextmanager
def switched_on(outside: Tape) -> Generator[None]:
    """Record or replay in this process; `outside` answers what belongs to no run."""
    _OUTSIDE.append(outside)
    try:
        yield
    finally:
        _OUTSIDE.remove(outside)


@contextmanager
def on_tape(tape: Tape) -> Generator[None]:
    """Have what is sent in this context recorded to, or served from, a tape."""
    token = CURRENT.set(tape)
    try:
        yield
    finally:
        CURRENT.reset(token)


# The tape of one attempt at one run: what is served, what is sent, what has no recording.

Mode = Literal["record", "only", "auto"]

_PASSING: Final = frozenset((408, 409, 425, 429, 500, 502, 503, 504, 529))
"""Responses after which clients send the same request again."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Taken:
    """What a tape has seen: requests served from disk, sent live, lost on the way, and missed.

    `sent` are the credentials of those that were sent.
    """

    served: int
    live: int
    lost: int
    miss: Miss | None
    misses: int
    exchanges: tuple[Recorded, ...]
    sent: frozenset[str]


class RunTape(Tape):
    """Serves what is recorded and takes what is new, whichever its mode wants.

    A look-up takes one hash of the request, however many recordings there are.
    """

    def __init__(self, mode: Mode, recording: Recording, shaping: Shaping) -> None:
        """Wind a tape to its beginning; in mode `record` nothing is served from the recording."""
        self._mode: Mode = mode
        self._recording = recording
        self._shaping = shaping
        self._lock = threading.Lock()
        self._left: dict[str, deque[Recorded]] = defaultdict(deque)
        if mode != "record":
            for one in recording.exchanges:
                self._left[one.key].append(one)
        self._sent = 0
        self._served: dict[int, Recorded] = {}
        self._open: dict[str, deque[int]] = defaultdict(deque)
        self._kept: dict[int, Recorded] = {}
        self._lost = 0
        self._miss: Miss | None = None
        self._misses = 0
        self._credentials: frozenset[str] = frozenset()
        self.last: Recorded | None = None
        """The reply that came last, of those that were served or are whole."""

    @property
    def taken(self) -> Taken:
        """What the tape has seen so far."""
        with self._lock:
            every = {**self._served, **self._kept}
            return Taken(
                served=len(self._served),
                live=len(self._kept),
                lost=self._lost,
                miss=self._miss,
                misses=self._misses,
                exchanges=_settled([every[number] for number in sorted(every)]),
                sent=self._credentials,
            )

    def answer(self, request: Request) -> Response | None:
        """Return the next recorded response to this request, or `None`: send it.

        Raises:
            MissingRecordingError: there is none, and nothing may be sent.
        """
        shape = self._shaping.shape(request)
        key = shape.key
        with self._lock:
            self._sent += 1
            number = self._sent
            if left := self._left.get(key):
                found = self._served[number] = self.last = left.popleft()
                return found.response
            if self._mode != "only":
                self._open[key].append(number)
                return None
            self._misses += 1
        host = urlsplit(request.url).hostname or ""
        raise MissingRecordingError(str(self._missed(shape, number, host)))

    def _missed(self, shape: Shape, number: int, host: str) -> Miss:
        # The first one tells what is wrong; what follows from it is told as little as it costs.
        if self._miss is None:
            miss = explain_miss(self._recording, shape, number, host)
            with self._lock:
                self._miss = self._miss or miss
        return self._miss

    def keep(self, request: Request, response: Response) -> None:
        """Take the response of a request that was sent."""
        shape = self._shaping.shape(request)
        key, credentials = shape.key, credentials_sent(request)
        with self._lock:
            self._credentials |= credentials
            number = self._sent_as(key)
            self._kept[number] = self.last = Recorded(key=key, shape=shape, response=response)

    def lost(self, request: Request, error: BaseException) -> None:
        """Count a request that got no whole response."""
        del error
        key = self._shaping.shape(request).key
        with self._lock:
            self._sent_as(key)
            self._lost += 1

    def _sent_as(self, key: str) -> int:
        sent = self._open.get(key)
        if sent:
            return sent.popleft()
        # A seam that did not ask before.
        self._sent += 1
        return self._sent


def _settled(exchanges: list[Recorded]) -> tuple[Recorded, ...]:
    """Leave out what a client did not accept: a failure before a better reply to the same."""
    last = {one.key: place for place, one in enumerate(exchanges)}
    return tuple(
        one
        for place, one in enumerate(exchanges)
        if not (one.response.status in _PASSING and place < last[one.key])
    )
