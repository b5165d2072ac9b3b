"""The page about the bundled domains says of each what is so; the wheel stays small."""

from __future__ import annotations

import io
import json
import re
import zipfile
from collections import Counter
from pathlib import Path
from typing import Any

from bundled_domains.catalogue import figures
from click.testing import CliRunner

import pytest_sopbench
from pytest_sopbench.cli import main

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "reference" / "bundled-domains.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| \[(\w+)\]\(#(\w+)\) \| (.*) \|$", PAGE, re.MULTILINE)
SECTIONS = dict(re.findall(r"^## (\w+)\n(.*?)(?=^## |\Z)", PAGE, re.MULTILINE | re.DOTALL))
LARGEST_WHEEL = 5_000_000


def test_the_page_has_a_row_and_a_section_for_every_domain(every_domain: Any) -> None:
    name = every_domain.metadata["name"]

    assert [(name, name)] == [(shown, link) for shown, link, _ in ROWS if name in {shown, link}]
    assert len(SECTIONS[name].split()) >= 60


def test_the_page_names_no_domain_that_is_not_there() -> None:
    there = {path.parent.name for path in package().glob("bundled/*/metadata.json")}

    assert there == {name for name, *_ in ROWS} == set(SECTIONS)


def test_the_figures_of_a_domain_are_right(domain_with_tools: Any) -> None:
    needed = set(domain_with_tools.specs) - domain_with_tools.distractors

    assert shown_of(domain_with_tools) == [
        str(len(domain_with_tools.rows)),
        str(len(domain_with_tools.specs)),
        str(len(needed)),
        str(len(domain_with_tools.metadata["output_columns"])),
        chance(domain_with_tools),
        *figures(domain_with_tools.folder),
        strong(domain_with_tools),
    ]


def test_the_figures_of_a_domain_of_documents_are_right(domain_of_documents: Any) -> None:
    assert shown_of(domain_of_documents) == [
        domain_of_documents.metadata["class"],
        str(len(domain_of_documents.rows)),
        str(len(domain_of_documents.metadata["output_columns"])),
        chance(domain_of_documents),
        strong(domain_of_documents),
    ]


def test_every_tag_that_a_section_names_is_on_rows(every_domain: Any) -> None:
    section = SECTIONS[every_domain.folder.name]
    named = set(re.findall("`([^`]+)`", section.rpartition("Tags:")[2]))
    column = every_domain.metadata["tags_column"]
    tags = {tag for row in every_domain.rows for tag in (row[column] or "").split(",")}

    assert named
    assert set() == named - tags


def test_the_list_of_domains_has_every_one_of_them() -> None:
    described = [json.loads(path.read_text()) for path in package().glob("bundled/*/metadata.json")]

    result = CliRunner().invoke(main, ["list", "bundled"])

    assert 0 == result.exit_code
    assert described
    for metadata in described:
        assert f"{metadata['name']}  {metadata['title']}" in result.output.splitlines()


def test_the_wheel_stays_small() -> None:
    packed = io.BytesIO()
    with zipfile.ZipFile(packed, "w", zipfile.ZIP_DEFLATED) as wheel:
        for path in package().rglob("*"):
            if path.is_file() and path.suffix != ".pyc":
                wheel.write(path, path.relative_to(package()))

    assert packed.tell() < LARGEST_WHEEL


def shown_of(domain: Any) -> list[str]:
    (cells,) = [cells for name, _, cells in ROWS if name == domain.folder.name]
    return cells.split(" | ")


def chance(domain: Any) -> str:
    """The TSR of the most frequent answer, given to every task."""
    answers = Counter(json.dumps(domain.expected(row)) for row in domain.rows)
    return f"{100 * answers.most_common(1)[0][1] / len(domain.rows):.1f} %"


def strong(domain: Any) -> str:
    """The size of the strong sample."""
    sample = json.loads((domain.folder / "strong_sample.json").read_text(encoding="utf-8"))
    return str(len(sample["tasks"]))


def package() -> Path:
    return Path(pytest_sopbench.__file__).parent
