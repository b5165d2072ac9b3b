"""urllib3, below requests and on its own, and botocore, which reads its replies as urllib3 does.

The door of urllib3 is `HTTPConnectionPool.urlopen`, by which pools, pool managers, proxies and
requests send, public and the same in urllib3 1.26 and 2.x. What it repeats by itself, for `Retry`
or a redirect of the pool, is its own affair: recorded is what came back in the end.

To see a reply as it comes in, we have urllib3 not read it within `urlopen`, and read it after that.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable
from functools import wraps
from http.client import HTTPResponse
from importlib import import_module
from io import BytesIO
from typing import Any

from pytest_sopbench._replay.exchange import Request, Response
from pytest_sopbench._replay.seams import wire
from pytest_sopbench._replay.seams.take import Door, Seam, Take, sent_live, tape_for
from pytest_sopbench._replay.seams.wire import tap


def _seen(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def urlopen(
        self: Any, method: str, url: str, body: Any = None, headers: Any = None, **options: Any
    ) -> Any:
        address = _absolute(self, url)
        tape = tape_for(address)
        if tape is None:
            return original(self, method, url, body, headers, **options)
        body, sent = read_body(body)
        told = self.headers if headers is None else headers
        asked = Request(method=method, url=address, headers=plain_headers(told), body=sent)
        preload = options.pop("preload_content", True)
        answer = tape.answer(asked)
        if answer is not None:
            decode = options.get("decode_content", True)
            return served(answer, method=method, url=url, preload=preload, decode=decode)
        with sent_live(tape, asked):
            live = original(self, method, url, body, headers, preload_content=False, **options)
        tap(live, Take(tape, asked, status=live.status, headers=live.headers.items()))
        if preload:
            live.read(decode_content=options.get("decode_content", True), cache_content=True)
        return live

    return urlopen


def served(answer: Response, *, method: str, url: str, preload: bool, decode: bool) -> Any:
    """Return a recorded reply as a response of urllib3, which reads it from memory."""
    raw = HTTPResponse(_Socket(answer), method=method)  # type: ignore[arg-type]
    raw.begin()
    types = import_module("urllib3.response")
    return types.HTTPResponse(
        body=raw,
        headers=types.HTTPHeaderDict(raw.getheaders()),
        status=raw.status,
        version=raw.version,
        reason=raw.reason,
        preload_content=preload,
        decode_content=decode,
        original_response=raw,
        request_method=method,
        request_url=url,
    )


class _Socket:
    """What `http.client` needs of a socket, with a recorded reply in memory."""

    def __init__(self, answer: Response) -> None:
        self._answer = answer

    def makefile(self, _mode: str) -> BytesIO:
        return BytesIO(b"".join((wire.head(self._answer), *wire.body(self._answer))))


def plain_headers(headers: Any) -> tuple[tuple[str, str], ...]:
    """Return headers as texts, whichever mapping they come in."""
    pairs: Iterable[tuple[Any, Any]] = headers.items() if headers else ()
    return tuple((_text(name), _text(value)) for name, value in pairs)


def _text(value: Any) -> str:
    return value.decode("latin-1") if isinstance(value, bytes) else str(value)


def read_body(body: Any) -> tuple[Any, bytes]:
    """Return a body that can be sent, and its bytes; a file or an iterator is read for it."""
    if body is None:
        return None, b""
    if isinstance(body, str):
        return body, body.encode()
    try:
        return body, bytes(memoryview(body))
    except TypeError:
        data = body.read() if hasattr(body, "read") else b"".join(_bytes(part) for part in body)
        return _bytes(data), _bytes(data)


def _bytes(part: Any) -> bytes:
    return part.encode() if isinstance(part, str) else bytes(part)


def _absolute(pool: Any, url: str) -> str:
    if not url.startswith("/"):
        return url
    host = f"[{pool.host}]" if ":" in pool.host else pool.host
    usual = {"http": 80, "https": 443}.get(pool.scheme)
    port = f":{pool.port}" if pool.port and pool.port != usual else ""
    return f"{pool.scheme}://{host}{port}{url}"


URLLIB3 = Seam(
    module="urllib3.connectionpool",
    library="urllib3",
    doors=lambda module: (Door(owner=module.HTTPConnectionPool, name="urlopen", through=_seen),),
)


# botocore, below boto3: Bedrock with `converse`, `converse_stream`, `invoke_model`.
#
# The door is `URLLib3Session.send`, the same from botocore 1.31 to 1.44. It is above urllib3, which
# would see the same requests: an exception that we raise there would be one more that botocore
# repeats.


def _seen_by_botocore(original: Callable[..., Any]) -> Callable[..., Any]:
    @wraps(original)
    def send(self: Any, request: Any) -> Any:
        tape = tape_for(request.url)
        if tape is None:
            return original(self, request)
        request.body, sent = read_body(request.body)
        headers = plain_headers(request.headers)
        asked = Request(method=request.method, url=request.url, headers=headers, body=sent)
        answer = tape.answer(asked)
        if answer is not None:
            return _served_to_botocore(answer, request)
        with sent_live(tape, asked):
            live = original(self, request)
        take = Take(tape, asked, status=live.status_code, headers=live.headers.items())
        if request.stream_output:
            tap(live.raw, take)
        else:
            take.add(live.content)
            take.end()
        return live

    return send


def _served_to_botocore(answer: Response, request: Any) -> Any:
    raw = served(answer, method=request.method, url=request.url, preload=False, decode=False)
    types = import_module("botocore.awsrequest")
    response = types.AWSResponse(request.url, raw.status, raw.headers, raw)
    if not request.stream_output:
        # Read here, as botocore does, so that the reply can be asked for its content at any time.
        _ = response.content
    return response


BOTOCORE = Seam(
    module="botocore.httpsession",
    library="botocore",
    doors=lambda module: (
        Door(owner=module.URLLib3Session, name="send", through=_seen_by_botocore),
    ),
)
