"""Content encodings undone as the bytes pass, so that a recording can be read."""

from __future__ import annotations

import zlib
from collections.abc import Callable
from importlib import import_module
from typing import Any, Final

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
