"""What counts of a request: method, path, query and body, and neither host nor headers.

Two requests of one shape are the same to a model. Hosts differ between a proxy and a provider, and
headers hold keys, dates and ids that a client makes up.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable
from dataclasses import dataclass
from hashlib import sha256
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from pytest_sopbench._core.values.json import JsonValue

from .exchange import Request
from .ids import numbered_ids
from .paths import JsonPath, without

SECRET_PARAMETERS: Final = frozenset(
    ("key", "api_key", "apikey", "api-key", "access_token", "token", "signature", "sig", "code")
)
"""Parameters of a query in which providers take keys; they do not count, and are not kept."""

_EXACT: Final = 2**53
_SIGNED: Final = "x-amz-"
_loads = json.loads
_dumps = json.JSONEncoder(sort_keys=True, separators=(",", ":")).encode


@dataclass(frozen=True, slots=True, kw_only=True)
class Shape:
    """A request, without what does not count.

    `kind` says what `body` is: `json`, `text`, `base64`, or `none` for an empty one.
    """

    method: str
    path: str
    query: tuple[tuple[str, str], ...] = ()
    kind: str = "none"
    body: JsonValue = None

    @property
    def key(self) -> str:
        """Return what equal shapes have in common, and different ones do not."""
        text = _dumps([self.method, self.path, [*map(list, self.query)], self.kind, self.body])
        return sha256(text.encode()).hexdigest()[:20]


@dataclass(frozen=True, slots=True, kw_only=True)
class Shaping:
    """How shapes are made: what is ignored, and what is masked where it may hold secrets."""

    ignored: tuple[JsonPath, ...] = ()
    mask: Callable[[JsonValue], JsonValue] | None = None

    def shape(self, request: Request) -> Shape:
        """Return what counts of a request."""
        where = urlsplit(request.url)
        kind, body = read_body(request.body)
        if kind == "json":
            body = self.settled(numbered_ids(body))
        # Masked before it is parted: a secret that was not encoded may hold what parts it.
        asked = str(self._masked(where.query))
        query = tuple(
            sorted(
                (name, value)
                for name, value in parse_qsl(asked, keep_blank_values=True)
                if not is_secret(name)
            )
        )
        return Shape(
            method=request.method.upper(),
            path=str(self._masked(where.path or "/")),
            query=tuple((str(self._masked(name)), str(self._masked(one))) for name, one in query),
            kind=kind,
            body=self._masked(body),
        )

    def settled(self, body: JsonValue) -> JsonValue:
        """Return a body without what is ignored."""
        for path in self.ignored:
            body = without(body, path)
        return body

    def _masked(self, value: JsonValue) -> JsonValue:
        return value if self.mask is None else self.mask(value)


def read_body(body: bytes) -> tuple[str, JsonValue]:
    """Return what kind of body it is, and its value."""
    if not body:
        return "none", None
    try:
        return "json", _loads(body, parse_float=_number)
    except (ValueError, RecursionError):
        # Also a text that is no UTF-8.
        pass
    try:
        return "text", body.decode()
    except UnicodeDecodeError:
        return "base64", base64.b64encode(body).decode()


def _number(text: str) -> float | int:
    """Return 0 for 0.0: in JSON they are the same number."""
    value = float(text)
    return int(value) if value.is_integer() and abs(value) < _EXACT else value


def is_secret(name: str) -> bool:
    """Tell whether a parameter of a query is one in which providers take keys."""
    folded = name.lower()
    return folded in SECRET_PARAMETERS or folded.startswith(_SIGNED)
