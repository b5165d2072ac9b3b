"""What a recording must not keep."""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import defaultdict
from collections.abc import Callable, Iterator, Mapping, Sequence
from dataclasses import replace
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import unquote_plus

from pytest_sopbench._core.hiding import FORMS, Form, compiled, is_hinted, is_random
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._replay.cassette_lines import kept_headers
from pytest_sopbench._replay.exchange import Recording, Response, is_secret, redaction_of
from pytest_sopbench.errors import CassetteError

# Known forms of credentials: a recording in which one is left is not written.
#
# What `sop_redact` and variables name is masked before. This is the last look, for what nobody
# named. A form names itself by its beginning, by the name of the key it stands under, or by its
# place in a URL. What looks like any other text cannot be found, and must be named.

_VALUE: Final = Form(
    "value of a key or password",
    ("key", "secret", "passw", "token", "cookie"),
    r"(?i:api[_-]?key|secret(?:[_-]?access)?(?:[_-]?key)?|password|passwd|"
    r"(?:access|auth|session|refresh)[_-]?token|cookie)[\"']?\s*[:=]\s*[\"']?"
    r"(?=[^\s\"',;]*\d)(?=[^\s\"',;]*[A-Za-z])[^\s\"',;*<>{}()]{12,}",
    bool,
)
"""What stands beside a name, and is a credential or might as well be none."""

_SECRET_KEYS: Final = frozenset(
    (
        "accesstoken",
        "apikey",
        "authorization",
        "awssecretaccesskey",
        "awssessiontoken",
        "clientsecret",
        "cookie",
        "passwd",
        "password",
        "privatekey",
        "refreshtoken",
        "secret",
        "secretaccesskey",
        "sessiontoken",
        "setcookie",
        "xapikey",
    )
)
_MASKED: Final = "***"
_SHORTEST: Final = 8
_LONG: Final = 2_000


class Found(NamedTuple):
    """A credential, by its place and its form; what it is stays unsaid."""

    where: str
    form: str


def credentials_in(value: JsonValue, where: str) -> Iterator[Found]:
    """Yield the known forms of credentials in a value, at every depth."""
    if isinstance(value, str):
        yield from _in_text(value, where)
    elif isinstance(value, Mapping):
        for key, one in value.items():
            place = f"{where}.{key}"
            if _is_secret(key, one):
                yield Found(place, "value of a key or password")
            yield from _in_text(key, where)
            yield from credentials_in(one, place)
    elif isinstance(value, Sequence):
        for number, one in enumerate(value):
            yield from credentials_in(one, f"{where}[{number}]")


def credentials_in_body(body: bytes, where: str) -> Iterator[Found]:
    """Yield the known forms in a response, also if a stream has cut them into pieces."""
    text = body.decode("utf-8", "replace")
    yield from _in_text(text, where)
    try:
        # By the names in it as well, which say what a value is.
        yield from credentials_in(json.loads(text), where)
    except (ValueError, RecursionError):
        for place, joined in joined_pieces(text).items():
            yield from _in_text(joined, f"{where}{place}")
            if _is_secret(place.rpartition(".")[2], joined):
                yield Found(f"{where}{place}", _VALUE.name)


def joined_pieces(text: str) -> Mapping[str, str]:
    """Return by their place the texts that the events of a stream put together piece by piece."""
    pieces: dict[str, list[str]] = defaultdict(list)
    for line in text.splitlines():
        data = line.removeprefix("data:").strip()
        if data.startswith("{"):
            try:
                _collect(json.loads(data), "", pieces)
            except (ValueError, RecursionError):
                continue
    return {place: "".join(strings) for place, strings in pieces.items()}


def _collect(value: JsonValue, place: str, pieces: dict[str, list[str]]) -> None:
    if isinstance(value, str):
        pieces[place].append(value)
    elif isinstance(value, Mapping):
        for key, one in value.items():
            _collect(one, f"{place}.{key}", pieces)
    elif isinstance(value, Sequence):
        for one in value:
            # Whichever place it has: deltas of one text may come under several numbers.
            _collect(one, f"{place}[]", pieces)


def _is_secret(key: str, value: JsonValue) -> bool:
    if not isinstance(value, str) or len(value) < _SHORTEST or value == _MASKED or " " in value:
        return False
    # Under a name that says less, such as `token` of a list of words, the value must say it.
    return re.sub(r"[^a-z]", "", key.lower()) in _SECRET_KEYS or (
        is_secret(key) and is_random(value)
    )


