"""Costs by a file of prices, in whole sessions: printed, saved, within a budget, or n/a."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

from tests.builders.commands import ran

from .conftest import ReadSaved

AGENTS = """
def right(inputs, tools):
    reading = tools.call("measure", sample_id=inputs["sample_id"])["reading"]
    return {"grade": "pass" if reading > 70 else "retest" if reading > 40 else "fail"}

def dear(inputs, tools):
    tools.report(usage={"input_tokens": 40_000, "output_tokens": 6_000}, model="openai/dear")
    return right(inputs, tools)

def own(inputs, tools):
    tools.report(usage={"input_tokens": 4, "output_tokens": 6, "cost": 0.5}, model="openai/dear")
    return right(inputs, tools)

def unpriced(inputs, tools):
    tools.report(usage={"input_tokens": 4, "output_tokens": 6}, model="openai/other")
    return right(inputs, tools)

def wrong(inputs, tools):
    tools.report(usage={"input_tokens": 40_000, "output_tokens": 6_000}, model="openai/dear")
    return {"grade": "unheard of"}
"""
PRICES = """
date = 2026-11-01
[models."openai/dear"]
input = 1.0
output = 10.0
"""


@pytest.fixture(autouse=True)
def shop(pytester: pytest.Pytester, lab: Path) -> Path:
    pytester.makepyfile(shop=AGENTS)
    path = pytester.path / "prices.toml"
    path.write_text(PRICES, encoding="utf-8")
    return path


def session(pytester: pytest.Pytester, agent: str, *options: str) -> pytest.RunResult:
    return pytester.runpytest("--sop-domain=lab", f"--agent=shop:{agent}", *options)


def squeezed(result: pytest.RunResult) -> str:
    return re.sub(r"\s+", " ", result.stdout.str())


@pytest.mark.parametrize("how", [(), ("-n2",)], ids=["plain", "two workers"])
def test_tokens_cost_what_the_file_says(
    pytester: pytest.Pytester, shop: Path, saved: ReadSaved, how: tuple[str, ...]
) -> None:
    """Forty thousand tokens in and six thousand out: ten cents."""
    result = session(pytester, "dear", "-osop_prices=prices.toml", *how)

    assert 0 == result.ret
    said = squeezed(result)
    assert "sop: prices prices.toml of 2026-11-01" in said
    assert "cost $0.10 ($0.60 in 6 runs), $0.10 per correct run" in said
    assert "prices prices.toml of 2026-11-01, for 6 runs" in said
    assert {0.1} == {run["usage"]["cost_usd"] for run in saved().runs}
    assert {("openai/dear", "prices.toml of 2026-11-01")} == {
        (run["usage"]["model"], run["usage"]["priced_by"]) for run in saved().runs
    }
    assert "prices.toml of 2026-11-01" == saved().header["options"]["prices"]
    # What a session cost then, it costs for ever.
    shop.write_text(PRICES.replace("10.0", "99.0"), encoding="utf-8")
    task = saved().runs[0]["task"]
    shown = ran("show", "last", task)
    assert "$0.10 (prices: prices.toml of 2026-11-01)" in squeezed(shown)


def test_a_budget_is_kept_by_prices(pytester: pytest.Pytester, saved: ReadSaved) -> None:
    result = session(
        pytester, "dear", "-o", "sop_prices=prices.toml", "--sop-budget=.25usd", "--sop-trials=2"
    )

    assert pytest.ExitCode.TESTS_FAILED == result.ret
    result.stdout.fnmatch_lines(["budget $0.30 of $0.25 spent, 9 runs were not started, since*"])
    assert 3 == sum(run["outcome"] == "correct" for run in saved().runs)


def test_a_cost_that_the_agent_tells_stands(pytester: pytest.Pytester, saved: ReadSaved) -> None:
    session(pytester, "own", "-osop_prices=prices.toml")

    assert {(0.5, None)} == {
        (run["usage"]["cost_usd"], run["usage"].get("priced_by")) for run in saved().runs
    }


def test_a_model_without_a_price_is_named_once(pytester: pytest.Pytester, saved: ReadSaved) -> None:
    result = session(pytester, "unpriced", "-osop_prices=prices.toml", "-v")

    said = squeezed(result)
    assert 0 == result.ret
    assert 1 == said.count("prices no cost is known of openai/other (6 runs);")
    assert "cost n/a" in said
    assert {None} == {run["usage"]["cost_usd"] for run in saved().runs}


def test_a_missing_library_of_prices_is_named_once_where_a_model_has_no_price(
    pytester: pytest.Pytester, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("pytest_sopbench._hooks.session.session.has_library", lambda: False)

    result = session(pytester, "dear")
    unasked = session(pytester, "dear", "-osop_prices=none")
    untold = session(pytester, "right")

    told = (
        "prices no cost is known of openai/dear (6 runs); genai-prices is not installed:"
        " pip install genai-prices; the extra 'prices' brings it"
    )
    assert 1 == squeezed(result).count(told)
    assert "prices no cost" not in unasked.stdout.str()
    assert "prices no cost" not in untold.stdout.str()


def test_where_nothing_is_correct_a_correct_run_has_no_cost(pytester: pytest.Pytester) -> None:
    result = session(pytester, "wrong", "-osop_prices=prices.toml", "--tb=no")

    assert "cost $0.10 ($0.60 in 6 runs), n/a per correct run" in squeezed(result)


def test_without_prices_a_budget_says_what_to_do(pytester: pytest.Pytester) -> None:
    result = session(pytester, "dear", "-osop_prices=none", "--sop-budget=1usd")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(["*the first run that returned reported no cost*", "*sop_prices*"])


def test_a_price_that_is_none_ends_the_session_before_its_first_run(
    pytester: pytest.Pytester, shop: Path
) -> None:
    shop.write_text(PRICES.replace("10.0", "-10.0"), encoding="utf-8")

    result = session(pytester, "dear", "-osop_prices=prices.toml")

    assert pytest.ExitCode.USAGE_ERROR == result.ret
    result.stderr.fnmatch_lines(
        [
            'ERROR: sop_prices: *prices.toml: models."openai/dear".output: -10.0 is no price',
            "a price is a number, 0 or more: US dollars for a million tokens",
        ]
    )
    assert "Traceback" not in result.stderr.str()
