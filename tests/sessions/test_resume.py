"""Of which code a session's runs are, as far as git tells: what a resumption asks first."""

from __future__ import annotations

import pytest

from pytest_sopbench._sessions.commands.resume import git_differences
from pytest_sopbench._sessions.header import GitState

CLEAN = GitState(commit="a" * 40, dirty=False)
CHANGED = GitState(commit="a" * 40, dirty=True)
LATER = GitState(commit="b" * 40, dirty=False)


@pytest.mark.parametrize(
    ("then", "now", "said"),
    [
        pytest.param(CLEAN, CLEAN, [], id="the same"),
        pytest.param(None, None, [], id="no repository at all"),
        pytest.param(
            CLEAN, LATER, [f"git commit: {'a' * 12} there, {'b' * 12} here"], id="another commit"
        ),
        pytest.param(
            CLEAN,
            CHANGED,
            ["git: no uncommitted changes there, uncommitted changes here"],
            id="changed since",
        ),
        pytest.param(
            CHANGED,
            CLEAN,
            ["git: uncommitted changes there, no uncommitted changes here"],
            id="changed then",
        ),
        pytest.param(
            None, CLEAN, [f"git: no repository there, {'a' * 12} here"], id="a repository since"
        ),
    ],
)
def test_other_code_is_told(then: GitState | None, now: GitState | None, said: list[str]) -> None:
    assert said == list(git_differences(then, now))
