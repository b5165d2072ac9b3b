"""Tell whether an exception means that a provider could not be reached.

Exceptions are known by their qualified names, along the MRO and along the chain of explicit causes,
by the status that they carry, and in one case by where they were raised. No provider's package is
imported for it.
"""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from functools import partial
from itertools import pairwise
from types import TracebackType
from typing import Final, cast

from pytest_sopbench._core.values.json import call_safely, get_member

UNAVAILABLE: Final = frozenset(
    {
        "pytest_sopbench.errors.Unavailable",
        *(
            f"{client}.{name}"
            for client in ("openai", "anthropic")
            for name in (
                "RateLimitError",
                "InternalServerError",
                "APIConnectionError",
                # what came was no reply of the API
                "APIResponseValidationError",
            )
        ),
        "botocore.exceptions.IncompleteReadError",
        "botocore.parsers.ResponseParserError",
        "botocore.exceptions.ConnectionError",
        "botocore.exceptions.HTTPClientError",
        *(
            f"{client}.{name}"
            for client in ("httpx", "httpx2")
            for name in (
                "TimeoutException",
                "NetworkError",
                "ProxyError",
                "RemoteProtocolError",
                "DecodingError",
            )
        ),
        "requests.exceptions.ConnectionError",
        "requests.exceptions.Timeout",
        "requests.exceptions.ChunkedEncodingError",
        "urllib3.exceptions.TimeoutError",
        "urllib3.exceptions.ProtocolError",
        "urllib3.exceptions.ProxyError",
        "urllib3.exceptions.MaxRetryError",
        "urllib3.exceptions.NewConnectionError",
    }
)
"""Exceptions that always mean it, and whatever derives from them."""

WITH_STATUS: Final = frozenset(
    {
        "openai.APIError",
        "anthropic.APIError",
        "botocore.exceptions.ClientError",
        "httpx.HTTPStatusError",
        "httpx2.HTTPStatusError",
        "requests.exceptions.HTTPError",
    }
)
"""Exceptions whose status or code decides."""

_NO_JSON: Final = "json.decoder.JSONDecodeError"
_READERS: Final = frozenset(
    f"{client}.{module}"
    for client in ("openai", "anthropic")
    for module in ("_response", "_legacy_response")
)
"""Modules of clients whose `_parse` reads the body of a reply of status 2xx."""

_DEEPEST: Final = 50
"""Groups inside each other that are looked into."""

_REQUEST_TIMEOUT: Final = 408
_TOO_MANY_REQUESTS: Final = 429
_SERVER_ERRORS: Final = range(500, 600)
_STATUS: Final = re.compile(r"[1-5][0-9]{2}")

_CODES: Final = frozenset(
    {
        # botocore's own lists of errors that it takes for throttling or for transient
        "BandwidthLimitExceeded", "EC2ThrottledException", "InternalError", "InternalFailure",
        "InternalServerError", "InternalServerException", "LimitExceededException",
        "ModelNotReadyException", "ModelTimeoutException", "PriorRequestNotComplete",
        "ProvisionedThroughputExceededException", "RequestLimitExceeded", "RequestThrottled",
        "RequestThrottledException", "RequestTimeout", "RequestTimeoutException",
        "ServiceUnavailable", "ServiceUnavailableException", "SlowDown", "ThrottledException",
        "Throttling", "ThrottlingException", "TooManyRequestsException",
        "TransactionInProgressException", "internalServerException", "serviceUnavailableException",
        "throttlingException", "modelTimeoutException",
        # what Bedrock says with status 424, when the model itself broke off
        "ModelErrorException", "ModelStreamErrorException", "modelStreamErrorException",
        # what OpenAI says inside a stream, where there is no status
        "rate_limit_exceeded", "server_error",
    }
)  # fmt: skip


def is_unavailable(
    error: BaseException, names: frozenset[str] = frozenset(), depth: int = 0
) -> bool:
    """Whether the error, or one that it was raised from (`raise ... from`), means unavailability.

    What was raised while such an error was handled is a fault of the handler. A group of errors
    means it only if each of its members does, so that no bug hides among them.

    Args:
        error: what the agent raised.
        names: qualified names of more exceptions, like `mypkg.errors.Overloaded`.
        depth: in how many groups it stands; nobody looks into more than a few dozen.
    """
    known = UNAVAILABLE | names
    return any(_means_it(one, known, names, depth) for one in chain(error))


def chain(error: BaseException) -> Iterator[BaseException]:
    """Return the error and what it was raised from, each once."""
    seen: set[int] = set()
    current: BaseException | None = error
    while current is not None and id(current) not in seen:
        seen.add(id(current))
        yield current
        # Not `current.__cause__`: a class of a user answers that, or fails to.
        current = BaseException.__getattribute__(current, "__cause__")


def _means_it(
    error: BaseException, known: frozenset[str], names: frozenset[str], depth: int
) -> bool:
    kinds: tuple[type, ...] = type.__getattribute__(type(error), "__mro__")
    own = {call_safely(partial(_written, kind), "") for kind in kinds}
    if not own.isdisjoint(known):
        return True
    if not own.isdisjoint(WITH_STATUS):
        return _status_says_so(error)
    if _NO_JSON in own:
        return _is_of_a_reply(error)
    if issubclass(type(error), BaseExceptionGroup) and depth < _DEEPEST:
        members = cast("tuple[BaseException, ...]", get_member(error, "exceptions"))
        return all(is_unavailable(member, names, depth + 1) for member in members)
    return False


def _is_of_a_reply(error: BaseException) -> bool:
    """Whether a provider's client raised it over the body of a reply.

    Anywhere else it may tell of a text that the model wrote.
    """
    frames: list[tuple[object, str]] = []
    came: TracebackType | None = BaseException.__getattribute__(error, "__traceback__")
    while came is not None:
        frame = came.tb_frame
        frames.append((frame.f_globals.get("__name__"), frame.f_code.co_name))
        came = came.tb_next
    return any(
        module in _READERS and name == "_parse" and called == "json"
        for (module, name), (_, called) in pairwise(frames)
    )


def _written(kind: type) -> str:
    # Of a builtin exception, people write the plain name.
    module = "" if kind.__module__ == "builtins" else f"{kind.__module__}."
    return f"{module}{kind.__qualname__}"


def _status_says_so(error: BaseException) -> bool:
    response = get_member(error, "response")
    # A mapping for botocore, an object for the HTTP clients.
    details, metadata = _part(response, "Error"), _part(response, "ResponseMetadata")
    codes = (get_member(error, "code"), get_member(error, "type"), details.get("Code"))
    statuses = (
        get_member(error, "status_code"),
        get_member(response, "status_code"),
        metadata.get("HTTPStatusCode"),
    )
    if any(isinstance(code, str) and code in _CODES for code in codes):
        return True
    # Gateways put a status where others put a name.
    written = (int(one) for one in codes if isinstance(one, str) and _STATUS.fullmatch(one))
    return any(
        isinstance(one, int)
        and (one in (_REQUEST_TIMEOUT, _TOO_MANY_REQUESTS) or one in _SERVER_ERRORS)
        for one in (*statuses, *codes, *written)
    )


def _part(response: object, name: str) -> Mapping[str, object]:
    part = get_member(response, name)
    return cast("Mapping[str, object]", part) if isinstance(part, Mapping) else {}
