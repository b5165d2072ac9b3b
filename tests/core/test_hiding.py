"""Text of anybody, printed: no command to a terminal, none to a CI server."""

from __future__ import annotations

import base64
import html
import json
import re
from collections.abc import Callable
from urllib.parse import quote, quote_plus, urlencode
from xml.etree import ElementTree as ET

import pytest
from hypothesis import example, given
from hypothesis import strategies as st

from pytest_sopbench._core.hiding import (
    SHORTEST,
    LineStart,
    Secrets,
    as_xml_without_commands,
    harmless,
    is_long_enough,
    masked_forms,
    secrets_of,
    without_commands,
    without_controls,
)
from pytest_sopbench._core.records.redaction import NOTHING_REDACTED, Redaction
from pytest_sopbench._replay.masking import credentials_in

HOSTILE = st.text(alphabet=":#[]vsoerror \t\n\r\x1b\x07\u2028\u00a0mA;0", max_size=60)
COMMAND = re.compile(r"(?:\A|[\r\n])\s*::\S|##(?:\[|vso\[|teamcity\[)", re.IGNORECASE)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("::error::PWN", ": :error::PWN", id="a line"),
        pytest.param("x\n  ::add-mask::e", "x\n  : :add-mask::e", id="behind blanks"),
        pytest.param("x\r::error::e", "x\r: :error::e", id="behind a carriage return"),
        pytest.param("\u00a0\u2003::error::e", "\u00a0\u2003: :error::e", id="unusual blanks"),
        pytest.param("a ##[error]b", "a # #[error]b", id="Azure"),
        pytest.param("a ##VSO[task.x]b", "a # #VSO[task.x]b", id="Azure in capitals"),
        pytest.param("##teamcity[x]", "# #teamcity[x]", id="TeamCity"),
        pytest.param("lab/data.csv::T_1", "lab/data.csv::T_1", id="a node id"),
        pytest.param("## Title", "## Title", id="a title"),
        pytest.param("x[::2]", "x[::2]", id="a slice"),
        pytest.param("", "", id="nothing"),
    ],
)
def test_a_command_is_kept_readable_and_is_none(text: str, shown: str) -> None:
    assert shown == without_commands(text)


@given(HOSTILE)
def test_no_text_has_a_command_left(text: str) -> None:
    assert not COMMAND.search(without_commands(text))
    assert not COMMAND.search(harmless(text))


@given(HOSTILE)
def test_what_is_harmless_stays_so(text: str) -> None:
    assert harmless(text) == harmless(harmless(text))


@given(st.text(alphabet=":#[]vsoteamcity<&'\"", max_size=60))
@example("##[error]PWN")
@example("x ##vso[task.complete] ##TeamCity[buildStop]")
def test_an_xml_document_without_commands_says_the_same_to_a_parser(text: str) -> None:
    case = ET.Element("case", name=text)
    case.text = text

    safe = as_xml_without_commands(ET.tostring(case, "unicode"))

    read = ET.fromstring(safe)  # noqa: S314 - it was written here
    assert (text, text or None) == (read.get("name"), read.text)
    assert not re.search(r"##(?:\[|vso\[|teamcity\[)", safe)


def test_blanks_written_before_a_line_hide_no_command() -> None:
    start = LineStart()

    parts = [start.without_commands(part) for part in ("x\n", "  ", "::error::e\n", "y ", "::z")]

    assert "x\n  : :error::e\ny ::z" == "".join(parts)


@pytest.mark.parametrize(
    ("text", "shown"),
    [
        pytest.param("\x1b]0;title\x07", "\\x1b]0;title\\x07", id="title"),
        pytest.param("\x1b]8;;http://e\x1b\\x", "\\x1b]8;;http://e\\x1b\\x", id="link"),
        pytest.param("a\rb\x08c", "a\\rb\\x08c", id="overwriting"),
        pytest.param("a\u202eb\u2066c", "a\\u202eb\\u2066c", id="order of letters"),
        pytest.param("a\u2028b\x85c", "a\\u2028b\\x85c", id="line ends"),
        pytest.param("a\r\nb", "a\nb", id="line ends of Windows"),
        pytest.param("a\n\tb", "a\n\tb", id="lines and tabs"),
        pytest.param("\x1b[1;31mred", "\\x1b[1;31mred", id="colours"),
        pytest.param("\x1b[2Jx", "\\x1b[2Jx", id="clearing"),
        pytest.param("é☃👩‍🔬", "é☃👩‍🔬", id="letters"),
    ],
)
def test_what_moves_a_terminal_is_shown_as_an_escape(text: str, shown: str) -> None:
    assert shown == without_controls(text)


def test_colours_are_kept_where_pytest_itself_writes_them() -> None:
    text = "\x1b[1;31mred\x1b[0m \x1b[2J"

    assert "\x1b[1;31mred\x1b[0m \\x1b[2J" == without_controls(text, colours="kept")


