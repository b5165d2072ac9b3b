"""Model clients: one for each way in which providers are spoken to."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from difflib import get_close_matches
from typing import Final
from urllib.parse import urlsplit

from pytest_sopbench.agents.clients.bedrock import Bedrock
from pytest_sopbench.agents.clients.openai_chat import OpenAIChat
from pytest_sopbench.agents.clients.openai_responses import OpenAIResponses
from pytest_sopbench.agents.conversation import ModelClient, ModelRequest, Reply
from pytest_sopbench.agents.settings import Connection
from pytest_sopbench.errors import AgentSpecError

PROVIDERS: Final[Mapping[str, type[OpenAIChat | OpenAIResponses | Bedrock]]] = {
    "openai": OpenAIChat,
    "openai-responses": OpenAIResponses,
    "bedrock": Bedrock,
}


def make_client(
    model: str, parameters: Mapping[str, object], connection: Connection
) -> ModelClient:
    """Return the client that `PROVIDER/MODEL` names.

    Raises:
        AgentSpecError: there is no such provider, it does not take one of the parameters, its
            library is not installed, or it finds no key.
    """
    provider, slash, name = model.partition("/")
    known = ", ".join(f"{one}/MODEL" for one in PROVIDERS)
    if not slash or not name:
        msg = f"model {model!r}: the provider or the model is missing"
        raise AgentSpecError(msg, hint=f"a model is {known}")
    if provider not in PROVIDERS:
        near = get_close_matches(provider, PROVIDERS, n=1)
        told = f"did you mean {near[0]}? " if near else ""
        msg = f"model {model!r}: there is no provider {provider!r}"
        raise AgentSpecError(msg, hint=f"{told}a model is {known}")
    kind = PROVIDERS[provider]
    given: dict[str, object] = {"base_url": connection.base_url, "api_key": connection.api_key}
    given |= {"region": connection.region, "extra_headers": connection.extra_headers or None}
    unknown = [name for name, one in {**given, **parameters}.items() if one is not None]
    unknown = [name for name in unknown if name not in kind.takes]
    if unknown:
        msg = f"agent argument {unknown[0]!r}: {provider} does not take it"
        raise AgentSpecError(msg, hint=f"it takes {', '.join(sorted(kind.takes))}")
    return kind(name, parameters, connection)


# Which model was asked, and where: each reply says so.

_ADDRESSES: Final[Mapping[str, tuple[str, ...]]] = {
    "openai": ("OPENAI_BASE_URL",),
    "openai-responses": ("OPENAI_BASE_URL",),
    "bedrock": ("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", "AWS_ENDPOINT_URL"),
}
"""Variables that lead the client of a provider to another server."""


@dataclass(frozen=True, slots=True)
class Named:
    """Tells with the usage of each reply what a price depends on."""

    client: ModelClient
    model: str
    server: str

    def complete(self, request: ModelRequest) -> Reply:
        return self._named(self.client.complete(request))

    async def acomplete(self, request: ModelRequest) -> Reply:
        return self._named(await self.client.acomplete(request))

    def _named(self, reply: Reply) -> Reply:
        return replace(reply, usage=replace(reply.usage, model=self.model, server=self.server))


def shown_address(address: str) -> str:
    """Return an address without the passwords that it may hold."""
    parts = urlsplit(address)
    place = parts.netloc.rpartition("@")[2]
    return f"{parts.scheme}://{place}{parts.path}" if place else ""


def server_of(model: str, connection: Connection) -> str:
    """Return the address of another server than the provider's own; empty if none is asked."""
    held = (os.environ.get(name, "") for name in _ADDRESSES[model.partition("/")[0]])
    return connection.base_url or next(filter(None, held), "")
