"""The variables by which clients in another process find a provider, and where they lead.

`OPENAI_BASE_URL`, `ANTHROPIC_BASE_URL` and `AWS_ENDPOINT_URL_BEDROCK_RUNTIME` are read by the
providers' own clients, in every language. A child gets them with an address of the proxy, whose
path says which run and which provider is meant.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final


@dataclass(frozen=True, slots=True, kw_only=True)
class Provider:
    """`variables`: the first one is always set, the others where the environment has them."""

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
