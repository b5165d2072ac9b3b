"""What serving a recorded reply costs beside the client's own work.

    python benchmarks/seams.py [--small]

The same request is asked of the same client twice: served by a tape in memory, and answered at the
client's own door for tests, which is the least that the client can do. Looking a request up is no
part of it; `replay.py` measures that.
"""

from __future__ import annotations

import asyncio
import io
import time
from collections.abc import Callable
from typing import Any

import boto3
import httpx
import requests
import urllib3
from botocore.awsrequest import AWSResponse
from tables import Table, is_small

from pytest_sopbench._replay.exchange import OutsideTape, Request, Response
from pytest_sopbench._replay.run_tape import on_tape, switched_on
from pytest_sopbench._replay.seams.watching import watching

CALLS, SMALL_CALLS, ROUNDS = 1_000, 100, 5
LIMIT_MS = 0.2
URL = "http://provider.invalid/v1/chat/completions"
BODY = b'{"model": "m-1", "messages": [{"role": "user", "content": "words"}]}'
TYPE = ("Content-Type", "application/json")
REPLY = b'{"output": {"message": {"role": "assistant", "content": [{"text": "%b"}]}}}' % (
    b"x" * 2_000
)


class Answering:
    """A tape that has the same reply for all that is asked."""

    def __init__(self) -> None:
        self._response = Response(status=200, headers=(TYPE,), chunks=(REPLY,))

    def answer(self, _: Request) -> Response:
        return self._response

    def keep(self, request: Request, response: Response) -> None:
        """Nothing is sent."""

    def lost(self, request: Request, error: BaseException) -> None:
        """Nothing is sent."""


def milliseconds(call: Callable[[], object], calls: int) -> float:
    """The best of some rounds, per call: the others measure what else the machine did."""
    best = float("inf")
    call()
    for _ in range(ROUNDS):
        began = time.perf_counter()
        for _ in range(calls):
            call()
        best = min(best, time.perf_counter() - began)
    return best / calls * 1e3


class InMemory(requests.adapters.HTTPAdapter):
    """requests with a reply in memory."""

    def send(self, request: requests.PreparedRequest, **_: Any) -> requests.Response:
        raw = urllib3.HTTPResponse(
            io.BytesIO(REPLY), headers=dict([TYPE]), status=200, preload_content=False
        )
        return self.build_response(request, raw)


class Raw(io.BytesIO):
    """What botocore reads of a reply in memory."""

    def stream(self, **_: object) -> list[bytes]:
        return [self.read()]


def by_httpx() -> tuple[Callable[[], object], Callable[[], object]]:
    """Ask by httpx, beside its own transport for tests."""
    reply = httpx.MockTransport(lambda _: httpx.Response(200, headers=[TYPE], content=REPLY))
    served, own = httpx.Client(), httpx.Client(transport=reply)
    return tuple(lambda c=c: c.post(URL, content=BODY).json() for c in (served, own))  # type: ignore[misc, return-value]


def by_requests() -> tuple[Callable[[], object], Callable[[], object]]:
    """Ask by requests, beside an adapter with the reply in memory."""
    served, own = requests.Session(), requests.Session()
    own.mount("http://", InMemory())
    return tuple(lambda s=s: s.post(URL, data=BODY).json() for s in (served, own))  # type: ignore[misc, return-value]


def by_boto3() -> tuple[Callable[[], object], Callable[[], object]]:
    """Ask by botocore, beside its own hook for replies of tests."""
    clients = [
        boto3.client(
            "bedrock-runtime",
            region_name="eu-central-1",
            aws_access_key_id="of nobody",
            aws_secret_access_key="of nobody",  # noqa: S106 - of nobody
        )
        for _ in range(2)
    ]
    clients[1].meta.events.register(
        "before-send", lambda **_: AWSResponse(URL, 200, dict([TYPE]), Raw(REPLY))
    )
    said = [{"role": "user", "content": [{"text": "words"}]}]
    return tuple(lambda c=c: c.converse(modelId="m", messages=said) for c in clients)  # type: ignore[misc, return-value]


def by_aiohttp(calls: int) -> float:
    """The whole request: aiohttp has no door for tests."""
    import aiohttp  # noqa: PLC0415 - it is looked at last

    async def ask() -> float:
        async with aiohttp.ClientSession() as session:
            best = float("inf")
            for _ in range(ROUNDS):
                began = time.perf_counter()
                for _ in range(calls):
                    async with session.post(URL, data=BODY) as reply:
                        await reply.json()
                best = min(best, time.perf_counter() - began)
            return best / calls * 1e3

    return asyncio.run(ask())


def main() -> int:
    """Print milliseconds for each client; the status is 1 where serving costs too much."""
    calls = SMALL_CALLS if is_small(__doc__) else CALLS
    table = Table("", "served", "in memory")
    with watching(), switched_on(OutsideTape("refuse")), on_tape(Answering()):
        for name, pair in {"httpx": by_httpx, "requests": by_requests, "boto3": by_boto3}.items():
            served, own = (milliseconds(call, calls) for call in pair())
            table.row(
                f"{name}, ms beyond its own",
                f"{served:.3f} ms",
                f"{own:.3f} ms",
                value=served - own,
                most=LIMIT_MS,
            )
        table.row("aiohttp, ms in all", f"{by_aiohttp(calls):.3f} ms")
    return table.status


if __name__ == "__main__":
    raise SystemExit(main())
