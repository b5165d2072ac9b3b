"""A secret is found in whatever form somebody writes it; and nothing else is taken for one."""

from __future__ import annotations

import base64
import html
import json
from collections.abc import Callable
from urllib.parse import quote, quote_plus, urlencode

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.hiding import SHORTEST, Secrets, is_long_enough, secrets_of

MASK = "***"
PEM = (
    "-----BEGIN KEY-----\nMIIEvQIBADANBgkqhkiG9w0BAQ\nEFAASCBKcwggSjAgEAAoIBAQC7\n-----END KEY-----"
)
ODD = "gehéim\"'\\ <&>/+=ß%☃"
PLAIN = "sk-live-0123456789"


def found(secret: str) -> Secrets:
    secrets = secrets_of([secret])
    assert secrets is not None
    return secrets


FORMS: dict[str, Callable[[str], str]] = {
    "as it is": str,
    "repr": repr,
    "repr beside both quotes": lambda text: repr(f'it\'s "{text}"'),
    "ascii": ascii,
    "JSON": json.dumps,
    "JSON not in ASCII": lambda text: json.dumps(text, ensure_ascii=False),
    "JSON in JSON": lambda text: json.dumps({"body": json.dumps({"key": text})}),
    "repr of JSON": lambda text: repr(json.dumps({"key": text})),
    "KeyError": lambda text: str(KeyError(text)),
    "HTML": html.escape,
    "HTML with quotes": lambda text: html.escape(text, quote=False),
    "HTML by numbers": lambda text: html.escape(text).replace("&quot;", "&#34;"),
    "XML": lambda text: "".join(f"&#x{ord(one):X};" if one in "<&>'" else one for one in text),
    "URL": lambda text: quote(text, safe=""),
    "URL path": quote,
    "URL query": lambda text: urlencode({"q": text}),
    "URL with plus signs": quote_plus,
    "URL with signs that a client leaves": lambda text: quote(text, safe="!*'()/=&+:@,;$"),
    "JSON as JavaScript and Go write it": lambda text: json.dumps(text).replace("&", "\\u0026"),
    "JSON with slashes escaped": lambda text: json.dumps(text).replace("/", "\\/"),
    "base64": lambda text: base64.b64encode(text.encode()).decode(),
    "base64 of a URL": lambda text: base64.urlsafe_b64encode(text.encode()).decode(),
    "basic authorization": lambda text: base64.b64encode(f"jo:{text}".encode()).decode(),
    "bearer in base64": lambda text: base64.b64encode(f"Bearer {text}!".encode()).decode(),
    "on one line": lambda text: " ".join(text.split()),
    "with escaped line ends": lambda text: text.replace("\n", "\\n"),
    "with line ends of Windows": lambda text: text.replace("\n", "\r\n"),
    "without line ends": lambda text: text.replace("\n", ""),
    "behind what pytest writes before lines": lambda text: text.replace("\n", "\nE     "),
    "indented": lambda text: text.replace("\n", "\n    "),
    "pretty-printed line by line": lambda text: text.replace("\n", "\\n'\nE   +     '"),
}


@pytest.mark.parametrize("form", [pytest.param(form, id=name) for name, form in FORMS.items()])
@pytest.mark.parametrize(
    "secret",
    [
        pytest.param(PLAIN, id="plain"),
        pytest.param(ODD, id="odd"),
        pytest.param(PEM, id="several lines"),
        pytest.param(PEM.replace("\n", "\\n"), id="line ends written out"),
        pytest.param("we<ird\nab&cd\nefg", id="short lines"),
    ],
)
def test_a_secret_is_masked_in_every_form(secret: str, form: Callable[[str], str]) -> None:
    written = form(secret)

    masked = found(secret).masked(f"before {written} behind", MASK)

    assert written not in masked
    assert MASK in masked
    assert masked.startswith("before ")
    assert masked.endswith(" behind")
    # At most what stands at the ends of base64 is left, of which its neighbours are a part.
    assert len(masked) - len("before  behind") <= len(form("")) + len(MASK) + 20


def test_a_key_with_its_line_ends_put_back_is_masked() -> None:
    secrets = found(PEM.replace("\n", "\\n"))

    assert MASK == secrets.masked(PEM, MASK)


@pytest.mark.parametrize("line", PEM.split("\n")[1:3])
def test_a_line_of_a_secret_is_masked_alone(line: str) -> None:
    assert "E   ***" == found(PEM).masked(f"E   {line}", MASK)


def test_the_head_of_a_key_is_no_secret() -> None:
    head = PEM.split("\n", 1)[0]

    assert head == found(PEM).masked(head, MASK)


@given(st.text(min_size=SHORTEST, max_size=40), st.text(max_size=20), st.text(max_size=20))
def test_no_secret_stays_in_a_text(secret: str, before: str, behind: str) -> None:
    """Whatever signs a secret is made of, it is not part of the text any more."""
    if not is_long_enough(secret):
        return

    masked = found(secret).masked(f"{before}{secret}{behind}", MASK)

    assert secret.strip() not in masked.split(MASK)


def test_a_secret_of_backslashes_takes_no_longer_than_another() -> None:
    """What may stand once or often must not be tried in every way."""
    secrets = found("\\" * 40 + "a'b" + "\n'" * 20)

    assert MASK not in secrets.masked("a'" + "\\" * 20_000 + " ' \n" * 5_000, MASK)


@given(st.text(alphabet="abcdefghij \n\\", max_size=200))
def test_a_text_without_the_secret_stays_as_it_is(text: str) -> None:
    assert text == found(PLAIN).masked(text, MASK)


def test_the_longer_of_two_secrets_is_masked_whole() -> None:
    secrets = secrets_of(["secret", "secret-of-more"])
    assert secrets is not None

    assert "***, ***" == secrets.masked("secret-of-more, secret", MASK)


@pytest.mark.parametrize(
    ("cut", "masked"),
    [
        pytest.param("is sk-live...9' == ''", "is ***...9' == ''", id="beginning"),
        pytest.param("'sk-l...6789' == ''", "'***...***' == ''", id="both ends"),
        pytest.param("a...123456789 and", "a...*** and", id="end"),
        pytest.param("sk-li ... 56789", "sk-li ... 56789", id="apart"),
        pytest.param("sk- and ... so on...", "sk- and ... so on...", id="nothing of it"),
    ],
)
def test_what_a_cut_has_left_of_a_secret_is_masked(cut: str, masked: str) -> None:
    assert masked == found(PLAIN).masked_beside_cuts(cut, MASK)


@pytest.mark.parametrize("value", ["", "12345", "  12345 \n"])
def test_a_value_that_stands_everywhere_is_no_secret(value: str) -> None:
    assert secrets_of([value]) is None
