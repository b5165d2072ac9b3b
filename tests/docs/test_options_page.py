"""The pages on options and the table of options say the same, most needed first."""

from __future__ import annotations

import re
from pathlib import Path

from tests.builders.tables import TABLE

ROOT = Path(__file__).parents[2]
REFERENCE = ROOT / "docs" / "reference"
PAGE = (REFERENCE / "options.md").read_text(encoding="utf-8")
ADVANCED = (REFERENCE / "advanced.md").read_text(encoding="utf-8")
MOST_NEEDED = [
    *("--sop-domain", "--agent", "--sop-sample"),
    *("--sop-concurrency", "--sop-fail-under", "--sop-compare"),
]


def rows(text: str) -> list[list[str]]:
    """Return the cells of the rows of tables that begin with a name."""
    lines = [line for line in text.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def names(text: str) -> list[str]:
    return [re.split(r"[ `]", cells[0].strip("`"))[0] for cells in rows(text)]


def test_the_page_has_every_option_as_the_table_writes_it() -> None:
    section = PAGE.split("## Command line\n")[1].split("\n## ")[0]
    written = [cells[0].replace("\\|", "|") for cells in rows(section)]

    known = [
        ", ".join(f"`{name} {spec.metavar}`" for name in (*spec.aliases, spec.option))
        for spec in TABLE
        if spec.is_option
    ]
    assert sorted([*known, "`--snapshot-update`"]) == sorted(written)


def test_the_pages_have_every_ini_value_once_with_its_default() -> None:
    section = PAGE.split("## Configuration\n")[1].split("\n## ")[0]
    found = [(cells[0].strip("`"), cells[1].strip("`")) for cells in rows(section) + rows(ADVANCED)]
    written = dict(found)

    known = {spec.name: " ".join(spec.default) for spec in TABLE if spec.is_ini}
    assert known == written
    assert len(found) == len(written)


def test_every_option_that_a_message_or_a_page_names_exists() -> None:
    files = [
        *(ROOT / "src").rglob("*.py"),
        *(ROOT / "docs").rglob("*.md"),
        *(ROOT / name for name in ("README.md", "action.yml")),
    ]
    named = {
        (option, path.name)
        for path in files
        for option in re.findall(r"--sop-[a-z]+(?:-[a-z]+)*", path.read_text("utf-8"))
    }

    known = {spec.option for spec in TABLE if spec.is_option}
    assert [] == sorted(one for one in named if one[0] not in known)


def test_what_hardly_anybody_needs_stands_on_the_other_page() -> None:
    assert ["sop_trust", "sop_scoring"] == names(ADVANCED)


def test_the_page_begins_with_the_six_that_most_people_need() -> None:
    assert MOST_NEEDED == names(PAGE)[:6]


def test_what_selects_tasks_stands_together_in_the_order_in_which_it_applies() -> None:
    together = ["--sop-tags", "--sop-shard", "--sop-sample"]
    (section,) = re.findall(r"^### Which tasks\n(.*?)^###", PAGE, re.DOTALL | re.MULTILINE)
    options = [spec.option for spec in TABLE if spec.is_option]
    place = options.index("--sop-tags")

    assert together == names(section)
    assert together == options[place : place + 3]


def test_there_are_few_of_them() -> None:
    assert sum(spec.is_option for spec in TABLE) <= 24
    assert sum(spec.is_ini for spec in TABLE) <= 28
