"""What counts of a request: method, path, query and body, and neither host nor headers.

Two requests of one shape are the same to a model. Hosts differ between a proxy and a provider, and
headers hold keys, dates and ids that a client makes up.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from hashlib import sha256
from typing import Final
from urllib.parse import parse_qsl, urlsplit

from pytest_sopbench._core.hiding.known_forms import masked_forms
from pytest_sopbench._core.model.keys import MASK
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._core.values.patterns import Pattern

from .exchange import Request
from .ids import numbered_ids
from .paths import JsonPath, show_path, without
from .sent import is_secret

IGNORED: Final = "ignored"
MASKED: Final = "masked"
CHANGING: Final = "<changing>"
"""What stands for what `sop_replay_mask` matches; it is no secret, and no mark of one."""

_EXACT: Final = 2**53
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
    """How shapes are made: what is ignored, and what is masked where it may hold secrets.

    What `changing` matches changes with every run, such as a date in a prompt, and does not count.
    """

    ignored: tuple[JsonPath, ...] = ()
    changing: tuple[Pattern, ...] = ()
    mask: Callable[[JsonValue], JsonValue] | None = None

    def shape(self, request: Request) -> Shape:
        """Return what counts of a request."""
        where = urlsplit(request.url)
        kind, body = read_body(request.body)
        body = self.settled(numbered_ids(body) if kind == "json" else body, kind)
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
            # An address with a token in it is that of every other token.
            path=masked_forms(str(self._counted(where.path or "/")), MASK),
            query=tuple((str(self._masked(name)), str(self._counted(one))) for name, one in query),
            kind=kind,
            body=self._masked(body),
        )

    @property
    def keyed_by(self) -> dict[str, list[str]]:
        """What the keys of requests depend on beside the requests, as it stands in a recording."""
        ignored = [show_path(path) for path in self.ignored]
        masked = [pattern.source for pattern in self.changing]
        return {**({IGNORED: ignored} if ignored else {}), **({MASKED: masked} if masked else {})}

    def settled(self, body: JsonValue, kind: str) -> JsonValue:
        """Return a body without what is ignored, and what changes with every run masked in it."""
        for path in self.ignored if kind == "json" else ():
            body = without(body, path)
        return body if kind == "base64" else self.settled_texts(body)

    def settled_texts(self, value: JsonValue) -> JsonValue:
        """Return a value in whose texts what changes with every run is masked."""
        if not self.changing:
            return value
        if isinstance(value, str):
            for pattern in self.changing:
                value = pattern.sub(CHANGING, value)
            return value
        if isinstance(value, Mapping):
            return {key: self.settled_texts(one) for key, one in value.items()}
        if isinstance(value, Sequence):
            return [self.settled_texts(one) for one in value]
        return value

    def settled_shape(self, shape: Shape) -> Shape:
        """Return a shape that was made otherwise, as far as it counts today."""
        return replace(
            shape,
            path=str(self.settled_texts(shape.path)),
            query=tuple((name, str(self.settled_texts(value))) for name, value in shape.query),
            body=self.settled(shape.body, shape.kind),
        )

    def _counted(self, value: str) -> JsonValue:
        return self._masked(self.settled_texts(value))

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
