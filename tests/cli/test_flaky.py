"""`sopbench compare --flaky`: entries to paste for the tasks whose runs disagree."""

from __future__ import annotations

import tomllib
from collections.abc import Callable
from datetime import date
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from pytest_sopbench import Outcome
from pytest_sopbench._cli import compare as compare_command
from pytest_sopbench._loading.quarantine_file import read_tasks_file

Sopbench = Callable[..., Result]
Save = Callable[..., Path]
Make = Callable[..., Any]


def test_trials_that_disagree_are_proposed(
    sopbench: Sopbench, save: Save, run_of: Make, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    outcomes = (Outcome.CORRECT, Outcome.WRONG, Outcome.TIMEOUT)
    flaky = [run_of("T1", one, trial=trial) for trial, one in enumerate(outcomes, start=1)]
    steady = [run_of("T2", trial=trial) for trial in (1, 2, 3)]
    failing = [run_of("T3", Outcome.WRONG, trial=trial) for trial in (1, 2, 3)]
    save("s", [*flaky, *steady, *failing])
    monkeypatch.setattr(compare_command, "today", lambda: date(2026, 2, 25))

    result = sopbench("compare", "--flaky", "s", "--days", "7")

    (tmp_path / "sop_tasks.toml").write_text(result.stdout)
    (entry,) = read_tasks_file(tmp_path / "sop_tasks.toml").entries.values()
    assert 0 == result.exit_code
    assert result.stdout.startswith("# runs disagree on 1 of 3 repeated tasks\n")
    assert "refunds/T1" == str(entry.name)
    assert "1 of 3 runs correct, 1 wrong, 1 timeout" == entry.may_fail
    assert date(2026, 3, 4) == entry.until


def test_sessions_that_disagree_are_proposed(sopbench: Sopbench, save: Save, runs: Make) -> None:
    save("one", runs("T1"))
    save("two", runs("T2"))

    found = tomllib.loads(sopbench("compare", "--flaky", "one", "two").stdout)

    assert ["refunds/T1", "refunds/T2"] == list(found)


def test_what_the_tasks_file_has_is_not_proposed_again(
    sopbench: Sopbench, save: Save, runs: Make, tmp_path: Path
) -> None:
    save("one", runs("T1"))
    save("two", runs("T2"))
    (tmp_path / "sop_tasks.toml").write_text('["refunds/T1"]\nmust_pass = true\n')

    result = sopbench("compare", "--flaky", "one", "two")

    assert ["refunds/T2"] == list(tomllib.loads(result.stdout))
    assert "# 1 of them stands in the tasks file already" in result.stdout


def test_what_no_entry_forgives_is_told_and_not_proposed(
    sopbench: Sopbench, save: Save, run_of: Make
) -> None:
    save("one", [run_of("T1"), run_of("T2", Outcome.NO_ANSWER)])
    save("two", [run_of("T1", Outcome.TIMEOUT), run_of("T2")])

    result = sopbench("compare", "--flaky", "one", "two")

    assert ["refunds/T2"] == list(tomllib.loads(result.stdout))
    assert '# "refunds/T1": 1 timeout, which no entry forgives' in result.stdout


@pytest.mark.parametrize(
    "outcome", [Outcome.UNAVAILABLE, Outcome.NOT_RUN], ids=["unavailable", "not run"]
)
def test_what_says_nothing_of_the_agent_is_no_disagreement(
    sopbench: Sopbench, save: Save, run_of: Make, outcome: Outcome
) -> None:
    save("one", [run_of("T1"), run_of("T2")])
    save("two", [run_of("T1", outcome), run_of("T2")])

    assert {} == tomllib.loads(sopbench("compare", "--flaky", "one", "two").stdout)


def test_a_row_that_changed_in_between_is_another_task(
    sopbench: Sopbench, save: Save, run_of: Make
) -> None:
    save("one", [run_of("T1", task_hash="old"), run_of("T2")])
    save("two", [run_of("T1", Outcome.WRONG, task_hash="new"), run_of("T2")])

    result = sopbench("compare", "--flaky", "one", "two")

    assert "# runs disagree on 0 of 1 repeated task\n" == result.stdout


def test_a_task_with_a_quote_in_its_id_is_toml(
    sopbench: Sopbench, save: Save, run_of: Make
) -> None:
    name = 'a "b"\\c\x7f/d'
    save("one", [run_of(name)])
    save("two", [run_of(name, Outcome.WRONG)])

    result = sopbench("compare", "--flaky", "one", "two")

    assert [f"refunds/{name}"] == list(tomllib.loads(result.stdout))


@pytest.mark.parametrize(
    ("names", "message"),
    [
        pytest.param(("one",), "no task was run twice", id="nothing repeated"),
        pytest.param(("one", "one"), "is named twice", id="twice"),
        pytest.param(("one", "judged"), "judged by different rules", id="judging"),
        pytest.param(("one", "other"), "are of several agents: a:b, c:d", id="agent"),
        pytest.param(("one", "args"), "agents with other arguments", id="arguments"),
        pytest.param(("one", "two", "--gate=lost=0"), "--gate: it does not go with", id="gate"),
    ],
)
def test_wrong_usage_is_told(
    sopbench: Sopbench,
    save: Save,
    runs: Make,
    names: tuple[str, ...],
    message: str,
) -> None:
    save("one", runs("T1"))
    save("judged", runs("T2"), judging="k")
    save("other", runs("T2", agent="c:d"), agent="c:d")
    save("args", runs("T2"), agent_args={"model": "m"})

    result = sopbench("compare", "--flaky", *names)

    assert 2 == result.exit_code
    assert message in result.stderr