# A secret is found in whatever form somebody writes it; and nothing else is taken for one.

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
def test_a_secret_is_masked_in_every_form(secret: str) -> None:
    for name, form in FORMS.items():
        written = form(secret)

        masked = found(secret).masked(f"before {written} behind", MASK)

        assert written not in masked, name
        assert MASK in masked, name
        assert masked.startswith("before "), name
        assert masked.endswith(" behind"), name
        # At most what stands at the ends of base64 is left, of which its neighbours are a part.
        assert len(masked) - len("before  behind") <= len(form("")) + len(MASK) + 20, name


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


# Known forms of credentials are masked wherever texts are shown; what is only alike is not.
#
# The keys here are made up. They are put together from parts, so that no scanner of this
# repository takes them for keys of somebody.

MIX = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V2w3X4"
HEX = "0123456789abcdef0123456789abcdef"
_BEGIN = "-----BEGIN " + "RSA PRIVATE KEY-----"
PEM_OF_KNOWN_FORMS = "\n".join((_BEGIN, MIX + MIX[:16], MIX[::-1], "-----END RSA PRIVATE KEY-----"))

KEYS = {
    "openai": f"sk-{MIX}",
    "openai-project": f"sk-proj-{MIX[:20]}_{MIX[3:30]}-{MIX[:9]}",
    "openai-project-of-short-parts": "sk-proj-aB3-x9Zq_77fKp-Lm2Qw8",
    "openai-service": f"sk-svcacct-{MIX}",
    "openrouter": f"sk-or-v1-{HEX}{HEX}",
    "deepseek": f"sk-{HEX}",
    "anthropic": f"sk-ant-api03-{MIX}-{MIX[:20]}AA",
    "aws-id": "AKIA" + "IOSFODNN7" + "EXAMPLE",
    "aws-session-id": "ASIA" + "Q3XYZ7ABCDEF2345",
    "bedrock": f"ABSK{MIX}{MIX[:12]}==",
    "google": f"AIza{MIX[:35]}",
    "google-token": f"ya29.{MIX}",
    "github": f"ghp_{MIX[:36]}",
    "github-server": f"ghs_{MIX[:36]}",
    "github-fine": f"github_pat_{MIX[:22]}_{MIX}",
    "gitlab": f"glpat-{MIX[:20]}",
    "slack-bot": f"xoxb-123456789012-123456789012-{MIX[:24]}",
    "slack-user": f"xoxp-123456789012-{MIX[:24]}",
    "stripe": f"sk_live_{MIX[:24]}",
    "hugging-face": f"hf_{MIX[:34]}",
    "groq": f"gsk_{MIX}",
    "npm": f"npm_{MIX[:36]}",
    "sendgrid": f"SG.{MIX[:22]}.{MIX[:43]}",
    "databricks": f"dapi{HEX}",
    "json-web-token": f"eyJhbGciOiJIUzI1NiJ9.eyJzdWIiOiIxMjM0NTY3ODkwIn0.{MIX[:43]}",
    "pem": PEM_OF_KNOWN_FORMS,
    "pem-in-one-line": PEM_OF_KNOWN_FORMS.replace("\n", "\\n"),
}
"""Keys that name themselves: nothing of them stays."""

NAMED = {
    "bearer": (f"Authorization: Bearer {MIX}", MIX),
    "bearer-in-small-letters": (f"authorization: bearer {MIX[:20]}.{MIX[:9]}", MIX[:20]),
    "bearer-in-json": (json.dumps({"authorization": f"Bearer {MIX}"}), MIX),
    "bearer-of-a-uuid": (
        "Bearer 123e4567-e89b-12d3-a456-426614174000",
        "123e4567-e89b-12d3-a456-426614174000",
    ),
    "basic": (
        f"Basic {base64.b64encode(b'clerk:hunter22').decode()}",
        base64.b64encode(b"clerk:hunter22").decode(),
    ),
    "azure": (f"api-key: {HEX}", HEX),
    "azure-in-json": (json.dumps({"api-key": HEX}), HEX),
    "azure-in-json-in-json": (json.dumps(json.dumps({"api_key": HEX})), HEX),
    "azure-in-a-query": (f"GET /a?subscription-key={HEX}&b=1", HEX),
    "azure-account": (f"AccountName=a;AccountKey={MIX}==;", MIX),
    "aws-secret": (f"aws_secret_access_key = {MIX[:40]}", MIX[:40]),
    "client-secret": (f"client_secret='{MIX[:30]}'", MIX[:30]),
    "x-auth": (f"X-Auth: {HEX}", HEX),
    "auth-token": (f'"auth_token": "{HEX}"', HEX),
    "database": ("postgresql://clerk:hunter22@db.example.com/orders", "hunter22"),
    "telegram": (f"https://api.telegram.org/bot123456789:{MIX[:35]}/send", f"123456789:{MIX[:35]}"),
    "webhook": (f"https://hooks.slack.com/services/T0/B0/{MIX[:24]}", f"T0/B0/{MIX[:24]}"),
}
"""Texts in which a name makes a key of what stands beside it, and the key."""

