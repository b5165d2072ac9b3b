"""Take keys out of what an SDK raises: servers like to quote them."""

from __future__ import annotations

import re
from collections.abc import Collection, Generator
from contextlib import contextmanager
from typing import Final

MASK: Final = "***"
_SENT: Final = (
    re.compile(r"(?<=://)[^/\s@\"']+(?=@)"),
    re.compile(r"\bBearer\s+[^\s\"',]+"),
    re.compile(r"\bAWS4-HMAC-SHA256\b.*?Signature=[0-9a-f]+", re.DOTALL),
)
"""What a client sends to show who it is: in URLs, and in headers."""


@contextmanager
def scrubbed(secrets: Collection[str]) -> Generator[None, None, None]:
    """Let errors pass with every secret, password in a URL and header of authorization masked."""
    try:
        yield
    except Exception as error:
        _scrub(error, [secret for secret in secrets if secret])
        raise


def _scrub(error: BaseException, secrets: Collection[str]) -> None:
    seen: set[int] = set()
    pending: list[BaseException | None] = [error]
    while pending:
        one = pending.pop()
        if one is None or id(one) in seen:
            continue
        seen.add(id(one))
        one.args = tuple(_masked(part, secrets) for part in one.args)
        if isinstance(getattr(one, "message", None), str):
            # The SDKs keep their text a second time.
            one.message = _masked(one.message, secrets)  # type: ignore[attr-defined]
        pending += [one.__cause__, one.__context__]


def _masked(part: object, secrets: Collection[str]) -> object:
    if not isinstance(part, str):
        return part
    for secret in secrets:
        part = part.replace(secret, MASK)
    for sent in _SENT:
        part = sent.sub(MASK, part)
    return part
