"""The forms in which a secret may stand in a text, and one pattern for all of them.

An agent's framework writes a secret into an error as `repr`, JSON, a URL or a header does, and
reports fold what has several lines into one. Nobody can undo these without knowing where they
begin, so the pattern looks for what each of them makes of the secret.
"""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable, Iterable, Iterator
from dataclasses import dataclass
from typing import Final
from urllib.parse import quote, quote_plus

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
    """Return what finds these secrets; `None` where there is none long enough to be one."""
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
            yield _FOLD.join(map(_any_spelling, lines)), max(plain, key=len, default="")


def _any_spelling(line: str) -> str:
    # Several backslashes are one: to share those of a text out among them takes for ever.
    return "".join(map(_any_sign, re.sub(r"\\+", r"\\", line)))


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
        # Where lines are printed one by one, each of them would be a part.
        secret = (one for one in encoded if len(one) >= _SECRET_LINE and one.strip("- \t"))
        yield from ((re.escape(one), one) for one in secret if not one.startswith("-----"))


def _json(text: str) -> str:
    return json.dumps(text)[1:-1]


def _json_as_is(text: str) -> str:
    return json.dumps(text, ensure_ascii=False)[1:-1]


def _repr(text: str) -> str:
    return repr(text)[1:-1]


def _repr_beside_quotes(text: str) -> str:
    # A text with both quotes is written in single ones, and those inside are escaped.
    return repr(f"'\"{text}")[len("''\\\"") :][:-1]


def _ascii(text: str) -> str:
    return ascii(text)[1:-1]


_ENCODERS: Final[tuple[Callable[[str], str], ...]] = (
    lambda text: text,
    _json,
    _json_as_is,
    _repr,
    _repr_beside_quotes,
    _ascii,
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
