"""`sop_judge`: what can be set, and what is refused with its reason."""

from __future__ import annotations

import pytest

from pytest_sopbench._judge.judge import read_setting
from pytest_sopbench.errors import JudgeError

KEY = "sk-canary-91"


@pytest.fixture(autouse=True)
def no_other_server(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("OPENAI_BASE_URL", raising=False)
    monkeypatch.setenv("JUDGE_KEY", KEY)


def test_nothing_set_is_no_judge() -> None:
    assert read_setting([]) is None


def test_the_temperature_is_0_unless_something_else_is_said() -> None:
    plain = read_setting(["openai/m"])
    warm = read_setting(["openai/m", "temperature=0.5"])
    without = read_setting(["openai/m", "temperature=none"])

    assert plain is not None
    assert warm is not None
    assert without is not None
    assert ("0", "0.5") == (plain.parameters["temperature"], warm.parameters["temperature"])
    assert {} == without.parameters


def test_what_a_judgement_depends_on_holds_no_secret_and_no_connection() -> None:
    one = read_setting(
        ["openai/m", "api_key=env:JUDGE_KEY", "base_url=http://me:pw@host/v1", "timeout=9"]
    )

    assert one is not None
    assert {"model", "prompt", "server", "temperature"} == {*one.settings}
    assert "http://host/v1" == one.settings["server"]
    assert KEY not in repr(one)
    assert "pw" not in repr(one)


@pytest.mark.parametrize(
    ("words", "told"),
    [
        pytest.param(["temperature=0"], "the model is missing", id="no-model"),
        pytest.param(["openai/m", "cold"], "'cold' is no KEY=VALUE", id="no-pair"),
        pytest.param(["openai/m", "temprature=0"], "did you mean temperature?", id="unknown"),
        pytest.param(["openai/m", "seed=1", "seed=2"], "given twice", id="twice"),
        pytest.param(
            ["openai/m", "temperature=hot"], "temperature=hot: it must be", id="no-number"
        ),
        pytest.param(["openai/m", "timeout=0"], "timeout=0: it must be", id="no-time"),
        pytest.param(["openai/m", f"api_key={KEY}"], "write api_key=env:NAME", id="key-itself"),
        pytest.param(["openai/m", "api_key=env:NOT_SET"], "no variable 'NOT_SET'", id="no-key"),
    ],
)
def test_what_cannot_be_is_said_without_a_secret(words: list[str], told: str) -> None:
    with pytest.raises(JudgeError) as raised:
        read_setting(words)

    assert told in str(raised.value)
    assert KEY not in str(raised.value)


@pytest.mark.parametrize(
    ("model", "told"),
    [
        pytest.param("opnai/m", "did you mean openai?", id="unknown-provider"),
        pytest.param("m", "the provider or the model is missing", id="no-provider"),
    ],
)
def test_a_model_that_cannot_be_is_said_when_its_client_is_made(model: str, told: str) -> None:
    setting = read_setting([model])

    assert setting is not None
    with pytest.raises(JudgeError, match=r"^sop_judge: ") as raised:
        setting.client()
    assert told in str(raised.value)
