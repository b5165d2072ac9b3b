"""What shards learn with their first run: one without a run is a part all the same."""

from __future__ import annotations

from typing import Any

from pytest_sopbench._sessions.commands import resume as learned_options
from pytest_sopbench._sessions.header import SessionOptions, read_session_options

TOLD: dict[str, Any] = {
    "trials": 1,
    "prompts": {"a": "3f2a"},
    "setups": {"a": {"model": "m"}},
    "prices": "mine of 2026-11-01",
}


def unlike(one: dict[str, Any], other: dict[str, Any]) -> Any:
    return learned_options.unlike(read_session_options(one), read_session_options(other))


def test_a_shard_without_a_run_differs_in_nothing() -> None:
    assert ({}, {}) == unlike(TOLD, {"trials": 1})


def test_another_prompt_is_another_session() -> None:
    other = {**TOLD, "prompts": {"a": "91bc"}}

    assert ({"prompts": {"a": "3f2a"}}, {"prompts": {"a": "91bc"}}) == unlike(TOLD, other)


def test_an_option_of_another_version_may_tell_sessions_apart() -> None:
    assert ({"later": 1}, {"later": 2}) == unlike({**TOLD, "later": 1}, {**TOLD, "later": 2})


def test_other_prices_are_no_other_session() -> None:
    assert ({}, {}) == unlike(TOLD, {**TOLD, "prices": "mine of 2026-12-01"})


def test_all_prices_of_the_parts_are_named() -> None:
    parts = [
        read_session_options(one)
        for one in ({"trials": 1}, TOLD, {**TOLD, "prices": "mine of 2026-12-01"})
    ]

    whole = learned_options.learned(SessionOptions(), parts)

    assert "mine of 2026-11-01, mine of 2026-12-01" == whole.prices
    assert {"a": "3f2a"} == whole.prompts
