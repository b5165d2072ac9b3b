"""Credentials that name themselves: by how they begin, or by the word that stands before them.

What is named in `sop_redact` is masked wherever it stands. This is for what nobody has named. Where
a recording is written, whatever looks like a credential stops it: there is no harm in that. Where
texts are shown and saved, only what is surely one is masked, since ids and numbers of orders may
begin as keys do.
"""

from __future__ import annotations

import base64
import binascii
import re
from collections.abc import Callable
from functools import cache, lru_cache, partial
from typing import Final, NamedTuple

SHORTEST: Final = 12
"""Characters that a text with a credential has at least."""

_ALONE: Final = (
    r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u00[0-7][0-9a-fA-F]))"
)
"""A token begins a word, also behind an escape; inside of another word it means nothing."""

_RUN: Final = re.compile(r"[A-Za-z0-9]{16,}")
_SHORT_RUN: Final = re.compile(r"[A-Za-z0-9]{12,}")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_OF_PROVIDERS: Final = ("sk-proj-", "sk-ant-", "sk-svcacct-", "sk-admin-", "sk-or-")


class Form(NamedTuple):
    """A form of credentials.

    One of `hints` stands in each text with one, in whichever letters. `pattern` finds what looks
    like one; its group `key`, or else all of it, is the credential. `is_sure` tells of that
    whether it is masked where texts are shown.
    """

    name: str
    hints: tuple[str, ...]
    pattern: str
    is_sure: Callable[[str], bool]


def _always(_: str) -> bool:
    return True


def _has_digit(key: str) -> bool:
    return any(sign.isdigit() for sign in key)


def is_random(key: str) -> bool:
    """Tell whether there is a run of letters and digits as words and numbers have none."""
    return any(_is_mixed(run) for run in _RUN.findall(key))


def _is_mixed(run: str) -> bool:
    return _has_digit(run) and any(sign.isalpha() for sign in run)


def _is_of_openai(key: str) -> bool:
    if key.startswith(_OF_PROVIDERS):
        behind = key[len("sk-") :].partition("-")[2]
        cases = any(map(str.isupper, behind)), any(map(str.islower, behind))
        return is_random(key) or (_has_digit(behind) and all(cases))
    return is_random(key)


def _is_token(key: str) -> bool:
    """Tell whether what stands behind `Bearer` is no word of a sentence."""
    return _UUID.fullmatch(key) is not None or any(map(_is_mixed, _SHORT_RUN.findall(key)))


def _is_user_and_password(key: str) -> bool:
    try:
        user, sign, password = base64.b64decode(key, validate=True).decode("ascii").partition(":")
    except (binascii.Error, ValueError):
        return False
    return bool(sign and user and password) and (user + password).isprintable()


def _key(name: str, pattern: str, *hints: str, sure: Callable[[str], bool] = _has_digit) -> Form:
    """Describe keys that are a word by themselves."""
    return Form(name, hints, f"{_ALONE}{pattern}", sure)


_NAMES: Final = (
    r"api[_-]?key|apikey|subscription[_-]?key|secret[_-]?(?:access[_-]?)?key|account[_-]?key"
    r"|client[_-]?secret|(?:access|auth|refresh)[_-]?token|x-auth(?:[_-]?(?:key|token))?"
)
"""Names beside which a text without any meaning of its own is a credential."""

