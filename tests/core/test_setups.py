"""What differs in the agents themselves, as a comparison names it."""

from __future__ import annotations

from dataclasses import replace

import pytest

from pytest_sopbench._core.comparing.comparison import Setup, SetupChange, setup_changes
from pytest_sopbench._reports.terminal.comparison import setup_lines

BEFORE = Setup(
    agent="react",
    model="openai/a",
    prompt="react.md.jinja",
    prompt_hash="3f2a000000000000",
    settings={"temperature": "0", "max_turns": "50"},
)


def told(now: Setup, before: Setup = BEFORE) -> list[str]:
    changes = setup_changes({"a": before}, {"b": now})
    return [f"{one.what}: {one.before} -> {one.now}" for one in changes]


@pytest.mark.parametrize(
    ("now", "said"),
    [
        pytest.param(BEFORE, [], id="nothing"),
        pytest.param(
            replace(BEFORE, prompt_hash="91bc000000000000"),
            ["prompt react.md.jinja: 3f2a -> 91bc"],
            id="prompt",
        ),
        pytest.param(
            replace(BEFORE, prompt_hash="3f2a111111111111"),
            ["prompt react.md.jinja: 3f2a0000 -> 3f2a1111"],
            id="prompt-that-begins-alike",
        ),
        pytest.param(
            replace(BEFORE, prompt="mine.jinja", prompt_hash="91bc000000000000"),
            ["prompt: react.md.jinja 3f2a -> mine.jinja 91bc"],
            id="another-file",
        ),
        pytest.param(
            replace(BEFORE, prompt="copy.jinja"), [], id="another-file-with-the-same-text"
        ),
        pytest.param(
            replace(BEFORE, model="openai/b"), ["model: openai/a -> openai/b"], id="model"
        ),
        pytest.param(
            replace(BEFORE, settings={"max_turns": "50", "seed": "7"}),
            ["temperature: 0 -> not set", "seed: not set -> 7"],
            id="settings",
        ),
        pytest.param(replace(BEFORE, settings=None, agent="", model=""), [], id="unknown-there"),
        pytest.param(
            Setup(agent="mine:agent", settings={"x": "1"}),
            ["agent: react -> mine:agent"],
            id="no-agent-of-ours",
        ),
    ],
)
def test_what_differs_is_named(now: Setup, said: list[str]) -> None:
    assert said == told(now)


def test_several_agents_are_compared_by_name() -> None:
    now = {"a": replace(BEFORE, model="openai/b"), "new": BEFORE}

    changes = setup_changes({"a": BEFORE, "old": BEFORE}, now)

    assert (SetupChange(agent="a", what="model", before="openai/a", now="openai/b"),) == changes


def test_lines_are_short_enough_for_a_terminal() -> None:
    now = replace(BEFORE, prompt_hash="91bc000000000000", model="openai/gpt-5-mini", settings={})

    lines = [*setup_lines(setup_changes({"a": BEFORE}, {"a": now}))]

    assert lines == [
        "setup  model: openai/a -> openai/gpt-5-mini,",
        "       prompt react.md.jinja: 3f2a -> 91bc, temperature: 0 -> not set,",
        "       max_turns: 50 -> not set",
    ]
