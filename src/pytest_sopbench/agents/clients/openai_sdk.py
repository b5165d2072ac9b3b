"""The client of OpenAI's SDK, for both of its APIs and for every compatible server."""

from __future__ import annotations

import os
from collections.abc import Collection, Mapping
from functools import partial
from importlib import import_module
from typing import Any, Final

from pytest_sopbench.agents.sdk import load_sdk
from pytest_sopbench.agents.settings import Connection
from pytest_sopbench.errors import AgentSpecError

from .shared import environment, shared, shared_on_loop

NO_KEY: Final = "no-key"
"""What a server of one's own is sent where no key is set; most ask for none."""

_MOST_CONNECTIONS: Final = 1000


class OpenAISdk:
    """Makes the SDK's clients; the async one belongs to the loop on which it is asked for."""

    def __init__(self, connection: Connection) -> None:
        self._connection = connection
        self._sdk = load_sdk("openai")
        self._key = ("openai", connection, environment("OPENAI_"))

    @property
    def client(self) -> Any:
        return shared(self._key, partial(self._make, "OpenAI"))

    @property
    def aclient(self) -> Any:
        return shared_on_loop(self._key, partial(self._make, "AsyncOpenAI"))

    @property
    def secrets(self) -> Collection[str]:
        """What must not stand in an error."""
        return (str(self.client.api_key),)

    @property
    def is_own_server(self) -> bool:
        """Whether another server than OpenAI's is asked."""
        return bool(self._connection.base_url or os.environ.get("OPENAI_BASE_URL"))

    def check(self) -> None:
        """Make the client, so that a missing key is said before the first run.

        Raises:
            AgentSpecError: the SDK cannot make it.
        """
        try:
            _ = self.client
        except self._sdk.OpenAIError as error:
            msg = f"openai: {error}"
            hint = "set OPENAI_API_KEY, or give --sop-agent-arg api_key=env:NAME"
            raise AgentSpecError(msg, hint=hint) from None

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
        return getattr(self._sdk, kind)(
            api_key=key,
            base_url=asked.base_url,
            timeout=asked.timeout,
            max_retries=asked.max_retries,
            http_client=transport(limits=limits),
        )


_TRANSPORTS: Final = {"OpenAI": "DefaultHttpxClient", "AsyncOpenAI": "DefaultAsyncHttpxClient"}


def count(usage: Mapping[str, Any] | None, name: str, part: str = "") -> int | None:
    """Return a count of the usage, or of the details that stand under `part`."""
    held: Any = usage or {}
    held = held.get(part) or {} if part else held
    value = held.get(name)
    return value if isinstance(value, int) else None
