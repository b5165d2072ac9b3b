"""A child signs for the proxy; AWS gets a signature for itself."""

from __future__ import annotations

from typing import Any

import pytest
from replay_stub.asking import library

from pytest_sopbench._replay.proxy.forwarding import signed
from pytest_sopbench._replay.tape.exchange import Request
from pytest_sopbench.errors import CassetteError

URL = "https://bedrock-runtime.eu-central-1.amazonaws.com/model/v.m-1%3A0/converse"
ENVIRONMENT = {"AWS_ACCESS_KEY_ID": "AKIAX", "AWS_SECRET_ACCESS_KEY": "of nobody"}


def asked(url: str = URL, key: str = "AKIAX") -> Request:
    credential = f"{key}/20260101/eu-central-1/bedrock/aws4_request"
    headers = (
        ("Authorization", f"AWS4-HMAC-SHA256 Credential={credential}, Signature=of-the-proxy"),
        ("X-Amz-Date", "20260101T000000Z"),
        ("Content-Type", "application/json"),
    )
    return Request(method="POST", url=url, headers=headers, body=b"{}")


def test_the_signature_is_the_one_of_the_credentials_for_the_real_host() -> None:
    library("botocore")

    headers = dict(signed(asked(), ENVIRONMENT))

    assert headers["Authorization"] == _own_signature(headers["X-Amz-Date"])
    assert "application/json" == headers["Content-Type"]


def _own_signature(date: str) -> str:
    """As botocore signs a request of the same moment."""
    auth, request = library("botocore.auth"), library("botocore.awsrequest")
    credentials = library("botocore.credentials").Credentials("AKIAX", "of nobody")
    signer = auth.SigV4Auth(credentials, "bedrock", "eu-central-1")
    fresh = request.AWSRequest(
        method="POST", url=URL, data=b"{}", headers={"Content-Type": "application/json"}
    )
    fresh.context["timestamp"] = date
    fresh.headers["X-Amz-Date"] = date
    canonical = signer.canonical_request(fresh)
    text = signer.string_to_sign(fresh, canonical)
    signer._inject_signature_to_request(fresh, signer.signature(text, fresh))
    return str(fresh.headers["Authorization"])


def test_credentials_that_are_not_here_are_a_clear_error(monkeypatch: pytest.MonkeyPatch) -> None:
    library("botocore")
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIAOTHER")
    monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", "of nobody")

    with pytest.raises(CassetteError, match="its credentials are not those of the environment"):
        signed(asked(), {})


def test_without_botocore_nothing_is_signed(monkeypatch: pytest.MonkeyPatch) -> None:
    def missing(name: str) -> Any:
        raise ImportError(name)

    monkeypatch.setattr("pytest_sopbench._replay.proxy.forwarding.import_module", missing)

    with pytest.raises(CassetteError, match="only be recorded where botocore is installed"):
        signed(asked(), ENVIRONMENT)


@pytest.mark.parametrize(
    "request_",
    [
        pytest.param(asked("http://127.0.0.1:8000/model/m/converse"), id="a-stub-here"),
        pytest.param(asked("http://localhost:8000/model/m/converse"), id="localhost"),
        pytest.param(
            Request(method="POST", url=URL, headers=(("authorization", "Bearer x"),)), id="api-key"
        ),
    ],
)
def test_what_needs_no_signature_passes_as_it_is(request_: Request) -> None:
    assert request_.headers == signed(request_, {})
