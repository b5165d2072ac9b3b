"""What is masked in a session: what `sop_redact` names, and variables that the agent is given."""

from __future__ import annotations

from pathlib import Path

import pytest

from pytest_sopbench._core.records.redaction import Redaction
from pytest_sopbench._hooks.settings.hidden import hidden_of

ENVIRONMENT = {"TOKEN": "a-long-token", "KEY": "another-key", "SHORT": "12345", "EMPTY": ""}


def test_variables_and_patterns_are_masked() -> None:
    redaction = hidden_of(["env:TOKEN", "sk-[0-9]+"], [], ENVIRONMENT).redaction

    assert "***, *** and another-key" == redaction.text("a-long-token, sk-1 and another-key")


def test_a_variable_of_the_agent_is_masked_without_being_named() -> None:
    hidden = hidden_of([], ["key=env:KEY", "model=a-long-token"], ENVIRONMENT)

    assert "*** of a-long-token" == hidden.redaction.text("another-key of a-long-token")
    assert () == hidden.open_arguments


def test_the_key_of_the_judge_is_masked_without_being_named() -> None:
    judge = ["openai/judge-1", "api_key=env:KEY", "temperature=0"]

    redaction = hidden_of([], [], ENVIRONMENT, judge=judge).redaction

    assert "*** of openai/judge-1" == redaction.text("another-key of openai/judge-1")


@pytest.mark.parametrize(
    ("setting", "environment"),
    [
        pytest.param("base_url=http://joe:p%40ssword@host/v1", {}, id="argument"),
        pytest.param("base_url=env:URL", {"URL": "http://joe:p%40ssword@host"}, id="variable"),
        pytest.param("model=m", {"HTTPS_PROXY": "http://joe:p%40ssword@proxy:3128"}, id="proxy"),
        pytest.param("model=m", {"all_proxy": "socks5://joe:p%40ssword@proxy"}, id="lower-case"),
        pytest.param("model=m", {"OPENAI_BASE_URL": "https://joe:p%40ssword@host/v1"}, id="server"),
    ],
)
def test_passwords_in_addresses_that_clients_follow_are_masked(
    setting: str, environment: dict[str, str]
) -> None:
    """A client quotes the address, and a server the header that is made of it."""
    redaction = hidden_of([], [setting], environment).redaction

    told = "no way to http://joe:p%40ssword@host; Basic am9lOnBAc3N3b3Jk, p@ssword"
    masked = redaction.text(told)
    assert masked.startswith("no way to ")
    assert not any(one in masked for one in ("ssword", "c3N3b3"))


def test_a_user_of_an_address_is_no_secret_unless_it_is_a_token() -> None:
    environment = {"HTTP_PROXY": "http://jenkins@proxy", "HTTPS_PROXY": f"http://{'t0' * 10}@proxy"}

    redaction = hidden_of([], [], environment).redaction

    assert "jenkins ***" == redaction.text(f"jenkins {'t0' * 10}")


def test_a_variable_too_short_to_be_masked_is_told_of() -> None:
    hidden = hidden_of([], ["key=env:SHORT", "other=env:EMPTY", "no=env:NONE"], ENVIRONMENT)

    assert hidden.redaction == Redaction()
    assert ("key",) == hidden.open_arguments


def test_known_forms_alone_are_masked_where_nothing_is_named() -> None:
    assert hidden_of([], ["key=value"], ENVIRONMENT).redaction == Redaction()
    assert hidden_of(["env:EMPTY"], [], ENVIRONMENT).redaction == Redaction()


@pytest.mark.parametrize("name", ["NONE", "SHORT"])
def test_a_variable_that_holds_no_secret_is_a_usage_error(name: str) -> None:
    with pytest.raises(pytest.UsageError, match=f"sop_redact=env:{name}"):
        hidden_of([f"env:{name}"], [], ENVIRONMENT)


def test_a_variable_that_only_another_machine_has_is_none_of_a_worker() -> None:
    hidden = hidden_of(["env:NONE", "env:TOKEN"], [], ENVIRONMENT, strict=False)

    assert "***" == hidden.redaction.text("a-long-token")


def test_an_argument_that_is_not_masked_is_told_in_the_summary(
    lab: Path, pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("LEVEL", "high")
    pytester.makepyfile(tuned="def agent(inputs, level): return {'grade': level}")

    result = pytester.runpytest(
        f"--sop-domain={lab.name}", "--sop-agent=tuned:agent", "--sop-agent-arg=level=env:LEVEL"
    )

    result.stdout.fnmatch_lines(
        ["note   agent argument level: its variable holds fewer than 6 characters, and is not *"]
    )


def test_masking_changes_no_verdict(lab: Path, pytester: pytest.Pytester) -> None:
    """The answers themselves are masked: they are judged as they were given."""
    result = pytester.runpytest(
        f"--sop-domain={lab.name}", "--sop-agent=habits:right", "-osop_redact=pass|retest|fail",
        "-osop_traces=all",
    )  # fmt: skip

    assert 0 == result.ret
    result.stdout.fnmatch_lines(["TSR*correct, 6 of 6 *"])
    text = (pytester.path / ".sop/sessions/last.jsonl").read_text("ascii")
    assert '"retest"' not in text
    assert '"grade":"***"' in text
