"""Tables as teams have them, through the front door: the domain is what a colleague would make.

What no column may do holds of all of them: become a number that nobody wrote, or reach an agent
though it holds the answer or tells of persons.
"""

from __future__ import annotations

import csv
import json
from pathlib import Path
from typing import Any

import pytest
from click.testing import Result

from pytest_sopbench import Domain
from tests.builders.commands import sopbench
from tests.builders.domains import audit_domain, load_domain

from .teams import TEAMS, Team


@pytest.fixture(autouse=True)
def empty_folder(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.chdir(tmp_path)
    Path("sop.md").write_text("# Procedure\n\n1.1 Pay or refuse.\n", "utf-8")


def made(team: Team) -> tuple[Result, Domain]:
    path = team.write(Path())
    result = sopbench("new", "team", "--from", str(path), *team.asked, "--sop", "sop.md")
    assert 0 == result.exit_code, result.output
    return result, load_domain(Path("domains/team"))


def data() -> list[dict[str, str]]:
    with Path("domains/team/data.csv").open(encoding="utf-8", newline="") as stream:
        return list(csv.DictReader(stream))


def fields() -> dict[str, str]:
    """The names of fields, by those of the columns in the data file."""
    metadata = json.loads(Path("domains/team/metadata.json").read_text("utf-8"))
    ours = {theirs: name for name, theirs in metadata.get("columns", {}).items()}
    return {name: ours.get(name, name) for name in data()[0]}


def part(domain: Domain, column: str) -> str:
    name = fields().get(column)
    if name is None:
        return "dropped"
    if name in domain.private_columns:
        return "private"
    if name in [one.name for one in domain.fields]:
        return "output"
    if name in domain.input_columns:
        return "id" if domain.tasks[0].inputs[name] == domain.tasks[0].id else "input"
    return "tool" if any(name in tool.returns for tool in domain.lookups.values()) else "unused"


@pytest.mark.parametrize("team", TEAMS.values(), ids=TEAMS.keys())
def test_the_domain_of_a_table_is_what_a_colleague_would_make(team: Team) -> None:
    result, domain = made(team)

    rows, names = data(), fields()
    values: list[dict[str, Any]] = [{**task.results, **task.inputs} for task in domain.tasks]
    printed = " ".join(result.stdout.partition("= audit")[0].split())
    found = {one.rule for one in audit_domain(Path("domains/team"))}
    assert dict(team.parts) == {name: part(domain, name) for name in team.parts}
    for column, texts in team.sees.items():
        assert list(texts) == [row[column] for row in rows[: len(texts)]], column
    for column, read in team.read.items():
        assert list(read) == [row[names[column]] for row in values[: len(read)]], column
    assert [] == [one for one in team.told if one not in printed], result.stdout
    # No answer leaks, nobody is told of, and every tool can be called on every row.
    asked = {"personal-data"} if "--tool" in team.asked else set[str]()
    assert found.isdisjoint({"answer-in-input", "answer-from-tool", "personal-data"} - asked)
    assert found.isdisjoint({"row-breaks-spec", "does-not-load"})
