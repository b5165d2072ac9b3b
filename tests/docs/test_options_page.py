"""The reference page of options and the table of options say the same."""

from __future__ import annotations

import re
from pathlib import Path

from pytest_sopbench._settings.table import TABLE

PAGE = (Path(__file__).parents[2] / "docs" / "reference" / "options.md").read_text("utf-8")


def rows(heading: str) -> list[list[str]]:
    """Return the cells of the rows of the table under a heading."""
    section = PAGE.split(f"## {heading}\n")[1].split("\n## ")[0]
    lines = [line for line in section.splitlines() if line.startswith("| `")]
    return [[cell.strip() for cell in re.split(r"(?<!\\)\|", line)[1:-1]] for line in lines]


def test_the_page_has_every_option_in_the_order_of_the_table() -> None:
    written = [cells[0].replace("\\|", "|") for cells in rows("Command line")]

    known = [
        ", ".join(
            f"`{name} {spec.metavar}`" if spec.is_value else f"`{name}`"
            for name in (*spec.aliases, spec.option)
        )
        for spec in TABLE
        if spec.is_option
    ]
    assert [*known, "`--snapshot-update`"] == written


def test_the_page_has_every_ini_value_with_its_default() -> None:
    written = {cells[0].strip("`"): cells[1].strip("`") for cells in rows("Configuration")}

    known = {spec.name: " ".join(spec.default) for spec in TABLE if spec.is_ini}
    # It follows from another one.
    known["sop_lookahead"] = "8 for each run in flight"
    assert known == written