ALIKE = {
    "a-short-id": "sk-1",
    "a-library": "sk-learn",
    "a-stock-number": "sk-00000000000000012345",
    "a-name-of-words": "sk-assessment-of-risk-2024-01",
    "a-name-of-words-and-lines": "sk-customer_order_number_12345678",
    "a-word-that-ends-so": "task-1234567890abcdef1234567890abcdef",
    "a-part-of-a-word": "risk-a1b2c3d4e5f6a1b2c3d4e5f6",
    "a-stock-number-in-capitals": "SK-2024-000123",
    "an-airport": "AKIA",
    "an-order-that-begins-so": "AKIA-ORDER-2024-0001",
    "a-longer-word": "AKIAABCDEFGHIJKLMNOPQRSTUVWXYZ234567",
    "a-greeting": "xoxo-hugs-and-kisses-2024",
    "a-git-hash": "ghp_1",
    "a-uuid": "123e4567-e89b-12d3-a456-426614174000",
    "a-hash": HEX,
    "a-long-hash": HEX + HEX,
    "an-order": "ORD-2024-00012345-AB",
    "an-invoice": "INV_20240115_000123456789",
    "an-account-number": "DE89370400440532013000",
    "a-session-of-a-task": "session_token=ST-8841-20240115-0001",
    "bad-news": "the bearer of 2024-annual-report-v2 is late",
    "a-bearer-bond": "Bearer instruments2024",
    "basics": "Basic understanding of the procedure",
    "basics-of-a-word": "basic authentication",
    "a-word-in-base64": "eyJhIjoxfQ",
    "a-certificate": f"-----BEGIN CERTIFICATE-----\n{MIX}\n-----END CERTIFICATE-----",
    "a-public-key": f"-----BEGIN PUBLIC KEY-----\n{MIX}\n-----END PUBLIC KEY-----",
    "a-url": "https://example.com:8080/a@b?order_key=12",
    "a-key-that-is-named": "api_key=env:OPENAI_API_KEY",
    "a-key-that-is-described": "api_key: the key of the account, 32 characters",
    "a-primary-key": "primary_key=ORD20240115AB0001",
    "a-sort-key": "sort_key: 20240115-000123456789",
    "a-time": "bot 12:30:45 2024-01-15T12:30:45.123456+00:00",
}
"""Ids, numbers and sentences that only begin as keys do."""


def text_of(text: str) -> str:
    return masked_forms(text, "***")


@pytest.mark.parametrize(
    "around",
    ["{}", "key {} is wrong", '{{"a": "{}"}}', "a={}&b", "\\n{}\\n", "%20{}", "('{}',)", "x: {}."],
)
def test_a_key_that_names_itself_is_masked_whatever_stands_around_it(around: str) -> None:
    masked = around.format("***")

    shown = {name: text_of(around.format(key)) for name, key in KEYS.items()}

    assert {} == {
        name: one for name, one in shown.items() if one not in (masked, masked.rstrip("."))
    }


@pytest.mark.parametrize(
    ("text", "key"), [pytest.param(*one, id=name) for name, one in NAMED.items()]
)
def test_a_key_beside_its_name_is_masked_and_the_name_stays(text: str, key: str) -> None:
    shown = text_of(text)

    assert key not in shown
    assert text[: text.index(key)] == shown[: shown.index("***")]


def test_of_a_private_key_that_is_cut_no_line_stays() -> None:
    lines = PEM_OF_KNOWN_FORMS.splitlines()

    shown = text_of("\n".join(lines[:-1]) + "\nand more was said.")

    assert not any(line in shown for line in lines)
    assert shown.endswith("and more was said.")


@pytest.mark.parametrize("around", ["{}", "it is {} today", '{{"order": "{}"}}', "order={}"])
def test_what_only_begins_as_a_key_does_stays(around: str) -> None:
    whole = {name: around.format(text) for name, text in ALIKE.items()}

    assert whole == {name: text_of(text) for name, text in whole.items()}


@pytest.mark.parametrize("key", [pytest.param(key, id=name) for name, key in KEYS.items()])
def test_what_is_masked_where_texts_are_shown_stops_a_recording(key: str) -> None:
    assert [*credentials_in({"note": f"it is {key}"}, "body")]


def test_a_value_under_the_name_of_a_key_is_masked_in_objects() -> None:
    called = {"url": "https://a", "headers": {"api-key": HEX, "id": HEX}, "Subscription-Key": HEX}

    shown = Redaction().value(called)

    hidden = {"api-key": "***", "id": HEX}
    assert {"url": "https://a", "headers": hidden, "Subscription-Key": "***"} == shown
    assert called == NOTHING_REDACTED.value(called)


@given(st.text(), st.sampled_from([*KEYS.values()]), st.text())
def test_no_text_around_a_key_keeps_more_of_it_than_a_word_that_it_joins(
    before: str, key: str, behind: str
) -> None:
    assert key not in text_of(f"{before} {key} {behind}")


@given(st.text())
def test_masking_twice_changes_no_more_than_once(text: str) -> None:
    once = text_of(text)

    assert once == text_of(once)
