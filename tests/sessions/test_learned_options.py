"""What shards learn with their first run: one without a run is a part all the same."""

from __future__ import annotations

from types import SimpleNamespace
from typing import Any

from pytest_sopbench._sessions.commands.learned_options import learned, unlike

TOLD = {"trials": 1, "prompts": {"a": "3f2a"}, "setups": {"a": {}}, "prices": "mine of 2026-11-01"}


def test_a_shard_without_a_run_differs_in_nothing() -> None:
    assert ({}, {}) == unlike(TOLD, {"trials": 1})


def test_another_prompt_is_another_session() -> None:
    other = {**TOLD, "prompts": {"a": "91bc"}}

    assert ({"prompts": {"a": "3f2a"}}, {"prompts": {"a": "91bc"}}) == unlike(TOLD, other)


def test_other_prices_are_no_other_session() -> None:
    assert ({}, {}) == unlike(TOLD, {**TOLD, "prices": "mine of 2026-12-01"})


def test_all_prices_of_the_parts_are_named() -> None:
    asked = SimpleNamespace(doubtful={})
    parts: list[Any] = [
        SimpleNamespace(header=SimpleNamespace(options=options, asked=asked))
        for options in ({"trials": 1}, TOLD, {**TOLD, "prices": "mine of 2026-12-01"})
    ]

    whole = learned(parts)

    assert "mine of 2026-11-01, mine of 2026-12-01" == whole["prices"]
    assert {"a": "3f2a"} == whole["prompts"]
