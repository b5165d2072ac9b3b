"""The client of OpenAI's SDK, for both of its APIs and for every compatible server."""

from __future__ import annotations

import json
import os
from abc import ABC, abstractmethod
from collections.abc import Callable, Collection, Generator, Mapping
from contextlib import contextmanager
from functools import partial
from importlib import import_module
from operator import attrgetter
from typing import Any, Final

from pytest_sopbench.agents.clients.broken import (
    FailedResponseError,
    FindFault,
    error_of,
    error_words,
    filtered_by,
    masked,
    scrubbed,
    what_is_broken,
)
from pytest_sopbench.agents.clients.shared import environment, load_sdk, shared, shared_on_loop
from pytest_sopbench.agents.conversation import (
    Message,
    ModelRequest,
    Reply,
    StopReason,
    as_object,
)
from pytest_sopbench.agents.settings import Connection
from pytest_sopbench.errors import AgentSpecError, Unavailable

NO_KEY: Final = "no-key"
"""What a server of one's own is sent if no key is set; most ask for none."""

_MOST_CONNECTIONS: Final = 1000


class FilteredError(Exception):
    """A filter of the provider has refused the request; its text are the categories."""


class OpenAISdk(ABC):
    """A client over the SDK; its async half belongs to the loop on which it is asked.

    Args:
        connection: how the server is reached.
        api: where the SDK has the method that asks, such as `chat.completions`.
        find_fault: says what a document lacks that a reply of this API must have.
        read: returns what a document says in reply to a request.

    Raises:
        AgentSpecError: the SDK cannot make its client.
    """

    takes = frozenset(
        {
            "temperature",
            "top_p",
            "max_tokens",
            "reasoning_effort",
            "parallel_tool_calls",
            "extra_body",
            "extra_headers",
            "base_url",
            "api_key",
        }
    )
    """The settings that this provider knows."""

    def __init__(
        self,
        connection: Connection,
        api: str,
        find_fault: FindFault,
        read: Callable[[Mapping[str, Any], ModelRequest], Reply],
    ) -> None:
        self._connection = connection
        self._create = attrgetter(f"{api}.with_raw_response.create")
        self._find_fault = find_fault
        self._read = read
        self._sdk = load_sdk("openai")
        self._key = ("openai", api, connection, environment("OPENAI_"))
        try:
            # Made here, so that a missing key is said before the first run.
            _ = self.client
        except self._sdk.OpenAIError as error:
            msg = f"openai: {error}"
            hint = "set OPENAI_API_KEY, or give --sop-agent-arg api_key=env:NAME"
            raise AgentSpecError(msg, hint=hint) from None

    def complete(self, request: ModelRequest) -> Reply:
        """Send a request and return the reply.

        Raises:
            FailedResponseError: the reply says that the request is at fault.
            Unavailable: the reply is broken, also when it was asked for again.
        """
        try:
            with self._errors():
                raw = self._create(self.client)(**_sendable(self._body(request)))
                data = _document(raw)
            return self._read(data, request)
        except FilteredError as filtered:
            return _withheld_by(filtered)

    async def acomplete(self, request: ModelRequest) -> Reply:
        """As `complete`, on an event loop."""
        try:
            with self._errors():
                client = shared_on_loop(self._key, partial(self._make, "AsyncOpenAI"))
                data = _document(await self._create(client)(**_sendable(self._body(request))))
            return self._read(data, request)
        except FilteredError as filtered:
            return _withheld_by(filtered)

    @abstractmethod
    def _body(self, request: ModelRequest) -> dict[str, Any]:
        """Return what is sent by this API."""

    @contextmanager
    def _errors(self) -> Generator[None, None, None]:
        """Say of what the SDK raises what it means, without secrets."""
        with scrubbed(self.secrets):
            try:
                yield
            except self._sdk.APIConnectionError as error:
                if hasattr(error.__cause__, _BROKEN):
                    # What the SDK did meanwhile tells nothing more.
                    raise Unavailable(str(error.__cause__)) from None
                raise
            except self._sdk.APIStatusError as error:
                categories = filtered_by(as_object(error.body) or {})
                if categories is None:
                    raise
                raise FilteredError(categories) from error

    @property
    def client(self) -> Any:
        return shared(self._key, partial(self._make, "OpenAI"))

    @property
    def secrets(self) -> Collection[str]:
        """What must not stand in an error."""
        return (str(self.client.api_key), *(value for _, value in self._connection.extra_headers))

    @property
    def is_own_server(self) -> bool:
        """Whether another server than OpenAI's is asked."""
        return bool(self._connection.base_url or os.environ.get("OPENAI_BASE_URL"))

    def _make(self, kind: str) -> Any:
        asked = self._connection
        key = asked.api_key or os.environ.get("OPENAI_API_KEY")
        if not key and self.is_own_server:
            key = NO_KEY
        transport = getattr(self._sdk, _TRANSPORTS[kind])
        # The SDK has its own kind of HTTP client, which differs from version to version.
        http = import_module(transport.__mro__[1].__module__.partition(".")[0])
        most = max(_MOST_CONNECTIONS, asked.connections)
        limits = http.Limits(max_connections=most, max_keepalive_connections=asked.connections)
        secrets = (str(key or ""), *(value for _, value in asked.extra_headers))

        def refuse_broken(response: Any) -> None:
            told = what_is_broken(
                response.status_code,
                response.headers.get("content-type", ""),
                response.content,
                self._find_fault,
                partial(masked, secrets=secrets),
            )
            if told:
                # As if the connection had broken off, which the SDK answers by asking again.
                fault = http.RemoteProtocolError(told, request=response.request)
                setattr(fault, _BROKEN, True)
                raise fault

        def look(response: Any) -> None:
            if response.is_success:
                response.read()
                refuse_broken(response)

        async def alook(response: Any) -> None:
            if response.is_success:
                await response.aread()
                refuse_broken(response)

        hook = look if kind == "OpenAI" else alook
        return getattr(self._sdk, kind)(
            api_key=key,
            base_url=asked.base_url,
            timeout=asked.timeout,
            max_retries=asked.max_retries,
            default_headers=dict(asked.extra_headers) or None,
            http_client=transport(limits=limits, event_hooks={"response": [hook]}),
        )


