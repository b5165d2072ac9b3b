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
from functools import lru_cache
from typing import Final, NamedTuple
from urllib.parse import unquote_plus

from pytest_sopbench._core.values.json import JsonValue


class _Form(NamedTuple):
    """A form of credentials; one of `hints` stands, in lower case, in each text with one."""

    name: str
    hints: tuple[str, ...]
    pattern: re.Pattern[str]


def _form(name: str, pattern: str, *hints: str) -> _Form:
    return _Form(name, hints, re.compile(pattern))


_ALONE: Final = "(?<![A-Za-z0-9_-])"
"""A token begins a word; in the middle of another one the same signs mean nothing."""

_FORMS: Final = (
    _form("key of OpenAI or alike", rf"{_ALONE}sk-(?!ant-)[A-Za-z0-9_-]{{16,}}", "sk-"),
    _form("key of Anthropic", rf"{_ALONE}sk-ant-[A-Za-z0-9_-]{{10,}}", "sk-ant-"),
    _form(
        "access key of AWS",
        rf"{_ALONE}(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{{16}}",
        *("akia", "asia", "abia", "acca"),
    ),
    _form("bearer key of Bedrock", rf"{_ALONE}ABSK[A-Za-z0-9+/=]{{20,}}", "absk"),
    _form("key of Google", rf"{_ALONE}AIza[A-Za-z0-9_-]{{30,}}", "aiza"),
    _form("token of Google", rf"{_ALONE}ya29\.[A-Za-z0-9_-]{{16,}}", "ya29."),
    _form("token of GitHub", rf"{_ALONE}gh[pousr]_[A-Za-z0-9]{{20,}}", "gh"),
    _form("token of GitHub", rf"{_ALONE}github_pat_[A-Za-z0-9_]{{20,}}", "github_pat_"),
    _form("token of GitLab", rf"{_ALONE}glpat-[A-Za-z0-9_-]{{16,}}", "glpat-"),
    _form("token of Slack", rf"{_ALONE}xox[abeprs]-[A-Za-z0-9-]{{10,}}", "xox"),
    _form("webhook of Slack", r"hooks\.slack\.com/services/[A-Za-z0-9/]{16,}", "hooks.slack"),
    _form(
        "key of Stripe",
        rf"{_ALONE}(?:sk|rk|whsec)_(?:live_|test_)?[A-Za-z0-9]{{16,}}",
        *("sk_", "rk_", "whsec_"),
    ),
    _form("token of Hugging Face", rf"{_ALONE}hf_[A-Za-z0-9]{{20,}}", "hf_"),
    _form("key of Groq", rf"{_ALONE}gsk_[A-Za-z0-9]{{20,}}", "gsk_"),
    _form("key of xAI", rf"{_ALONE}xai-[A-Za-z0-9]{{20,}}", "xai-"),
    _form("key of Replicate", rf"{_ALONE}r8_[A-Za-z0-9]{{20,}}", "r8_"),
    _form("token of npm", rf"{_ALONE}npm_[A-Za-z0-9]{{20,}}", "npm_"),
    _form("token of PyPI", rf"{_ALONE}pypi-[A-Za-z0-9_-]{{16,}}", "pypi-"),
    _form("key of SendGrid", rf"{_ALONE}SG\.[\w-]{{16,}}\.[\w-]{{16,}}", "sg."),
    _form("key of Twilio", rf"{_ALONE}SK[0-9a-f]{{32}}", "sk"),
    _form("token of DigitalOcean", rf"{_ALONE}dop_v1_[0-9a-f]{{32,}}", "dop_v1_"),
    _form("token of Databricks", rf"{_ALONE}dapi[0-9a-f]{{32}}", "dapi"),
    _form(
        "JSON web token",
        rf"{_ALONE}eyJ[A-Za-z0-9_-]{{8,}}\.eyJ[A-Za-z0-9_-]{{8,}}\.[A-Za-z0-9_-]*",
        "eyj",
    ),
    _form("private key", r"-----BEGIN [A-Z ]*PRIVATE KEY-----", "private key"),
    _form("secret key of age", rf"{_ALONE}AGE-SECRET-KEY-1[A-Z0-9]{{20,}}", "age-secret"),
    _form("key of an Azure account", r"AccountKey=[A-Za-z0-9+/=]{20,}", "accountkey="),
    _form(
        "authorization",
        r"\b(?i:bearer|basic)\s+(?=[^\s\"']*\d)[A-Za-z0-9+/=._~-]{16,}",
        *("bearer", "basic"),
    ),
    _form(
        "password in a URL",
        rf"{_ALONE}[a-z][a-z0-9+.-]*://[^\s/:@\"']+:(?!\*\*\*)[^\s/@\"']{{3,}}@",
        "://",
    ),
    _form(
        "value of a key or password",
        r"(?i:api[_-]?key|secret(?:[_-]?access)?(?:[_-]?key)?|password|passwd|"
        r"(?:access|auth|session|refresh)[_-]?token|cookie)[\"']?\s*[:=]\s*[\"']?"
        r"(?=[^\s\"',;]*\d)(?=[^\s\"',;]*[A-Za-z])[^\s\"',;*<>{}()]{12,}",
        *("key", "secret", "passw", "token", "cookie"),
    ),
)

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
    """Yield the known forms in a response, also where a stream has cut them into pieces."""
    text = body.decode("utf-8", "replace")
    yield from _in_text(text, where)
    for place, joined in joined_pieces(text).items():
        yield from _in_text(joined, f"{where}{place}")


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
    if re.sub(r"[^a-z]", "", key.lower()) not in _SECRET_KEYS or not isinstance(value, str):
        return False
    return len(value) >= _SHORTEST and value != _MASKED and " " not in value


def _in_text(text: str, where: str) -> Iterator[Found]:
    if len(text) < _SHORTEST:
        return
    forms = _forms_of_long(text) if len(text) >= _LONG else _forms_in(text)
    yield from (Found(where, form) for form in forms)


def _forms_in(text: str) -> tuple[str, ...]:
    found: dict[str, None] = {}
    for one in dict.fromkeys(_readings(text)):
        folded = one.lower()
        for form in _FORMS:
            if any(hint in folded for hint in form.hints) and form.pattern.search(one):
                found[form.name] = None
    return tuple(found)


_forms_of_long = lru_cache(maxsize=64)(_forms_in)
"""The SOP stands in every request of every task; to look through it once is enough."""


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
