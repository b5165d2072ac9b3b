"""Unavailability, told by the real exceptions of real packages, also as causes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import pytest

import pytest_sopbench
from pytest_sopbench._core.judging.availability import is_unavailable
from pytest_sopbench.errors import Unavailable


def _openai(name: str, status: int) -> BaseException:
    openai = pytest.importorskip("openai")
    httpx = _httpx()
    request = httpx.Request("POST", "https://example.invalid/v1")
    response = httpx.Response(status, request=request)
    error: BaseException = getattr(openai, name)("said", response=response, body=None)
    return error


def _openai_connection(name: str) -> BaseException:
    openai = pytest.importorskip("openai")
    request = _httpx().Request("POST", "https://example.invalid/v1")
    error: BaseException = getattr(openai, name)(request=request)
    return error


def _validation(package: str) -> BaseException:
    """What both SDKs raise where a reply is none, if they are asked to be strict."""
    module = pytest.importorskip(package)
    name = module.APIConnectionError.__init__.__annotations__["request"].partition(".")[0]
    http = pytest.importorskip(name)
    response = http.Response(200, request=http.Request("POST", "https://example.invalid/v1"))
    error: BaseException = module.APIResponseValidationError(response=response, body=None)
    return error


def _of_botocore_parsers() -> BaseException:
    error: BaseException = pytest.importorskip("botocore.parsers").ResponseParserError("no XML")
    return error


def _openai_in_a_stream(code: object) -> BaseException:
    openai = pytest.importorskip("openai")
    request = _httpx().Request("POST", "https://example.invalid/v1")
    error: BaseException = openai.APIError("said", request=request, body={"code": code})
    return error


def _httpx() -> Any:
    openai = pytest.importorskip("openai")
    name = openai.APIConnectionError.__init__.__annotations__["request"].partition(".")[0]
    return pytest.importorskip(name)


def _client_error(code: str, status: int = 400) -> BaseException:
    botocore = pytest.importorskip("botocore.exceptions")
    response = {"Error": {"Code": code}, "ResponseMetadata": {"HTTPStatusCode": status}}
    error: BaseException = botocore.ClientError(response, "Converse")
    return error


def _botocore(name: str) -> BaseException:
    botocore = pytest.importorskip("botocore.exceptions")
    error: BaseException = getattr(botocore, name)(
        endpoint_url="https://example.invalid", error="gone", request=None, proxy_url="p"
    )
    return error


def _of(package: str, name: str, *arguments: object, **options: object) -> BaseException:
    module = pytest.importorskip(package)
    error: BaseException = getattr(module, name)(*arguments, **options)
    return error


Make = Callable[[], BaseException]

UNAVAILABLE: list[tuple[str, Make]] = [
    ("our-own", lambda: Unavailable("overloaded")),
    ("openai-rate-limit", lambda: _openai("RateLimitError", 429)),
    ("openai-server-error", lambda: _openai("InternalServerError", 500)),
    ("openai-bad-gateway-status", lambda: _openai("APIStatusError", 502)),
    ("openai-request-timeout-status", lambda: _openai("APIStatusError", 408)),
    ("openai-connection", lambda: _openai_connection("APIConnectionError")),
    ("openai-timeout", lambda: _openai_connection("APITimeoutError")),
    ("openai-rate-limit-in-a-stream", lambda: _openai_in_a_stream("rate_limit_exceeded")),
    ("openai-no-reply-of-the-api", lambda: _validation("openai")),
    ("anthropic-no-reply-of-the-api", lambda: _validation("anthropic")),
    ("openai-bad-gateway-in-a-stream", lambda: _openai_in_a_stream("502")),
    ("openai-bad-gateway-in-a-stream-as-a-number", lambda: _openai_in_a_stream(502)),
    ("botocore-model-broke-off", lambda: _client_error("ModelErrorException", 424)),
    ("botocore-stream-broke-off", lambda: _client_error("modelStreamErrorException")),
    ("botocore-cut-off", _of_botocore_parsers),
    ("httpx2-decoding", lambda: _of("httpx2", "DecodingError", "garbled")),
    ("botocore-throttling", lambda: _client_error("ThrottlingException")),
    ("botocore-too-many-requests", lambda: _client_error("Whatever", 429)),
    ("botocore-server-error", lambda: _client_error("Whatever", 503)),
    ("botocore-model-not-ready", lambda: _client_error("ModelNotReadyException")),
    ("botocore-endpoint", lambda: _botocore("EndpointConnectionError")),
    ("botocore-connect-timeout", lambda: _botocore("ConnectTimeoutError")),
    ("botocore-read-timeout", lambda: _botocore("ReadTimeoutError")),
    ("botocore-connection-closed", lambda: _botocore("ConnectionClosedError")),
    ("botocore-proxy", lambda: _botocore("ProxyConnectionError")),
    ("botocore-client", lambda: _botocore("HTTPClientError")),
    ("httpx2-connect", lambda: _of("httpx2", "ConnectError", "gone")),
    ("httpx2-read-timeout", lambda: _of("httpx2", "ReadTimeout", "slow")),
    ("urllib3-protocol", lambda: _of("urllib3.exceptions", "ProtocolError", "broken")),
    ("urllib3-timeout", lambda: _of("urllib3.exceptions", "ReadTimeoutError", None, "u", "slow")),
    ("group-of-unavailable", lambda: ExceptionGroup("g", [Unavailable(), Unavailable()])),
]

AVAILABLE: list[tuple[str, Make]] = [
    ("value-error", lambda: ValueError("rate limit 429")),
    ("connection-error-of-python", ConnectionError),
    ("timeout-of-python", TimeoutError),
    ("openai-bad-request", lambda: _openai("BadRequestError", 400)),
    ("openai-authentication", lambda: _openai("AuthenticationError", 401)),
    ("openai-no-credit-in-a-stream", lambda: _openai_in_a_stream(402)),
    ("openai-odd-code-in-a-stream", lambda: _openai_in_a_stream("5020")),
    ("failed-dependency-of-nobody", lambda: _client_error("Whatever", 424)),
    ("json-of-anything", lambda: _of("json", "JSONDecodeError", "no JSON", "<html>", 0)),
    ("openai-other-code-in-a-stream", lambda: _openai_in_a_stream("invalid_prompt")),
    ("botocore-validation", lambda: _client_error("ValidationException")),
    ("botocore-access-denied", lambda: _client_error("AccessDeniedException", 403)),
    ("botocore-no-credentials", lambda: _of("botocore.exceptions", "NoCredentialsError")),
    ("group-with-a-bug", lambda: ExceptionGroup("g", [Unavailable(), KeyError("k")])),
]


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in UNAVAILABLE])
def test_a_provider_that_cannot_be_reached_is_unavailable(make: Make) -> None:
    assert is_unavailable(make())


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in UNAVAILABLE])
def test_it_is_known_where_the_agent_wraps_it(make: Make) -> None:
    error = RuntimeError("the agent gave up")
    error.__cause__ = make()

    assert is_unavailable(error)


@pytest.mark.parametrize("make", [pytest.param(make, id=name) for name, make in AVAILABLE])
def test_any_other_error_is_the_agents_own(make: Make) -> None:
    assert not is_unavailable(make())


def test_a_bug_in_the_handler_of_unavailability_is_a_bug() -> None:
    with pytest.raises(KeyError) as caught:
        _look_up_after_trying(Unavailable())

    assert isinstance(caught.value.__context__, Unavailable)
    assert not is_unavailable(caught.value)


def _look_up_after_trying(error: BaseException) -> None:
    try:
        raise error
    except Unavailable:
        {}["cached answer"]


def test_a_bug_behind_an_explicit_cause_is_a_bug() -> None:
    with pytest.raises(KeyError) as caught:
        _look_up_after_trying(Unavailable())
    error = RuntimeError("the agent gave up")
    error.__cause__ = caught.value

    assert not is_unavailable(error)


def test_every_explicit_cause_is_followed() -> None:
    error = RuntimeError("gave up")
    error.__cause__ = RuntimeError("retry")
    error.__cause__.__cause__ = Unavailable()

    assert is_unavailable(error)


def test_a_chain_that_is_a_ring_ends() -> None:
    one, other = RuntimeError(), RuntimeError()
    one.__cause__, other.__cause__ = other, one

    assert not is_unavailable(one)


class Overloaded(Exception):  # noqa: N818 - a user's own name
    pass


class StillOverloaded(Overloaded):
    pass


def test_more_exceptions_are_named_by_their_qualified_name() -> None:
    name = f"{Overloaded.__module__}.{Overloaded.__qualname__}"

    assert is_unavailable(StillOverloaded(), frozenset({name}))
    assert is_unavailable(ExceptionGroup("g", [Overloaded()]), frozenset({name}))
    assert not is_unavailable(StillOverloaded())


def test_an_exception_of_python_is_unavailability_where_it_is_named() -> None:
    assert is_unavailable(ConnectionResetError(), frozenset({"ConnectionError"}))


def test_the_public_name_is_the_same_exception() -> None:
    assert pytest_sopbench.Unavailable is Unavailable


class BrokenResponseError(Exception):
    @property
    def response(self) -> Any:
        raise OSError


def test_a_response_that_explodes_decides_nothing() -> None:
    BrokenResponseError.__module__, BrokenResponseError.__qualname__ = "openai", "APIError"

    assert not is_unavailable(BrokenResponseError())


class HostileMeta(type):
    def __getattribute__(cls, name: str) -> Any:
        raise OSError(name)


class HostileError(Exception, metaclass=HostileMeta):
    def __getattribute__(self, name: str) -> Any:
        raise OSError(name)


def test_an_exception_that_cannot_be_looked_at_decides_nothing() -> None:
    assert not is_unavailable(HostileError())


def test_what_it_was_raised_from_is_seen_all_the_same() -> None:
    error = HostileError()
    BaseException.__setattr__(error, "__cause__", Unavailable())

    assert is_unavailable(error)
