"""Requests to AWS signed anew.

The signature of a child covers the host that it spoke to: the proxy. AWS would refuse it. The proxy
signs with the same credentials, those of the environment that the child was given or those that
botocore finds. A request with an API key (`AWS_BEARER_TOKEN_BEDROCK`) has no signature, and passes.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from importlib import import_module
from ipaddress import ip_address
from typing import Any, Final
from urllib.parse import urlsplit

from pytest_sopbench._replay.tape.exchange import Headers, Request
from pytest_sopbench.errors import CassetteError

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
    if found is None or _is_here(request.url):
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
        msg = "a request signed for AWS can only be recorded where botocore is installed"
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


def _is_here(url: str) -> bool:
    host = urlsplit(url).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
