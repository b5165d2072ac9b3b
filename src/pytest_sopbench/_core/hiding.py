"""What must not be seen: secrets are masked, control characters made visible."""

from __future__ import annotations

import base64
import binascii
import html
import json
import re
from collections.abc import Callable, Generator, Iterable, Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from functools import cache, lru_cache, partial
from typing import Final, Literal, NamedTuple, TypeAlias
from urllib.parse import quote, quote_plus

# Text that only shows: it gives no command to a terminal, nor to a CI server that reads a log.
#
# GitHub takes a line that begins with `::`, after any blanks, for a command; Azure, TeamCity and
# the older form of GitHub's take `##` before a word in brackets, wherever it stands.

Colours: TypeAlias = Literal["escaped", "kept"]
"""What becomes of the sequences that colour a terminal."""

_LINE_COMMAND: Final = re.compile(r"(?:\A|(?<=[\r\n]))([^\S\r\n]*):(?=:\S)")
_COMMAND: Final = re.compile(r"#(?=#(?:vso|teamcity)?\[)", re.IGNORECASE)
_SIGNS: Final = "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200e\u200f\u2028-\u202e\u2066-\u2069]"
_CONTROL: Final = re.compile(f"\r(?=\n)|({_SIGNS})")
_BUT_COLOURS: Final = re.compile(f"\x1b\\[[0-9;:]*m|\r(?=\n)|({_SIGNS})")


def without_commands(text: str) -> str:
    """Return the text with a blank inside of what a CI server would take for a command."""
    if "::" in text:
        text = _LINE_COMMAND.sub(r"\1: ", text)
    return _COMMAND.sub("# ", text) if "##" in text else text


def as_xml_without_commands(document: str) -> str:
    """Return an XML document in which a reference stands for a sign of each command.

    What a parser reads stays as it is, so that the name of a task is still its name.
    """
    return _COMMAND.sub("&#35;", document) if "##" in document else document


def without_controls(text: str, *, colours: Colours = "escaped") -> str:
    """Return the text with escapes for what moves a cursor, or turns the order of letters.

    What only colours may be kept: pytest itself colours what a failed assertion shows.
    """
    if text.isprintable():
        return text
    return (_CONTROL if colours == "escaped" else _BUT_COLOURS).sub(_escaped, text)


def harmless(text: str, *, colours: Colours = "escaped") -> str:
    """Return lines that may be printed, whoever wrote them."""
    if text.isprintable() and "::" not in text and "##" not in text:
        # As nearly every text is.
        return text
    return without_commands(without_controls(text, colours=colours))


class LineStart:
    """Follows what is written to a stream, where a line may come in parts."""

    def __init__(self) -> None:
        self._is_blank = True

    def without_commands(self, text: str) -> str:
        """Return the next part without commands."""
        # What is behind other words on its line begins no command.
        safe = without_commands(text) if self._is_blank else without_commands(f".{text}")[1:]
        last = max(text.rfind("\n"), text.rfind("\r")) + 1
        self._is_blank = (last > 0 or self._is_blank) and not text[last:].strip()
        return safe


def _escaped(found: re.Match[str]) -> str:
    sign = found[1]
    if sign is None:
        return "" if found[0] == "\r" else found[0]
    return sign.encode("unicode_escape").decode("ascii")


# Take secrets out of a text before it is cut: a part of a secret is no longer known for one.
#
# What cuts a text lies deep in a run, where nobody knows of redactions. So the function that masks
# is a part of the context, like the run whose output a thread writes.

Mask: TypeAlias = Callable[[str], str]
"""Returns a text without its secrets."""


_mask: ContextVar[Mask] = ContextVar("sopbench_mask", default=str)


def ready_to_cut(text: str) -> str:
    """Return the text of which a part may be left out; every function that cuts asks for it."""
    return _mask.get()(text)


def shortened(text: str, limit: int) -> str:
    """Return a text of so many characters at most; one that is cut ends in three dots."""
    if len(text) <= limit:
        return text
    text = ready_to_cut(text)
    return text if len(text) <= limit else f"{text[: limit - 3]}..."


def short_line(words: str, limit: int) -> str:
    """Return words without line ends, and cut."""
    return shortened(" ".join(ready_to_cut(words)[: 4 * limit].split()), limit)


def current_mask() -> Mask:
    """Return what masks here, for a thread that will not have this context."""
    return _mask.get()


@contextmanager
def masking(mask: Mask) -> Generator[None]:
    """Have texts masked before they are cut, in this context and its copies."""
    token = _mask.set(mask)
    try:
        yield
    finally:
        _mask.reset(token)


# The forms in which a secret may stand in a text, and one pattern for all of them.
#
# An agent's framework writes a secret into an error as `repr`, JSON, a URL or a header does, and
# reports fold what has several lines into one. Nobody can undo these without knowing where they
# begin, so the pattern looks for what each of them makes of the secret.

SHORTEST: Final = 6
"""Characters that a secret has at least: what is shorter stands everywhere by chance."""

_SECRET_LINE: Final = 16
"""Characters from which on a line of a secret is taken for one of its own."""

