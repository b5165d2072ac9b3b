"""Known forms of credentials: a recording in which one is left is not written.

What `sop_redact` and variables name is masked before. This is the last look, for what nobody named.
A form names itself by its beginning, by the name of the key it stands under, or by its place in a
URL. What looks like any other text cannot be found, and must be named.
"""

from __future__ import annotations

import base64
import binascii
import json
import re
from collections import defaultdict
from collections.abc import Iterator, Mapping, Sequence
from typing import Final, NamedTuple
from urllib.parse import unquote_plus

from pytest_sopbench._core.values.json import JsonValue

_FORMS: Final[Mapping[str, str]] = {
    "key of OpenAI or alike": r"sk-(?!ant-)[A-Za-z0-9_-]{16,}",
    "key of Anthropic": r"sk-ant-[A-Za-z0-9_-]{10,}",
    "access key of AWS": r"(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}",
    "bearer key of Bedrock": r"ABSK[A-Za-z0-9+/=]{20,}",
    "key of Google": r"AIza[A-Za-z0-9_-]{30,}",
    "token of Google": r"ya29\.[A-Za-z0-9_-]{16,}",
    "token of GitHub": r"(?:gh[pousr]_[A-Za-z0-9]{20,}|github_pat_[A-Za-z0-9_]{20,})",
    "token of GitLab": r"glpat-[A-Za-z0-9_-]{16,}",
    "token of Slack": r"xox[abeprs]-[A-Za-z0-9-]{10,}",
    "webhook of Slack": r"hooks\.slack\.com/services/[A-Za-z0-9/]{16,}",
    "key of Stripe": r"(?:sk|rk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,}",
    "token of Hugging Face": r"hf_[A-Za-z0-9]{20,}",
    "key of Groq": r"gsk_[A-Za-z0-9]{20,}",
    "key of xAI": r"xai-[A-Za-z0-9]{20,}",
    "key of Replicate": r"r8_[A-Za-z0-9]{20,}",
    "token of npm": r"npm_[A-Za-z0-9]{20,}",
    "token of PyPI": r"pypi-[A-Za-z0-9_-]{16,}",
    "key of SendGrid": r"SG\.[A-Za-z0-9_-]{16,}\.[A-Za-z0-9_-]{16,}",
    "key of Twilio": r"SK[0-9a-f]{32}",
    "token of DigitalOcean": r"dop_v1_[0-9a-f]{32,}",
    "token of Databricks": r"dapi[0-9a-f]{32}",
    "JSON web token": r"eyJ[A-Za-z0-9_-]{8,}\.eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9_-]*",
    "private key": r"-----BEGIN [A-Z ]*PRIVATE KEY-----",
    "secret key of age": r"AGE-SECRET-KEY-1[A-Z0-9]{20,}",
    "key of an Azure account": r"AccountKey=[A-Za-z0-9+/=]{20,}",
    "authorization": r"(?i:bearer|basic)\s+(?=[^\s\"']*\d)[A-Za-z0-9+/=._~-]{16,}",
    "password in a URL": r"[a-z][a-z0-9+.-]*://[^\s/:@\"']+:(?!\*\*\*)[^\s/@\"']{3,}@",
    "value of a key or password": (
        r"[A-Za-z0-9_-]*(?i:api[_-]?key|secret(?:[_-]?access)?(?:[_-]?key)?|password|passwd|"
        r"(?:access|auth|session|refresh)[_-]?token|cookie)[\"']?\s*[:=]\s*[\"']?"
        r"(?=[^\s\"',;]*\d)(?=[^\s\"',;]*[A-Za-z])[^\s\"',;*<>{}()]{12,}"
    ),
}
_FORM: Final = re.compile(
    "|".join(f"(?P<f{n}>(?<![A-Za-z0-9_-]){one})" for n, one in enumerate(_FORMS.values()))
)
_NAMES: Final = tuple(_FORMS)

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
    """Yield the known forms in a response, also where a stream has cut them into pieces."""
    text = body.decode("utf-8", "replace")
    yield from _in_text(text, where)
    pieces: dict[str, list[str]] = defaultdict(list)
    for line in text.splitlines():
        data = line.removeprefix("data:").strip()
        if data.startswith("{"):
            try:
                _collect(json.loads(data), "", pieces)
            except (ValueError, RecursionError):
                continue
    for place, strings in pieces.items():
        yield from _in_text("".join(strings), f"{where}{place}")


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
    if re.sub(r"[^a-z]", "", key.lower()) not in _SECRET_KEYS or not isinstance(value, str):
        return False
    return len(value) >= _SHORTEST and value != _MASKED and " " not in value


def _in_text(text: str, where: str) -> Iterator[Found]:
    if len(text) < _SHORTEST:
        return
    for one in dict.fromkeys(_readings(text)):
        for found in _FORM.finditer(one):
            name = _NAMES[int((found.lastgroup or "f0")[1:])]
            yield Found(where, name)


def _readings(text: str) -> Iterator[str]:
    """Yield a text, and what is meant by it where it is written inside another one."""
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
