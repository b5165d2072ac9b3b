"""Requests of children sent on, by the standard library alone, which no seam sees."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from http.client import HTTPException, HTTPResponse
from typing import Any, Final, Protocol
from urllib.request import HTTPErrorProcessor, OpenerDirector, build_opener
from urllib.request import Request as Outgoing

from pytest_sopbench._replay.tape.exchange import Headers, Request

from .signing import signed

_SIZE: Final = 65_536
OF_ONE_CONNECTION: Final = frozenset(
    {
        "connection", "content-length", "host", "keep-alive", "proxy-authenticate",
        "proxy-authorization", "proxy-connection", "te", "trailer", "transfer-encoding", "upgrade",
    }
)  # fmt: skip
"""Headers between a client and the server next to it."""


class AsItComes(HTTPErrorProcessor):
    """Leaves every reply as it is: redirects and errors are for the child."""

    def http_response(self, request: Any, response: Any) -> Any:  # noqa: ARG002 - named above
        return response

    https_response = http_response


class Reply(Protocol):
    """A live reply: its head, and its chunks as they come from the network."""

    status: int
    headers: Headers

    def chunks(self) -> Iterator[bytes]:
        """Raise `ConnectionError` where the rest does not come."""
        ...

    def close(self) -> None:
        """Let the provider go."""


Send = Callable[[Request, Mapping[str, str]], Reply]


class Live:
    """A reply of `http.client`."""

    def __init__(self, response: HTTPResponse) -> None:
        self._response = response
        self.status = response.status
        self.headers: Headers = tuple(response.headers.items())

    def chunks(self) -> Iterator[bytes]:
        try:
            while chunk := self._response.read1(_SIZE):
                yield chunk
        except HTTPException as error:
            msg = f"the provider broke off: {error!r}"
            raise ConnectionError(msg) from error
        if self._response.length:
            msg = f"the provider broke off with {self._response.length} bytes to come"
            raise ConnectionError(msg)

    def close(self) -> None:
        self._response.close()


def send(request: Request, environment: Mapping[str, str]) -> Reply:
    """Send a request to its own host, by the HTTP proxy of the environment where it has one.

    Raises:
        OSError: the provider cannot be reached.
        CassetteError: it has to be signed anew, and cannot be.
    """
    outgoing = Outgoing(  # noqa: S310 - to where the environment of the child leads
        request.url, data=request.body or None, method=request.method
    )
    for name, value in signed(request, environment):
        if name.lower() not in OF_ONE_CONNECTION:
            outgoing.add_header(name, value)
    return Live(_opener().open(outgoing))


def _opener() -> OpenerDirector:
    return build_opener(AsItComes)
