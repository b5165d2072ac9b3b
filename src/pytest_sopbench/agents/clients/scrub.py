"""Take keys out of what an SDK raises: servers like to quote them."""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Generator
from contextlib import contextmanager
from typing import Final, TypeAlias

Mask: TypeAlias = Callable[[str], str]
"""Returns a text without what is secret in it."""

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
        one.args = tuple(
            masked(part, secrets) if isinstance(part, str) else part for part in one.args
        )
        if isinstance(getattr(one, "message", None), str):
            # The SDKs keep their text a second time.
            one.message = masked(one.message, secrets)  # type: ignore[attr-defined]
        pending += [one.__cause__, one.__context__]


def masked(text: str, secrets: Collection[str]) -> str:
    """Return a text in which nothing stands that shows who a client is."""
    for secret in filter(None, secrets):
        text = text.replace(secret, MASK)
    for sent in _SENT:
        text = sent.sub(MASK, text)
    return text
