"""A tape in memory: what it knows of matching is that equal requests are equal."""

from __future__ import annotations

import threading
from dataclasses import dataclass, field
from typing import Literal
from urllib.parse import urlsplit

from pytest_sopbench._replay.exchange import Request, Response
from pytest_sopbench.errors import MissingRecordingError


@dataclass
class MemoryTape:
    """Records, or replays what another one has recorded."""

    mode: Literal["record", "only"] = "record"
    kept: list[tuple[Request, Response]] = field(default_factory=list)
    asked: list[Request] = field(default_factory=list)
    failed: list[tuple[Request, BaseException]] = field(default_factory=list)
    lock: threading.Lock = field(default_factory=threading.Lock)

    def answer(self, request: Request) -> Response | None:
        with self.lock:
            self.asked.append(request)
            if self.mode == "record":
                return None
            for place, (recorded, response) in enumerate(self.kept):
                if _key(recorded) == _key(request):
                    del self.kept[place]
                    return response
        msg = f"nothing is recorded for {request.method} {request.url}"
        raise MissingRecordingError(msg)

    def keep(self, request: Request, response: Response) -> None:
        with self.lock:
            self.kept.append((request, response))

    def lost(self, request: Request, error: BaseException) -> None:
        with self.lock:
            self.failed.append((request, error))

    def replaying(self) -> MemoryTape:
        return MemoryTape("only", list(self.kept))

    @property
    def response(self) -> Response:
        """The only one."""
        [(_, response)] = self.kept
        return response


def _key(request: Request) -> tuple[str, str, str, bytes]:
    parts = urlsplit(request.url)
    return request.method, parts.path, parts.query, request.body
