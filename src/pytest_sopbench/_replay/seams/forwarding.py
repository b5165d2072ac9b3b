"""Requests, passed on to the provider that they are for."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPException, HTTPResponse
from importlib import import_module
from typing import Any, Final
from urllib.request import HTTPErrorProcessor, build_opener
from urllib.request import Request as Outgoing

from pytest_sopbench._replay.exchange import Headers, Request, is_loopback
from pytest_sopbench.errors import CassetteError

# Requests to AWS signed anew.
#
# The signature of a child covers the host that it spoke to: the proxy. AWS would refuse it. The
# proxy signs with the same credentials, those of the environment that the child was given or those
# that botocore finds. A request with an API key (`AWS_BEARER_TOKEN_BEDROCK`) has no signature, and
# passes.

_SIGNED: Final = re.compile(
    r"AWS4-HMAC-SHA256 Credential=(?P<key>[^/]+)/\d+/(?P<region>[^/]+)/(?P<service>[^/]+)/"
)
_OF_SIGNATURES: Final = frozenset(
    {"authorization", "x-amz-date", "x-amz-security-token", "x-amz-content-sha256"}
)


def signed(request: Request, environment: Mapping[str, str]) -> Headers:
    """Return the headers with which a request can be sent to its own host.

    Raises:
        CassetteError: it has to be signed, and the credentials are not to be found.
    """
    headers = {name.lower(): value for name, value in request.headers}
    found = _SIGNED.match(headers.get("authorization", ""))
    if found is None or is_loopback(request.url):
        return request.headers
    credentials = _credentials(found["key"], environment)
    kept = {name: value for name, value in request.headers if name.lower() not in _OF_SIGNATURES}
    fresh = import_module("botocore.awsrequest").AWSRequest(
        method=request.method, url=request.url, data=request.body, headers=kept
    )
    auth = import_module("botocore.auth")
    auth.SigV4Auth(credentials, found["service"], found["region"]).add_auth(fresh)
    return tuple((str(name), str(value)) for name, value in fresh.headers.items())


def _credentials(key: str, environment: Mapping[str, str]) -> Any:
    try:
        library = import_module("botocore.credentials")
        session = import_module("botocore.session")
    except ImportError:
        msg = "a request signed for AWS can only be recorded if botocore is installed"
        raise CassetteError(msg) from None
    secret = environment.get("AWS_SECRET_ACCESS_KEY")
    if secret and environment.get("AWS_ACCESS_KEY_ID") == key:
        return library.Credentials(key, secret, environment.get("AWS_SESSION_TOKEN"))
    found = session.Session(profile=environment.get("AWS_PROFILE")).get_credentials()
    if found is None or found.access_key != key:
        msg = (
            "a request signed for AWS has to be signed anew, and its credentials are not those of "
            "the environment; give the child AWS_BEARER_TOKEN_BEDROCK, or the usual variables"
        )
        raise CassetteError(msg)
    return found


# Requests of children sent on, by the standard library alone, which no seam sees.

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


class Reply:
    """A live reply of `http.client`: its head, and its chunks as they come from the network."""

    def __init__(self, response: HTTPResponse) -> None:
        self._response = response
        self.status = response.status
        self.headers: Headers = tuple(response.headers.items())

    def chunks(self) -> Iterator[bytes]:
        """Yield them; raise `ConnectionError` if the rest does not come."""
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
        """Let the provider go."""
        self._response.close()


Send = Callable[[Request, Mapping[str, str]], Reply]


def send(request: Request, environment: Mapping[str, str]) -> Reply:
    """Send a request to its own host, by the HTTP proxy of the environment if it has one.

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
    return Reply(build_opener(AsItComes).open(outgoing))


# The variables by which clients in another process find a provider, and where they lead.
#
# `OPENAI_BASE_URL`, `ANTHROPIC_BASE_URL` and `AWS_ENDPOINT_URL_BEDROCK_RUNTIME` are read by the
# providers' own clients, in every language. A child gets them with an address of the proxy, whose
# path says which run and which provider is meant.


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """`variables`: the first one is always set, the others if the environment has them."""

    name: str
    variables: tuple[str, ...]
    usual: str


PROVIDERS: Final = (
    Provider(
        name="openai",
        variables=("OPENAI_BASE_URL", "OPENAI_API_BASE"),
        usual="https://api.openai.com/v1",
    ),
    Provider(
        name="anthropic",
        variables=("ANTHROPIC_BASE_URL",),
        usual="https://api.anthropic.com",
    ),
    Provider(
        name="bedrock",
        variables=("AWS_ENDPOINT_URL_BEDROCK_RUNTIME",),
        usual="https://bedrock-runtime.{region}.amazonaws.com",
    ),
)

_HTTP_PROXIES: Final = ("http_proxy", "https_proxy", "all_proxy")
_EXEMPT: Final = ("NO_PROXY", "no_proxy")


def upstreams(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the base URL of each provider that this environment leads to."""
    region = environment.get("AWS_REGION") or environment.get("AWS_DEFAULT_REGION") or "us-east-1"
    found: dict[str, str] = {}
    for provider in PROVIDERS:
        named = (environment[name] for name in provider.variables if environment.get(name))
        found[provider.name] = next(named, provider.usual.format(region=region)).rstrip("/")
    return found


def redirected(environment: Mapping[str, str], base: str) -> dict[str, str]:
    """Return the environment with the variables of each provider set to `BASE/PROVIDER`."""
    changed = dict(environment)
    for provider in PROVIDERS:
        first, *others = provider.variables
        for name in (first, *(name for name in others if environment.get(name))):
            changed[name] = f"{base}/{provider.name}"
    if any(environment.get(name) or environment.get(name.upper()) for name in _HTTP_PROXIES):
        # Else the child would ask its HTTP proxy for what is on this machine.
        for name in _EXEMPT:
            changed[name] = ",".join(filter(None, (environment.get(name), "127.0.0.1")))
    return changed