_PART: Final = 4
"""Characters from which on a part of a secret is taken for one, beside a cut."""

CUT: Final = "..."
"""What pytest, as everybody, writes where it has left something out."""

_FOLD: Final = r"(?:\s|\\+[nrt]|%0[AaDd]|['\"]|[|>E+,-](?=\s))*"
"""What may stand where a line ended: blanks, escapes, and what pytest writes before a line.

A text of several lines that is pretty-printed has quotes around each of them.
"""

_UNRESERVED: Final = re.compile(r"[A-Za-z0-9_.~-]+")
"""Signs that every encoder of URLs, HTML and JSON leaves as they are."""

_HEX: Final = re.compile(r"%[0-9A-F]{2}")


@dataclass(frozen=True, slots=True, kw_only=True)
class Secrets:
    """Finds secrets in every form.

    One of `hints` stands in each text with a secret. Each of `marks` is a secret in one form, or
    its longest line.
    """

    marks: tuple[str, ...]
    hints: tuple[str, ...]
    pattern: re.Pattern[str]

    def masked(self, text: str, mask: str) -> str:
        """Return the text with `mask` for each secret."""
        # Nearly no text has one, and to look for plain texts is many times faster.
        if not any(hint in text for hint in self.hints):
            return text
        return self.pattern.sub(mask, text)

    def masked_beside_cuts(self, text: str, mask: str) -> str:
        """Return a text that somebody else has cut, with `mask` for what is left of a secret.

        pytest puts `...` into long values before anybody can see them whole.
        """
        parts = text.split(CUT)
        for place in range(len(parts) - 1):
            before, behind = parts[place : place + 2]
            parts[place] = self._without_beginning(before, mask)
            parts[place + 1] = self._without_end(behind, mask)
        return CUT.join(parts)

    def _without_beginning(self, text: str, mask: str) -> str:
        begin = len(text)
        for mark in self.marks:
            at = text.find(mark[:_PART], max(0, len(text) - len(mark)))
            if 0 <= at < begin and mark.startswith(text[at:]):
                begin = at
        return text if begin == len(text) else f"{text[:begin]}{mask}"

    def _without_end(self, text: str, mask: str) -> str:
        end = 0
        for mark in self.marks:
            at = text.rfind(mark[-_PART:], 0, len(mark))
            if at + _PART > end and at >= 0 and mark.endswith(text[: at + _PART]):
                end = at + _PART
        return text if end == 0 else f"{mask}{text[end:]}"


def secrets_of(values: Iterable[str]) -> Secrets | None:
    """Return what finds these secrets; `None` if there is none long enough to be one."""
    found = [value.strip() for value in values if is_long_enough(value)]
    if not found:
        return None
    # By length: the longest form at a place is the one that stands there.
    forms = dict(sorted((one for value in found for one in _forms(value)), key=_by_length))
    mixed = dict(sorted((one for value in found for one in _mixed(value)), key=_by_length))
    return Secrets(
        marks=tuple(dict.fromkeys(forms.values())),
        hints=tuple(dict.fromkeys((*forms.values(), *mixed.values()))),
        pattern=re.compile("|".join((*mixed, *forms))),
    )


def is_long_enough(value: str) -> bool:
    """Whether a value can be masked without taking half of every text away."""
    return len(value.strip()) >= SHORTEST


def _by_length(form: tuple[str, str]) -> int:
    return -len(form[0])


def _forms(secret: str) -> Iterator[tuple[str, str]]:
    """Yield patterns, each with a text that is in whatever it matches."""
    for spelling in _spellings(secret):
        for text in (*_in_urls(spelling), *_in_base64(spelling)):
            yield re.escape(text), text
        for encode in _ENCODERS:
            yield from _written(_lines(spelling), encode)


def _spellings(secret: str) -> Iterator[str]:
    yield secret
    if "\\n" in secret:
        # Variables hold keys of several lines this way, and clients put the lines back.
        yield secret.replace("\\r", "").replace("\\n", "\n")


def _lines(text: str) -> list[str]:
    return [line for one in text.splitlines() if (line := one.strip())]


def _mixed(secret: str) -> Iterator[tuple[str, str]]:
    """Yield patterns in which each sign may be written in any way, with a text that is in each.

    Clients do not agree on which signs of a URL, of HTML or of JSON they leave as they are.
    """
    for spelling in _spellings(secret):
        if _UNRESERVED.fullmatch(spelling) is None:
            lines = _lines(spelling)
            plain = [run for line in lines for run in _UNRESERVED.findall(line)]
            # Several backslashes are one: to share those of a text out among them takes for ever.
            folded = (re.sub(r"\\+", r"\\", line) for line in lines)
            mixed = _FOLD.join("".join(map(_any_sign, line)) for line in folded)
            yield mixed, max(plain, key=len, default="")