_TRANSPORTS: Final = {"OpenAI": "DefaultHttpxClient", "AsyncOpenAI": "DefaultAsyncHttpxClient"}
_BROKEN: Final = "sopbench_broken"


def _sendable(body: Mapping[str, Any]) -> Mapping[str, Any]:
    """Return a body that can be written as UTF-8: a model may write half of a character."""
    told = json.dumps(body, ensure_ascii=False)
    try:
        told.encode()
    except UnicodeEncodeError:
        whole: dict[str, Any] = json.loads(told.encode(errors="replace"))
        return whole
    return body


def _document(raw: Any) -> dict[str, Any]:
    data: dict[str, Any] = json.loads(raw.http_response.content)
    error = error_of(data)
    if error is None:
        return data
    categories = filtered_by(error)
    if categories is not None:
        raise FilteredError(categories)
    # Any other error was taken for a broken reply.
    raise FailedResponseError(error_words(data))


def _withheld_by(filtered: FilteredError) -> Reply:
    """Return the reply to a request that a filter has refused: the model was not asked."""
    categories = f" ({filtered})" if str(filtered) else ""
    return Reply(
        message=Message(role="assistant"),
        stop=StopReason.CONTENT_FILTER,
        refusal=f"the provider refused the request{categories}",
    )


def count(usage: Mapping[str, Any] | None, name: str, part: str = "") -> int | None:
    """Return a count of the usage, or of the details that stand under `part`."""
    held: Any = usage or {}
    held = held.get(part) or {} if part else held
    value = held.get(name)
    return value if isinstance(value, int) else None
