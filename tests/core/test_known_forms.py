"""Known forms of credentials are masked wherever texts are shown; what is only alike is not.

The keys here are made up. They are put together from parts, so that no scanner of this repository
takes them for keys of somebody.
"""

from __future__ import annotations

import base64
import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pytest_sopbench._core.hiding import masked_forms
from pytest_sopbench._core.records.redaction import NOTHING_REDACTED, Redaction
from pytest_sopbench._replay.cassettes.masking import credentials_in

MIX = "a1B2c3D4e5F6g7H8i9J0k1L2m3N4o5P6q7R8s9T0u1V2w3X4"
HEX = "0123456789abcdef0123456789abcdef"
_BEGIN = "-----BEGIN " + "RSA PRIVATE KEY-----"
PEM = "\n".join((_BEGIN, MIX + MIX[:16], MIX[::-1], "-----END RSA PRIVATE KEY-----"))

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
    "pem": PEM,
    "pem-in-one-line": PEM.replace("\n", "\\n"),
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


@pytest.mark.parametrize("key", [pytest.param(key, id=name) for name, key in KEYS.items()])
@pytest.mark.parametrize(
    "around",
    ["{}", "key {} is wrong", '{{"a": "{}"}}', "a={}&b", "\\n{}\\n", "%20{}", "('{}',)", "x: {}."],
)
def test_a_key_that_names_itself_is_masked_whatever_stands_around_it(key: str, around: str) -> None:
    text = around.format(key)

    shown = text_of(text)

    assert around.format("***") == shown or shown == around.format("***").rstrip(".")


@pytest.mark.parametrize(
    ("text", "key"), [pytest.param(*one, id=name) for name, one in NAMED.items()]
)
def test_a_key_beside_its_name_is_masked_and_the_name_stays(text: str, key: str) -> None:
    shown = text_of(text)

    assert key not in shown
    assert text[: text.index(key)] == shown[: shown.index("***")]


def test_of_a_private_key_that_is_cut_no_line_stays() -> None:
    lines = PEM.splitlines()

    shown = text_of("\n".join(lines[:-1]) + "\nand more was said.")

    assert not any(line in shown for line in lines)
    assert shown.endswith("and more was said.")


@pytest.mark.parametrize("text", [pytest.param(text, id=name) for name, text in ALIKE.items()])
@pytest.mark.parametrize("around", ["{}", "it is {} today", '{{"order": "{}"}}', "order={}"])
def test_what_only_begins_as_a_key_does_stays(text: str, around: str) -> None:
    whole = around.format(text)

    assert whole == text_of(whole)


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