def _any_sign(sign: str) -> str:
    if _UNRESERVED.fullmatch(sign):
        return re.escape(sign)
    if sign == "\\":
        return r"(?:\\+|(?i:%5c)+|(?i:&(?:bsol|#0*92|#x0*5c);)+)"
    octets = "".join(f"%{one:02x}" for one in sign.encode("utf-8", "surrogateescape"))
    entities = "|".join((f"#0*{ord(sign)}", f"#x0*{ord(sign):x}", *_ENTITIES.get(sign, ())))
    ways = [rf"\\*{re.escape(sign)}", rf"(?i:{octets})", f"(?i:&(?:{entities});)"]
    if sign == " ":
        ways.append(r"\+")
    if sign <= "\uffff":
        ways.append(rf"(?i:\\+u{ord(sign):04x})")
    return f"(?:{'|'.join(ways)})"


_ENTITIES: Final = {"&": ("amp",), "<": ("lt",), ">": ("gt",), '"': ("quot",), "'": ("apos",)}


def _written(lines: list[str], encode: Callable[[str], str]) -> Iterator[tuple[str, str]]:
    encoded = [encode(line) for line in lines]
    yield _FOLD.join(map(re.escape, encoded)), max(encoded, key=len)
    if len(lines) > 1:
        # If lines are printed one by one, each of them would be a part.
        secret = (one for one in encoded if len(one) >= _SECRET_LINE and one.strip("- \t"))
        yield from ((re.escape(one), one) for one in secret if not one.startswith("-----"))


def _json(text: str) -> str:
    return json.dumps(text)[1:-1]


def _repr(text: str) -> str:
    return repr(text)[1:-1]


_ENCODERS: Final[tuple[Callable[[str], str], ...]] = (
    lambda text: text,
    _json,
    lambda text: json.dumps(text, ensure_ascii=False)[1:-1],
    _repr,
    # A text with both quotes is written in single ones, and those inside are escaped.
    lambda text: repr(f"'\"{text}")[len("''\\\"") :][:-1],
    lambda text: ascii(text)[1:-1],
    html.escape,
    lambda text: _json(_json(text)),
    lambda text: _repr(_json(text)),
    lambda text: _json(_repr(text)),
)


def _in_urls(secret: str) -> Iterator[str]:
    whole = secret.encode("utf-8", "surrogateescape")
    for coded in (quote(whole, safe=""), quote(whole), quote_plus(whole)):
        yield coded
        yield _HEX.sub(lambda found: found[0].lower(), coded)


def _in_base64(secret: str) -> Iterator[str]:
    """Yield what every base64 text with the secret in it has, wherever the secret begins."""
    data = secret.encode("utf-8", "surrogateescape")
    for offset, start in enumerate((0, 2, 3)):
        coded = base64.b64encode(bytes(offset) + data).decode()
        # The bytes before and behind it have a part in the characters at both ends.
        core = coded[start : (offset + len(data)) * 8 // 6]
        for one in (coded if offset == 0 else core, core):
            if len(one) >= SHORTEST:
                yield one
                yield one.translate(_URL_SAFE)
    wrapped = base64.encodebytes(data).decode().split()
    yield from (line for line in wrapped if len(wrapped) > 1 and len(line) >= _SECRET_LINE)


_URL_SAFE: Final = str.maketrans("+/", "-_")


# Credentials that name themselves: by how they begin, or by the word that stands before them.
#
# What is named in `sop_redact` is masked wherever it stands. This is for what nobody has named.
# When a recording is written, whatever looks like a credential stops it: there is no harm in
# that. When texts are shown and saved, only what is surely one is masked, since ids and numbers
# of orders may begin as keys do.

SHORTEST_FORM: Final = 12
"""Characters that a text with a credential has at least."""

_ALONE: Final = (
    r"(?:(?<![A-Za-z0-9_-])|(?<=\\[nrt])|(?<=%[0-9A-Fa-f]{2})|(?<=\\u00[0-7][0-9a-fA-F]))"
)
"""A token begins a word, also behind an escape; inside of another word it means nothing."""

SHORTEST_RANDOM: Final = 16
"""Letters and digits in a row that a value has at least which only its name tells for a secret."""

_RUN: Final = re.compile(rf"[A-Za-z0-9]{{{SHORTEST_RANDOM},}}")
_SHORT_RUN: Final = re.compile(r"[A-Za-z0-9]{12,}")
_UUID: Final = re.compile(r"[0-9a-fA-F]{8}(?:-[0-9a-fA-F]{4}){3}-[0-9a-fA-F]{12}")
_OF_PROVIDERS: Final = ("sk-proj-", "sk-ant-", "sk-svcacct-", "sk-admin-", "sk-or-")


class Form(NamedTuple):
    """A form of credentials.

    One of `hints` stands in each text with one, in whichever letters. `pattern` finds what looks
    like one; its group `key`, or else all of it, is the credential. `is_sure` tells of that
    whether it is masked when texts are shown.
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
        # To its end, or as far as it goes if it is cut; lines may be folded in any way.
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
"""Each form; the group `key` is masked if there is one, so that the name before it stays."""

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
    if len(text) < SHORTEST_FORM:
        return text
    return _masked_in_long(text, mask) if len(text) >= _LONG else _masked_in(text, mask)


def _masked_in(text: str, mask: str) -> str:
    folded = text.lower()
    # Nearly no text has any of them.
    if not any(hint in folded for hint in _HINTS):
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
