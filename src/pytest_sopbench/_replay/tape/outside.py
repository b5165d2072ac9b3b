"""Requests that belong to no run: of a thread without the context of its run, or of a test."""

from __future__ import annotations

import threading
from ipaddress import ip_address
from typing import Literal
from urllib.parse import urlsplit

from pytest_sopbench.errors import MissingRecordingError

from .exchange import Request, Response
from .model_paths import asks_no_model, host_lines
from .shape import Shaping

Refusal = Literal["refuse", "let through"]


class OutsideTape:
    """Keeps nothing; counts what it has seen, so that the summary can tell."""

    def __init__(self, unknown: Refusal) -> None:
        """Remember whether a request of unknown origin is refused."""
        self._unknown = unknown
        self._lock = threading.Lock()
        self._seen = 0
        self._last = ""

    @property
    def last(self) -> str:
        """What was said of the request of unknown origin that came last."""
        with self._lock:
            return self._last

    @property
    def seen(self) -> int:
        """How many requests of unknown origin there were."""
        with self._lock:
            return self._seen

    def answer(self, request: Request) -> Response | None:
        if _is_of_a_test(request):
            return None
        told = lost_context(request)
        with self._lock:
            self._seen += 1
            self._last = told
        if self._unknown == "refuse":
            raise MissingRecordingError(told)
        return None

    def keep(self, request: Request, response: Response) -> None:
        """Keep nothing: nobody knows to which run it would belong."""

    def lost(self, request: Request, error: BaseException) -> None:
        """Nothing was expected."""


def lost_context(request: Request) -> str:
    """Say what is wrong with a request that belongs to no run, and what to do."""
    where = urlsplit(request.url)
    host = where.hostname or ""
    thread = threading.current_thread().name
    is_beside = asks_no_model(Shaping().shape(request), host)
    more = "".join(f"{line}\n" for line in host_lines(host)) if is_beside else ""
    to = f" to {host}" if host else ""
    return (
        f"{request.method} {where.path or '/'}, sent in the thread {thread!r}{to}, belongs to no "
        f"run, so no recording can be found.\n{more}"
        "Start the thread within the context of the run: asyncio.to_thread, or\n"
        "threading.Thread(target=contextvars.copy_context().run, args=(function, ...))."
    )


def _is_of_a_test(request: Request) -> bool:
    """Tell whether a test in the main thread speaks to a server of its own on this machine."""
    if threading.current_thread() is not threading.main_thread():
        return False
    host = urlsplit(request.url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
