"""The pages on saved sessions: their commands print what they show, their files are taken."""

from __future__ import annotations

import json
import re
import shlex
from datetime import date
from pathlib import Path

import click
import pytest

from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._loading.quarantine_file import KEYS, check_tasks, read_tasks_file
from pytest_sopbench._sessions.header import header_from_json
from pytest_sopbench._sessions.lines import bare
from pytest_sopbench._sessions.saved import frame_of
from pytest_sopbench._sessions.writer import sealed_session
from pytest_sopbench._settings.project_file import FILES
from pytest_sopbench.cli import main
from tests.builders.commands import sopbench
from tests.builders.pages import DOCS, blocks, write_late_returns

COMMANDS = [
    main.get_command(click.Context(main), one) for one in main.list_commands(click.Context(main))
]
REFERENCE = (DOCS / "reference" / "sopbench.md").read_text(encoding="utf-8")
RESUME = (DOCS / "how-to" / "repeat-and-resume.md").read_text(encoding="utf-8")
AGAIN = RESUME.partition("## Decide again without running")[2]
COMPARE = (DOCS / "how-to" / "compare.md").read_text(encoding="utf-8")
QUARANTINE = COMPARE.partition("## Quarantine a flaky task")[2]
ONCE_WRONG = """
from desk import agent as right


def agent(inputs, tools):
    return {"decision": "no"} if inputs["order_id"] == "R-104" else right(inputs, tools)
"""


@pytest.fixture
def late_returns(pytester: pytest.Pytester) -> None:
    """The domain of the reference page, its agent, and one that allows a day too many."""
    agent = write_late_returns(pytester.path)
    pytester.makepyfile(
        desk=agent, late=agent.replace("days <= 30", "days <= 31"), once_wrong=ONCE_WRONG
    )


def run(pytester: pytest.Pytester, agent: str, name: str) -> None:
    pytester.runpytest("--sop-domain=late_returns", f"--sop-agent={agent}", f"--sop-save={name}")


@pytest.mark.usefixtures("late_returns")
def test_the_commands_of_deciding_again_print_what_the_page_shows(
    pytester: pytest.Pytester,
) -> None:
    run(pytester, "desk:agent", "main")
    run(pytester, "late:agent", "now")
    commands = re.findall(r"^\$ sopbench (.*)\n((?:[^$`].*\n)+)", AGAIN, re.MULTILINE)

    for command, shown in commands:
        lines = sopbench(*shlex.split(command)).stdout.splitlines()

        parts = re.split(r"^\.\.\.\n", shown, flags=re.MULTILINE)
        text = "\n".join(lines) + "\n"
        assert re.fullmatch("(?s:.*)".join(map(re.escape, parts)), text), text

    assert 4 == len(commands)


@pytest.mark.usefixtures("late_returns")
def test_the_baseline_of_the_page_is_compared(pytester: pytest.Pytester) -> None:
    run(pytester, "desk:agent", "main")
    run(pytester, "late:agent", "now")
    (approve,) = re.findall(r"`sopbench (approve [^`]*--baseline[^`]*)`", COMPARE)
    compare, compare_slim = re.findall(r"`sopbench (compare [^`]*now[^`]*)`", AGAIN)

    assert 1 == sopbench(*shlex.split(compare)).exit_code
    assert 0 == sopbench(*shlex.split(approve)).exit_code
    assert "lost 2 (R-103, R-104)" in sopbench(*shlex.split(compare_slim)).stdout


@pytest.mark.usefixtures("late_returns")
def test_the_proposal_of_the_page_is_what_is_printed(pytester: pytest.Pytester) -> None:
    run(pytester, "desk:agent", "monday")
    run(pytester, "once_wrong:agent", "tuesday")
    for path in pytester.path.glob(".sop/sessions/*.jsonl"):
        lines = [bare(one).decode() for one in path.read_bytes().splitlines()]
        header, *others = (one.replace("once_wrong:agent", "desk:agent") for one in lines)
        session = sealed_session(header_from_json(json.loads(header)), others)
        path.write_bytes(b"".join(session))

    printed = sopbench("compare", "--flaky", "monday", "tuesday").stdout

    shown = blocks(QUARANTINE, "toml")[-1]
    assert without_dates(shown) == without_dates(printed)


def without_dates(text: str) -> str:
    return re.sub(r"\d{4}-\d\d-\d\d", "DATE", text)


def test_the_tasks_file_of_the_page_is_taken(tmp_path: Path) -> None:
    path = tmp_path / "sop_tasks.toml"
    path.write_text(blocks(QUARANTINE, "toml")[0])

    entries = read_tasks_file(path)

    write_late_returns(tmp_path)
    check_tasks(path, entries, {"late_returns": load_domain(tmp_path / "domains/late_returns")})
    assert {"late_returns/R-104"} == {
        str(one) for one in entries.forgiven(date(2030, 6, 30)).answers
    }
    assert {"late_returns/R-101"} == {str(one) for one in entries.must_pass}


@pytest.mark.parametrize("key", KEYS)
def test_every_key_of_the_tasks_file_is_described(key: str) -> None:
    assert f"`{key}" in QUARANTINE


@pytest.mark.parametrize("command", COMMANDS, ids=lambda one: one.name)
def test_every_command_and_option_is_described(command: click.Command) -> None:
    found = re.findall(rf"## `sopbench {command.name}\b(.*?)(?=\n## )", REFERENCE, re.DOTALL)
    section = "\n".join(found)
    below = [*command.commands.values()] if isinstance(command, click.Group) else []
    # Commands below a command have a section each, or share one.
    assert 1 <= len(found) <= max(1, len(below))
    assert [] == [one.name for one in below if one.name not in section]
    params = [param for one in (command, *below) for param in one.params]
    options = [one for one in params if isinstance(one, click.Option)]

    missing = [one.opts[-1] for one in options if one.opts[-1] not in section]
    shown_elsewhere = {"--verbose": "-v", "--quiet": "-q"}
    assert [] == [one for one in missing if shown_elsewhere.get(one, one) not in section]


def test_every_column_of_a_table_is_described() -> None:
    assert [] == [name for name in frame_of([]).columns if f"`{name}`" not in REFERENCE]


def test_every_file_of_configuration_is_named_in_its_order() -> None:
    places = [REFERENCE.index(f"`{name}`") for name in FILES]

    assert sorted(places) == places


@pytest.mark.usefixtures("late_returns")
def test_a_session_is_loaded_as_the_page_does_it(pytester: pytest.Pytester) -> None:
    run(pytester, "late:agent", "now")
    names: dict[str, object] = {}

    exec(blocks(REFERENCE, "python")[0], names)  # noqa: S102 - the page's own example is tested

    wrong = names["wrong"]
    assert isinstance(wrong, list)
    assert 2 == len(wrong)
