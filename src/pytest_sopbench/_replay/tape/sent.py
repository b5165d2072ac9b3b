"""Credentials that a request sends: what its headers, its query and its address hold as such.

A server may echo them, whole or in part, in what it says of an error. Nobody has to name what can
be seen going out.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import parse_qsl, unquote, urlsplit

from pytest_sopbench._core.hiding.secrets import secrets_of
from pytest_sopbench._core.records.redaction import Redaction

from .exchange import Request

_SHORTEST: Final = 8
_LONG: Final = 20
"""Characters from which on a value needs no digit to be taken for a credential."""

_PART: Final = 4
"""Characters of a credential, beside a cut, from which on they are taken for a part of it."""

_MOST: Final = 64
_CUT: Final = re.compile(r"\*{2,}|\.{2,}|(?:\u2026|\\+u2026)+|(?:\u2022|\\+u2022){2,}")
"""What stands for what is left out; JSON may write it as an escape."""

_SCHEME: Final = re.compile(r"\s*[A-Za-z][A-Za-z0-9_-]*\s+(?=\S)")
_SIGNED: Final = re.compile(r"(?:Credential=|Signature=)([^/,\s]+)")

_SECRET: Final = re.compile(
    r"key|token|code|pwd|pass|sig|jwt|appid"
    r"|.*(?:(?:api|subscription|access|secret|account|private|functions?|auth|master|license)key"
    r"|accesskeyid|(?:access|auth|api|session|refresh|security|bot|id|user|csrf)token"
    r"|secret|password|passwd|signature|authorization|auth|credentials?|cookies?)"
)
"""Names of parameters, without what parts their words, in which credentials are sent."""

_OF_HEADERS: Final = re.compile(r"key|token|secret|auth|passw|cookie|credential|signature|jwt")
_NO_SECRETS: Final = frozenset(("idempotencykey", "xidempotencykey", "secwebsocketkey"))


def is_secret(name: str) -> bool:
    """Tell whether a parameter is one in which credentials are sent."""
    folded = name.lower()
    return folded.startswith("x-amz-") or _SECRET.fullmatch(_plain(folded)) is not None


def credentials_sent(request: Request) -> frozenset[str]:
    """Return what a request sends as credentials, without what anybody might say by chance."""
    return frozenset(one for one in _sent(request) if _is_credential(one))


def _sent(request: Request) -> Iterator[str]:
    where = urlsplit(request.url)
    for name, value in request.headers:
        plain = _plain(name.lower())
        if _OF_HEADERS.search(plain) and plain not in _NO_SECRETS:
            yield from _of_header(plain, value)
    for name, value in parse_qsl(where.query):
        if is_secret(name):
            yield value
    if where.password:
        yield unquote(where.password)


def _of_header(name: str, value: str) -> Iterator[str]:
    if "cookie" in name:
        yield from (one.partition("=")[2].strip() for one in value.split(";"))
        return
    if signed := _SIGNED.findall(value):
        yield from signed
        return
    bare = _SCHEME.sub("", value, count=1).strip()
    yield bare
    if value.strip().lower().startswith("basic"):
        try:
            user, _, password = base64.b64decode(bare).decode().partition(":")
        except (binascii.Error, ValueError):
            return
        yield from (f"{user}:{password}", password)


def _plain(name: str) -> str:
    return re.sub(r"[^a-z0-9]", "", name)


def _is_credential(value: str) -> bool:
    # Keys such as `not-needed` stand for none, and replies may hold their words.
    has_digit = any(sign.isdigit() for sign in value)
    return len(value) >= _LONG or (len(value) >= _SHORTEST and has_digit)


@dataclass(frozen=True, slots=True)
class Parts:
    """Finds what servers leave of credentials: `sk-abc***6789`, and the like."""

    values: tuple[str, ...]

    def sub(self, replacement: str, text: str) -> str:
        """Return the text with the replacement for each cut and what it has left beside it."""
        done, place = "", 0
        for found in _CUT.finditer(text):
            begin, end = self._around(text, found.start(), found.end())
            if (begin, end) != found.span() and begin >= place:
                done, place = f"{done}{text[place:begin]}{replacement}", end
        return f"{done}{text[place:]}"

    def _around(self, text: str, begin: int, end: int) -> tuple[int, int]:
        before, behind = text[max(0, begin - _MOST) : begin], text[end : end + _MOST]
        heads, tails = [0], [0]
        for value in self.values:
            sizes = range(min(_MOST, len(value) - 1), 0, -1)
            head = next((size for size in sizes if before.endswith(value[:size])), 0)
            tail = next((size for size in sizes if behind.startswith(value[-size:])), 0)
            if max(head, tail) >= _PART:
                heads.append(head)
                tails.append(tail)
        return begin - max(heads), end + max(tails)


def redaction_of(sent: frozenset[str]) -> Redaction:
    """Return what takes credentials out of replies, in each form and in parts."""
    values = tuple(sorted(sent))
    return Redaction(patterns=(Parts(values),), secrets=secrets_of(values), forms=False)
