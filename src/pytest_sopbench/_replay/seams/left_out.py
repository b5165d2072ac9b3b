"""Traffic that is not recorded: hosts that the project names, and where credentials come from."""

from __future__ import annotations

import re
from collections.abc import Generator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from typing import Final
from urllib.parse import urlsplit

from pytest_sopbench._replay.tape.exchange import Request, Response, Tape

_LEFT_OUT: list[tuple[str, ...]] = []
"""Patterns of hosts. A global, as the patched libraries are."""

_CREDENTIALS: Final = re.compile(
    r"169\.254\.169\.254|169\.254\.170\.\d+|fd00:ec2::\w+|metadata\.google\.internal"
    r"|(sts|oidc|portal\.sso)(\.[\w-]+)?\.amazonaws\.com(\.cn)?"
    r"|oauth2\.googleapis\.com|iamcredentials\.googleapis\.com"
    r"|login\.microsoftonline\.(com|us)|[\w.-]+\.auth0\.com"
)
"""Hosts whose replies are credentials, by the providers' own documentation."""


@contextmanager
def leaving_out(patterns: Sequence[str]) -> Generator[None]:
    """Leave hosts alone: `HOST` or `HOST:PORT`, each as a pattern with `*` and `?`."""
    entry = tuple(pattern.strip().lower() for pattern in patterns)
    _LEFT_OUT.append(entry)
    try:
        yield
    finally:
        _LEFT_OUT.remove(entry)


def is_left_out(url: str) -> bool:
    """Tell whether the project leaves the host of an address out."""
    if not any(_LEFT_OUT):
        return False
    host, port = _host(url)
    names = (host, f"{host}:{port}")
    return any(
        fnmatchcase(name, pattern) for entry in _LEFT_OUT for pattern in entry for name in names
    )


def is_for_credentials(url: str) -> bool:
    """Tell whether an address is one where clients get keys or tokens for their requests."""
    return _CREDENTIALS.fullmatch(_host(url)[0]) is not None


def _host(url: str) -> tuple[str, int]:
    parts = urlsplit(url)
    port = parts.port or (80 if parts.scheme == "http" else 443)
    return (parts.hostname or "").lower(), port


class Credentials:
    """A tape for requests that fetch credentials: these may be sent, and are never kept.

    A client that is only replayed needs none. Where nothing may be sent, the tape below refuses.
    """

    def __init__(self, tape: Tape) -> None:
        """Ask this tape whether something may be sent."""
        self._tape = tape

    def answer(self, request: Request) -> Response | None:
        return self._tape.answer(request)

    def keep(self, request: Request, response: Response) -> None:
        """Keep nothing: a recording holds no credentials."""

    def lost(self, request: Request, error: BaseException) -> None:
        """Nothing is missing from the recording."""
