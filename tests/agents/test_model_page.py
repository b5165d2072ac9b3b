"""The how-to page on models and the reference page: their commands print what they show."""

from __future__ import annotations

import re
import shlex
from collections import Counter
from pathlib import Path
from typing import Any

import pytest
from shown import commands_of, is_shown

from pytest_sopbench.agents import FunctionCalling, ReAct, Stepwise
from pytest_sopbench.agents.clients import PROVIDERS
from pytest_sopbench.agents.model_agent import settings_of
from tests.builders.running import resolve_agent

DOCS = Path(__file__).parents[2] / "docs"
PAGE = (DOCS / "how-to" / "test-a-model.md").read_text(encoding="utf-8")
SERVER = PAGE.partition("\n## A local or compatible server\n")[2].partition("\n## ")[0]
# The section sets for its project what would also be set for the others.
PAGES = {"provider": PAGE.replace(SERVER, ""), "local server": SERVER}
REFERENCE = (DOCS / "reference" / "reference-agents.md").read_text(encoding="utf-8")
COMMANDS = [(name, *one) for name, page in PAGES.items() for one in commands_of(page)]


@pytest.mark.parametrize(
    ("name", "command", "shown"), COMMANDS, ids=[f"{one[0]}-{n}" for n, one in enumerate(COMMANDS)]
)
def test_a_command_prints_what_the_page_shows(
    pytester: pytest.Pytester,
    stub: Any,
    monkeypatch: pytest.MonkeyPatch,
    name: str,
    command: str,
    shown: str,
) -> None:
    monkeypatch.setenv("PYTEST_DISABLE_PLUGIN_AUTOLOAD", "1")
    monkeypatch.setenv("PYTEST_ADDOPTS", "-psopbench")
    monkeypatch.setenv("OPENROUTER_API_KEY", "a-key-of-nobody")
    monkeypatch.setenv("GATEWAY", '{"X-Team": "returns"}')
    if name == "local server":
        # What the section says must suffice, without what the others set.
        monkeypatch.delenv("OPENAI_BASE_URL")
    for file, code in re.findall(r"# file: (\S+)\n(.*?)```", PAGES[name], re.DOTALL):
        # What is set for a project would also be set for what stands elsewhere on the page.
        if file.endswith(".toml") or is_of_project(command):
            place = pytester.path / file
            place.write_text(code.replace("http://localhost:11434", stub.url), encoding="utf-8")
    arguments = shlex.split(command.replace("http://localhost:11434", stub.url))

    result = pytester.runpytest_inprocess(*arguments)

    told = "\n".join([*result.outlines, *result.errlines])
    assert is_shown(shown, told), told
    assert stub.requests or "ERROR" in shown


def is_of_project(command: str) -> bool:
    return "test_goods.py" in command or "--agent" not in command


def test_the_page_has_an_example_of_everything() -> None:
    counts = Counter(name for name, *_ in COMMANDS)

    assert {"provider": 9, "local server": 3} == counts


def test_the_reference_names_every_setting_with_who_takes_it() -> None:
    rows = re.findall(r"^\| (`.*?) \|.*\| (\w+) \| (\w+) \| (\w+) \|$", REFERENCE, re.MULTILINE)
    takes = {
        name: [answer == "yes" for answer in answers]
        for names, *answers in rows
        for name in re.findall(r"`(\w+)`", names)
    }
    everywhere = {"timeout", "max_retries", "connections", "max_turns", "max_context", "prompt"}

    for kind in (FunctionCalling, ReAct, Stepwise):
        assert {*settings_of(kind)} == takes.keys()
    for name, answers in takes.items():
        known = [name in kind.takes or name in everywhere for kind in PROVIDERS.values()]
        assert known == answers, name


def test_the_client_of_the_reference_page_works(desk: Any) -> None:
    (code,) = re.findall(r"# file: shouting.py\n(.*?)```", REFERENCE, re.DOTALL)
    names: dict[str, Any] = {}
    exec(code, names)  # noqa: S102 - the page's own example is what is tested

    assert "correct" == desk.run(names["agent"]).verdict.outcome.value


def test_the_script_of_the_reference_page_is_an_agent_that_is_wrong(
    desk: Any, goods: Any, tmp_path: Path
) -> None:
    (line,) = re.findall(r"```json\n(.*?)```", REFERENCE, re.DOTALL)
    (tmp_path / "script.jsonl").write_text(line, encoding="utf-8")
    agent = resolve_agent("scripted:script.jsonl", path=tmp_path, domains=[goods])

    ran = desk.run(agent, next(task for task in goods.tasks if task.id == "P_95473"))

    assert "wrong" == ran.verdict.outcome.value
    assert ["record_class"] == [call.name for call in ran.trace.calls]