FORMS: Final = (
    _key("key of OpenAI or alike", "sk-(?!ant-)[A-Za-z0-9_-]{16,}", "sk-", sure=_is_of_openai),
    _key("key of Anthropic", "sk-ant-[A-Za-z0-9_-]{10,}", "sk-ant-", sure=_is_of_openai),
    _key(
        "access key of AWS",
        "(?:AKIA|ASIA|ABIA|ACCA)[A-Z0-9]{16}(?![A-Za-z0-9])",
        "akia",
        "asia",
        "abia",
        "acca",
    ),
    _key("bearer key of Bedrock", "ABSK[A-Za-z0-9+/=]{20,}", "absk"),
    _key("key of Google", "AIza[A-Za-z0-9_-]{30,}", "aiza"),
    _key("token of Google", r"ya29\.[A-Za-z0-9_-]{16,}", "ya29."),
    _key("token of GitHub", "gh[pousr]_[A-Za-z0-9]{20,}", "ghp_", "gho_", "ghu_", "ghs_", "ghr_"),
    _key("token of GitHub", "github_pat_[A-Za-z0-9_]{20,}", "github_pat_"),
    _key("token of GitLab", "glpat-[A-Za-z0-9_-]{16,}", "glpat-"),
    _key("token of Slack", "xox[abeprs]-[A-Za-z0-9-]{10,}", "xox"),
    Form(
        "webhook of Slack",
        ("hooks.slack",),
        r"hooks\.slack\.com/services/(?P<key>[A-Za-z0-9/]{16,})",
        _has_digit,
    ),
    _key(
        "key of Stripe",
        "(?:sk|rk|whsec)_(?:live_|test_)?[A-Za-z0-9]{16,}",
        "sk_",
        "rk_",
        "whsec_",
        sure=is_random,
    ),
    _key("token of Hugging Face", "hf_[A-Za-z0-9]{20,}", "hf_", sure=is_random),
    _key("key of Groq", "gsk_[A-Za-z0-9]{20,}", "gsk_"),
    _key("key of xAI", "xai-[A-Za-z0-9]{20,}", "xai-"),
    _key("key of Replicate", "r8_[A-Za-z0-9]{20,}", "r8_", sure=is_random),
    _key("token of npm", "npm_[A-Za-z0-9]{20,}", "npm_"),
    _key("token of PyPI", "pypi-[A-Za-z0-9_-]{16,}", "pypi-", sure=is_random),
    _key("key of SendGrid", r"SG\.[\w-]{16,}\.[\w-]{16,}", "sg."),
    _key("key of Twilio", "SK[0-9a-f]{32}", "sk"),
    _key("token of DigitalOcean", "dop_v1_[0-9a-f]{32,}", "dop_v1_"),
    _key("token of Databricks", "dapi[0-9a-f]{32}", "dapi"),
    Form(
        "token of a Telegram bot",
        ("bot",),
        r"(?<=/bot)(?P<key>[0-9]{3,}:[A-Za-z0-9_-]{20,})",
        _always,
    ),
    Form(
        "JSON web token",
        ("eyj",),
        rf"{_ALONE}eyJ[A-Za-z0-9_-]{{8,}}\.eyJ[A-Za-z0-9_-]{{8,}}\.[A-Za-z0-9_-]*",
        _always,
    ),
    Form(
        "private key",
        ("private key",),
        # To its end, or as far as it goes where it is cut; lines may be folded in any way.
        r"-----BEGIN [A-Z0-9 ]{0,40}PRIVATE KEY-----"
        r"(?:(?:[A-Za-z0-9+/=\s\\\"',:|>]|-(?!----))*-----END [A-Z0-9 ]{0,40}PRIVATE KEY-----"
        r"|(?:\s|\\+[nr]|[\"',|>])*(?:[A-Za-z0-9+/=]{16,}(?:\s|\\+[nr]|[\"',|>])*)*)",
        _always,
    ),
    _key("secret key of age", "AGE-SECRET-KEY-1[A-Z0-9]{20,}", "age-secret"),
    Form(
        "key of an Azure account",
        ("accountkey=",),
        r"AccountKey=(?P<key>[A-Za-z0-9+/=]{20,})",
        _always,
    ),
    Form(
        "authorization",
        ("bearer",),
        r"\b(?i:bearer)(?:\s+|%20)(?=[^\s\"']*\d)(?P<key>[A-Za-z0-9+/=._~-]{16,})",
        _is_token,
    ),
    Form(
        "authorization",
        ("basic",),
        r"\b(?i:basic)(?:\s+|%20)(?P<key>[A-Za-z0-9+/]{8,}={0,2})",
        _is_user_and_password,
    ),
    Form(
        "password in a URL",
        ("://",),
        rf"{_ALONE}[a-z][a-z0-9+.-]{{0,20}}://[^\s/:@\"'<>]{{1,200}}:(?!\*\*\*)"
        r"(?P<key>[^\s/@\"'<>]{3,200})@",
        _always,
    ),
    Form(
        "value of a key or password",
        ("key", "secret", "token", "auth"),
        rf"(?i:{_NAMES})[\"'\\]{{0,4}}\s{{0,4}}[:=]\s{{0,4}}[\"'\\]{{0,4}}"
        r"(?P<key>[A-Za-z0-9+/_.~-]{16,}={0,2})",
        is_random,
    ),
)
"""Each form; the group `key` is masked where there is one, so that the name before it stays."""

_HINTS: Final = tuple(dict.fromkeys(hint for form in FORMS for hint in form.hints))
_LONG: Final = 2_000

_NAMED: Final = re.compile(rf"(?:.*[_.-])?(?:ocp-apim-)?(?:{_NAMES})", re.IGNORECASE)


@cache
def compiled(form: Form) -> re.Pattern[str]:
    """Return the pattern of a form; each takes a while, and most sessions need none."""
    return re.compile(form.pattern)


def is_hinted(form: Form, folded: str) -> bool:
    """Tell whether a text, in lower case, may hold what a form describes."""
    return any(hint in folded for hint in form.hints)


def masked_forms(text: str, mask: str) -> str:
    """Return a text with `mask` for each credential that surely is one."""
    if len(text) < SHORTEST:
        return text
    return _masked_in_long(text, mask) if len(text) >= _LONG else _masked_in(text, mask)


def _masked_in(text: str, mask: str) -> str:
    folded = text.lower()
    # A loop, since a generator takes three times as long, and nearly no text has any of them.
    for hint in _HINTS:
        if hint in folded:
            break
    else:
        return text
    for form in FORMS:
        if is_hinted(form, folded):
            text = compiled(form).sub(partial(_masked, form, mask), text)
    return text


_masked_in_long = lru_cache(maxsize=64)(_masked_in)
"""The SOP stands in the messages of every run; to look through it once is enough."""


def is_named_secret(name: str, value: str) -> bool:
    """Tell whether a value under a name is a credential, though it has no form of its own."""
    return _NAMED.fullmatch(name) is not None and is_random(value) and " " not in value


def _masked(form: Form, mask: str, found: re.Match[str]) -> str:
    group = "key" if "key" in found.re.groupindex else 0
    if not form.is_sure(found[group]):
        return found[0]
    begin, end = found.start(group) - found.start(), found.end(group) - found.start()
    return f"{found[0][:begin]}{mask}{found[0][end:]}"
