"""A model client whose replies say which model was asked, and where."""

from __future__ import annotations

import os
from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Final
from urllib.parse import urlsplit

from pytest_sopbench.agents.conversation import ModelClient, ModelRequest, Reply
from pytest_sopbench.agents.settings import Connection

ADDRESSES: Final[Mapping[str, tuple[str, ...]]] = {
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
    """Return the address of another server than the provider's own; empty where none is asked."""
    held = (os.environ.get(name, "") for name in ADDRESSES[model.partition("/")[0]])
    return connection.base_url or next(filter(None, held), "")
