"""The page on comparing: what it says of baselines and of quarantine is what is printed."""

from __future__ import annotations

import re
import shlex

import pytest

from pytest_sopbench._core.comparison import ComparisonResult
from pytest_sopbench._core.gates.conditions import COMPARISON_GATES, gate_names
from tests.builders.pages import DOCS, blocks, write_late_returns

OPTIONS = (DOCS / "reference" / "options.md").read_text(encoding="utf-8")
PAGE = (DOCS / "how-to" / "compare.md").read_text(encoding="utf-8")
COMPARE = PAGE.partition("## Compare two models")[0]
QUARANTINE = PAGE.partition("## Quarantine a flaky task")[2]


def commands(page: str) -> list[tuple[str, str]]:
    """Return each command of pytest and what the page shows of its output, maybe nothing."""
    return [
        (command, shown)
        for block in blocks(page, "console")
        for command, shown in re.findall(
            r"^\$ pytest (.*)\n((?:[^$].*\n|\n)*)", block, re.MULTILINE
        )
    ]


def assert_shown(shown: str, output: str) -> None:
    """Fail unless the page shows the output, `...` standing for any lines or any text."""
    text, lines = (re.sub(r"={3,}", "===", one) for one in (shown, f"{output}\n"))
    parts = re.split(r"^\.\.\.\n", text, flags=re.MULTILINE)
    patterns = (re.escape(part).replace(r"\.\.\.s", r"[\d.]+s") for part in parts)

    assert re.fullmatch(f"{'(?s:.*?)'.join(patterns)}\\s*", lines), output


@pytest.fixture
def late_returns(pytester: pytest.Pytester) -> None:
    """The domain of the reference page, its agent, and one that allows a day too many."""
    agent = write_late_returns(pytester.path)
    pytester.makepyfile(desk=agent, late=agent.replace("days <= 30", "days <= 31"))


@pytest.mark.usefixtures("late_returns")
def test_the_commands_of_comparing_print_what_the_page_shows(pytester: pytest.Pytester) -> None:
    statuses: list[int] = []

    for command, shown in commands(COMPARE):
        result = pytester.runpytest(*shlex.split(command))

        statuses.append(int(result.ret))
        if shown:
            assert_shown(shown, f"{result.stdout}{result.stderr}")

    assert [0, 4, 1] == statuses


@pytest.mark.usefixtures("late_returns")
def test_the_session_of_the_quarantine_looks_as_the_page_shows_it(
    pytester: pytest.Pytester,
) -> None:
    """The day of the page will come; what holds until then holds for a later one too."""
    entries = blocks(QUARANTINE, "toml")[0].replace("2030-06-30", "2999-12-31")
    (pytester.path / "sop_tasks.toml").write_text(entries)
    (command, shown), *_ = [one for one in commands(QUARANTINE) if one[1].strip()]

    result = pytester.runpytest(*shlex.split(command))

    assert 0 == result.ret
    assert_shown(shown.replace("2030-06-30", "2999-12-31"), str(result.stdout))


@pytest.mark.parametrize("tier", list(ComparisonResult))
def test_every_tier_is_described(tier: ComparisonResult) -> None:
    assert f"| `{tier}` |" in COMPARE


@pytest.mark.parametrize("name", [*gate_names(), *COMPARISON_GATES])
def test_every_gate_is_named_among_the_options(name: str) -> None:
    gates = OPTIONS.partition("\n## Gates\n")[2].partition("\n## ")[0]
    (names, _, _) = zip(
        *re.findall(r"^\| (`.*) \| (.*) \| (.*) \|$", gates, re.MULTILINE), strict=True
    )

    assert f"`{name}`" in " ".join(names)


@pytest.mark.parametrize("name", COMPARISON_GATES)
def test_every_gate_on_a_comparison_is_described(name: str) -> None:
    assert f"| `--sop-gate={name}=" in COMPARE