def _in_text(text: str, where: str) -> Iterator[Found]:
    if len(text) < _SHORTEST:
        return
    forms = _forms_of_long(text) if len(text) >= _LONG else _forms_in(text)
    yield from (Found(where, form) for form in forms)


def _forms_in(text: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for one in dict.fromkeys(_readings(text)):
        folded = one.lower()
        for form in (*FORMS, _VALUE):
            if is_hinted(form, folded) and compiled(form).search(one):
                found[form.name] = None
    return tuple(found)


_forms_of_long = lru_cache(maxsize=64)(_forms_in)
"""The SOP stands in every request of every task; to look through it once is enough."""


def _readings(text: str) -> Iterator[str]:
    """Yield a text, and what is meant by it if it is written inside another one."""
    yield text
    if "\\" in text:
        # JSON in JSON: an escape before a token would be a part of the word.
        yield re.sub(r"\\+(?:[nrt\"'/]|u00[0-7][0-9a-fA-F])", " ", text)
    if "%" in text or "+" in text:
        yield unquote_plus(text)
    for run in re.findall(r"(?<![A-Za-z0-9+/=_-])[A-Za-z0-9+/_-]{24,}={0,2}", text):
        decoded = _from_base64(run)
        if decoded:
            yield decoded


def _from_base64(text: str) -> str:
    try:
        padded = text.rstrip("=").translate(str.maketrans("-_", "+/"))
        data = base64.b64decode(padded + "=" * (-len(padded) % 4))
        return data.decode("ascii")
    except (binascii.Error, ValueError):
        return ""


# Replies without what must not be written.

Mask = Callable[[JsonValue], JsonValue]


def masked_reply(response: Response, mask: Mask) -> Response:
    """Return a response that is masked chunk by chunk.

    Raises:
        CassetteError: a secret stands where it cannot be masked: across chunks, or in bytes.
    """
    headers = tuple((name, str(mask(value))) for name, value in response.headers)
    if len(response.chunks) == 1 and (value := _json(response.body)) is not None:
        masked = mask(value)
        chunks: tuple[bytes, ...] = response.chunks
        if masked != value:
            chunks = (json.dumps(masked, ensure_ascii=False).encode(),)
    else:
        chunks = tuple(_masked(one, mask) for one in response.chunks)
    text = b"".join(chunks).decode("utf-8", "replace")
    # A stream has a text in pieces, and each of them in an event of its own.
    if any(mask(one) != one for one in (text, *joined_pieces(text).values())):
        msg = "not recorded: what is masked stands across the pieces of a stream"
        raise CassetteError(msg, hint="have the agent not stream, or mask it before it is sent")
    return replace(response, headers=headers, chunks=chunks)


def _masked(chunk: bytes, mask: Mask) -> bytes:
    try:
        return str(mask(chunk.decode())).encode()
    except UnicodeDecodeError:
        return chunk


def _json(body: bytes) -> JsonValue:
    try:
        value: JsonValue = json.loads(body)
    except (ValueError, RecursionError):
        return None
    return value


# Whole recordings.


def masked_recording(recording: Recording, mask: Mask | None) -> Recording:
    """Return a recording whose replies are masked, as its requests are already."""
    if mask is None:
        return recording
    exchanges = tuple(
        replace(one, response=masked_reply(one.response, mask)) for one in recording.exchanges
    )
    return replace(recording, exchanges=exchanges)


def echoes(recording: Recording, sent: frozenset[str]) -> Iterator[Found]:
    """Yield the requests that say to the model what they send as a credential.

    There it cannot be masked: a request counts as it was sent.
    """
    redaction = redaction_of(sent)
    for number, one in enumerate(recording.exchanges if sent else (), start=1):
        said: dict[str, JsonValue] = {"path": one.shape.path, "query": dict(one.shape.query)}
        for part, value in {**said, "body": one.shape.body}.items():
            if redaction.value(value) != value:
                yield Found(f"request {number}: {part}", "key that a header or a query sends")


def credentials_of(recording: Recording) -> Iterator[Found]:
    """Yield the known forms of credentials in what would be written."""
    for number, one in enumerate(recording.exchanges, start=1):
        request = f"request {number}"
        shape = one.shape
        yield from credentials_in(shape.path, f"{request}: path")
        yield from credentials_in(dict(shape.query), f"{request}: query")
        yield from credentials_in(shape.body, f"{request}: body")
        headers = dict(kept_headers(one.response.headers))
        yield from credentials_in(headers, f"reply {number}: headers")
        yield from credentials_in_body(one.response.body, f"reply {number}: body")
