"""A model provider on the loopback, and what tests of the reference agents need of it."""

from __future__ import annotations

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

sys.path.insert(0, str(Path(__file__).parent))

from model_stub import Stub

KEY = "sk-canary-5Qw8Zt1Lm3"
SECRET = "aws-canary-secret-77Xy"


@pytest.fixture
def stub(monkeypatch: pytest.MonkeyPatch) -> Iterator[Stub]:
    """The stub, which the clients of this process and of its children find."""
    with Stub() as served:
        monkeypatch.setenv("OPENAI_BASE_URL", f"{served.url}/v1")
        monkeypatch.setenv("OPENAI_API_KEY", KEY)
        monkeypatch.setenv("AWS_ENDPOINT_URL_BEDROCK_RUNTIME", served.url)
        monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIACANARY00000")
        monkeypatch.setenv("AWS_SECRET_ACCESS_KEY", SECRET)
        monkeypatch.setenv("AWS_DEFAULT_REGION", "eu-central-1")
        for name in ("AWS_PROFILE", "AWS_BEARER_TOKEN_BEDROCK", "AWS_SESSION_TOKEN"):
            monkeypatch.delenv(name, raising=False)
        yield served
