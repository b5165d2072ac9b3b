"""Requests, taken where a library sends them."""

from __future__ import annotations

import re
import threading
import zlib
from collections.abc import Callable, Generator, Iterable, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from fnmatch import fnmatchcase
from importlib import import_module
from typing import Any, Final
from urllib.parse import urlsplit

from pytest_sopbench._replay.exchange import Request, Response, Tape
from pytest_sopbench._replay.run_tape import current_tape
from pytest_sopbench.errors import CassetteError

# One live exchange that is being recorded, while its chunks pass through to the agent.

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
_TAKING = threading.Lock()


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
        """Begin with the head of a reply; `decoded` if the chunks come without an encoding."""
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
        with _TAKING:
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
        with _TAKING:
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
    with _TAKING:
        takes = list(_OPEN.get(id(tape), ()))
    for take in takes:
        take.leave()


# Which requests a seam is asked about: each once, and none that the project leaves out.
#
# A library may send its requests by another one: requests and botocore by urllib3, some transports
# of httpx by aiohttp. The upper one is what the agent speaks to, so the seam of the lower one
# looks away while the upper one sends.

_BENEATH: ContextVar[bool] = ContextVar("sop_beneath_a_seam", default=False)


@contextmanager
def beneath() -> Generator[None]:
    """Send a request that a seam above has already seen."""
    token = _BENEATH.set(True)
    try:
        yield
    finally:
        _BENEATH.reset(token)


@contextmanager
def sent_live(tape: Tape, asked: Request) -> Generator[None]:
    """Send a request that has no recording; if no reply comes, the tape notes it as lost."""
    try:
        with beneath():
            yield
    except BaseException as error:
        tape.lost(asked, error)
        raise


def tape_for(url: str) -> Tape | None:
    """Return the tape to ask about a request, `None` if a seam has no business with it."""
    if _BENEATH.get():
        return None
    tape = current_tape()
    if tape is None or is_left_out(url):
        return None
    return Credentials(tape) if is_for_credentials(url) else tape


# The places of a library through which its requests go, patched and given back.

Through = Callable[[Any], Any]
"""Takes what stood in the door, and returns what stands there while traffic is seen."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Door:
    """An attribute of a class; `through` makes its replacement."""

    owner: type
    name: str
    through: Through


@dataclass(frozen=True, slots=True, kw_only=True)
class Seam:
    """A library whose traffic is seen, once this module of it is imported."""

    module: str
    library: str
    doors: Callable[[Any], Iterable[Door]]

    def open(self, module: Any) -> tuple[Door, ...]:
        """Return the doors of the imported module.

        Raises:
            CassetteError: the library has moved one.
        """
        try:
            doors = tuple(self.doors(module))
        except (AttributeError, ImportError, TypeError, ValueError) as error:
            raise CassetteError(self._moved(module, str(error))) from error
        for door in doors:
            if door.name not in vars(door.owner):
                where = f"{door.owner.__qualname__} has no {door.name} of its own"
                raise CassetteError(self._moved(module, where))
        return doors

    def _moved(self, module: Any, why: str) -> str:
        package = __import__(module.__name__.partition(".")[0])
        version = getattr(package, "__version__", "of unknown version")
        return (
            f"{self.library} {version} cannot be recorded or replayed: {why}. "
            "Install another version of it."
        )


# Content encodings undone as the bytes pass, so that a recording can be read.

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


class Credentials(Tape):
    """A tape for requests that fetch credentials: these may be sent, and are never kept.

    A client that is only replayed needs none. If nothing may be sent, the tape below refuses.
    """

    def __init__(self, tape: Tape) -> None:
        """Ask this tape whether something may be sent."""
        self._tape = tape

    def answer(self, request: Request) -> Response | None:
        return self._tape.answer(request)
