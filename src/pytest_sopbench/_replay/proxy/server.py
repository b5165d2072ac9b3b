"""The server on loopback: one for a process, with a path of its own for each run."""

from __future__ import annotations

import secrets
import threading
from collections.abc import Mapping
from dataclasses import dataclass
from functools import partial
from http.server import ThreadingHTTPServer
from typing import Self

from pytest_sopbench._replay.tape.exchange import Tape

from .forwarding import Send, send
from .handler import Handler, Visit
from .providers import redirected, upstreams


@dataclass(frozen=True, slots=True)
class _Route:
    tape: Tape
    upstreams: Mapping[str, str]
    environment: Mapping[str, str]


class Proxy:
    """Hands requests of children to the tapes of their runs; started with the first child."""

    def __init__(self, forward: Send = send) -> None:
        """Send what is not recorded by `forward`."""
        self._forward = forward
        self._lock = threading.Lock()
        self._routes: dict[str, _Route] = {}
        self._server: _Server | None = None

    def environment(self, tape: Tape, environment: Mapping[str, str]) -> dict[str, str]:
        """Return the environment for a child of the run that has this tape."""
        own = dict(environment)
        with self._lock:
            if self._server is None:
                self._server = _Server(self)
                serve = partial(self._server.serve_forever, poll_interval=0.05)
                threading.Thread(target=serve, name="sop-replay-proxy", daemon=True).start()
            token = next((key for key, r in self._routes.items() if _is(r, tape, own)), None)
            if token is None:
                token = secrets.token_urlsafe(12)
                self._routes[token] = _Route(tape, upstreams(own), own)
            base = f"http://127.0.0.1:{self._server.server_port}/{token}"
        return redirected(own, base)

    def forget(self, tape: Tape) -> None:
        """Refuse what children of a run send when it is over."""
        with self._lock:
            for token in [key for key, route in self._routes.items() if route.tape is tape]:
                del self._routes[token]

    def visit(self, path: str) -> Visit | None:
        """Return what a path means; `None` where it is of no run, or of one that is over."""
        _, token, provider, *rest = [*path.split("/", 3), "", ""]
        with self._lock:
            route = self._routes.get(token)
        name, mark, query = provider.partition("?")
        if route is None or name not in route.upstreams:
            return None
        url = route.upstreams[name] + (f"/{rest[0]}" if rest[0] else "") + mark + query
        return Visit(route.tape, url, route.environment, self._forward)

    def close(self) -> None:
        """Serve nobody from now on."""
        with self._lock:
            server, self._server = self._server, None
            self._routes.clear()
        if server is not None:
            server.shutdown()
            server.server_close()

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()


def _is(route: _Route, tape: Tape, environment: Mapping[str, str]) -> bool:
    return route.tape is tape and route.environment == environment


class _Server(ThreadingHTTPServer):
    request_queue_size = 512
    daemon_threads = True
    block_on_close = False

    def __init__(self, proxy: Proxy) -> None:
        super().__init__(("127.0.0.1", 0), Handler)
        self.visit = proxy.visit

    def handle_error(self, request: object, client_address: object) -> None:
        """A child that goes away is no news."""
