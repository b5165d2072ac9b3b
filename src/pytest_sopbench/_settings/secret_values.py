"""Secrets that nobody has to name: what `env:` settings hold, and passwords in addresses."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping
from typing import Final
from urllib.parse import unquote

ENV: Final = "env:"
"""Begins what names a variable of the environment."""

_USER: Final = re.compile(r"://([^/?#\s\"'<>]+)@")
"""What stands before the host of an address: a user with a password, or a token alone."""

_TOKEN: Final = 16
"""Characters from which on a user without a password is taken for a token."""

_ADDRESS: Final = re.compile(
    r".*(?:_PROXY|_BASE_URL|_API_BASE|_ENDPOINT)|AWS_ENDPOINT_URL\w*", re.IGNORECASE
)
"""Variables that lead clients to a proxy or to another server."""


def held_by_variables(
    settings: Iterable[str], environment: Mapping[str, str]
) -> Iterator[tuple[str, str]]:
    """Yield the key and the secret of each `KEY=env:NAME` whose variable holds anything."""
    for one in settings:
        name, _, value = one.partition("=")
        held = environment.get(value.removeprefix(ENV), "") if value.startswith(ENV) else ""
        if held.strip():
            yield name, held


def passwords_of(settings: Iterable[str], environment: Mapping[str, str]) -> Iterator[str]:
    """Yield the passwords in the addresses of settings, and of variables that clients follow.

    Clients quote the address that they cannot reach, and servers the header that they were sent.
    """
    given = [*settings]
    texts = [*given, *(held for _, held in held_by_variables(given, environment))]
    # A thread may change the environment meanwhile.
    texts += [environment.get(name, "") for name in [*environment] if _ADDRESS.fullmatch(name)]
    for text in texts:
        for found in _USER.findall(text):
            user, sign, password = found.partition(":")
            if sign or len(user) >= _TOKEN:
                secret = password if sign else user
                yield from dict.fromkeys((secret, unquote(secret)))
