"""Content encodings undone as the bytes pass, so that a recording can be read."""

from __future__ import annotations

import re
import zlib
from collections.abc import Callable, Generator, Sequence
from contextlib import contextmanager
from fnmatch import fnmatchcase
from importlib import import_module
from typing import Any, Final
from urllib.parse import urlsplit

from pytest_sopbench._replay.tape.exchange import Request, Response, Tape
from pytest_sopbench.errors import CassetteError

Decode = Callable[[bytes], bytes]


def decoder(encodings: str) -> Decode:
    """Return a function that decodes chunk after chunk; `encodings` is the header's value.

    Raises:
        CassetteError: nothing here can read one of the encodings.
    """
    names = [name.strip().lower() for name in encodings.split(",")]
    steps = [_DECODERS[name]() for name in reversed(names) if name not in _PLAIN and _known(name)]

    def decode(chunk: bytes) -> bytes:
        for step in steps:
            chunk = step(chunk)
        return chunk

    return decode


def _known(name: str) -> bool:
    if name in _DECODERS:
        return True
    msg = f"the reply is encoded as {name!r}, which cannot be recorded as text"
    raise CassetteError(msg)


def _gzip() -> Decode:
    decompress = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)

    def decode(chunk: bytes) -> bytes:
        nonlocal decompress
        read = decompress.decompress(chunk)
        while decompress.unused_data:
            # A gzip file may have several members.
            rest = decompress.unused_data
            decompress = zlib.decompressobj(wbits=zlib.MAX_WBITS | 32)
            read += decompress.decompress(rest)
        return read

    return decode


def _deflate() -> Decode:
    started: list[Any] = []

    def decode(chunk: bytes) -> bytes:
        if started:
            return bytes(started[0].decompress(chunk))
        # Some servers mean zlib's own format by it, and some the bare stream.
        for wbits in (zlib.MAX_WBITS, -zlib.MAX_WBITS):
            decompress = zlib.decompressobj(wbits=wbits)
            try:
                read = decompress.decompress(chunk)
            except zlib.error:
                continue
            started.append(decompress)
            return read
        msg = "the reply is called deflated, and is not"
        raise CassetteError(msg)

    return decode


def _brotli() -> Decode:
    library = _imported("br", "brotli", "brotlicffi")
    decompress = library.Decompressor()
    decode: Decode = getattr(decompress, "process", None) or decompress.decompress
    return decode


def _zstd() -> Decode:
    library = _imported("zstd", "compression.zstd", "backports.zstd", "zstandard")
    if hasattr(library, "ZstdDecompressor") and library.__name__ == "zstandard":
        decode: Decode = library.ZstdDecompressor().decompressobj().decompress
        return decode
    other: Decode = library.ZstdDecompressor().decompress
    return other


def _imported(encoding: str, *names: str) -> Any:
    for name in names:
        try:
            return import_module(name)
        except ImportError:
            continue
    msg = f"the reply is encoded as {encoding!r}; install {names[-1]}, so that it can be recorded"
    raise CassetteError(msg)


_PLAIN: Final = frozenset({"", "identity"})
_DECODERS: Final[dict[str, Callable[[], Decode]]] = {
    "gzip": _gzip,
    "x-gzip": _gzip,
    "deflate": _deflate,
    "br": _brotli,
    "zstd": _zstd,
}


# Traffic that is not recorded: hosts that the project names, and where credentials come from.

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
