"""One page says how the package is installed, so that a release changes one page."""

from __future__ import annotations

import re
from pathlib import Path

import pytest
import release

ROOT = Path(__file__).parents[2]
PAGE = ROOT / "docs" / "reference" / "install.md"
FOLDERS = ("docs", "example_suite", "demo", "src")
INSTALLS = re.compile(r"install [^\n`]*pytest[-_]sopbench|install [^\n`]*\bPATH\[")


def texts() -> list[Path]:
    below = (path for folder in FOLDERS for path in (ROOT / folder).rglob("*"))
    written = {".md", ".py", ".toml", ".txt", ".yml", ".sh"}
    found = (path for path in (*ROOT.glob("*.md"), *below) if path.suffix in written)
    return [path for path in found if path not in (PAGE, ROOT / "CHANGELOG.md")]


def test_no_other_place_says_how_to_install_it() -> None:
    """Before a release `pip install pytest-sopbench` cannot work, whatever extras it names."""
    is_released = "| a release |" in PAGE.read_text("utf-8")
    changed = [ROOT / name for name, *_ in release.ONCE] if is_released else []

    elsewhere = [
        f"{path.relative_to(ROOT)}: {found}"
        for path in texts()
        if path not in changed
        for found in INSTALLS.findall(path.read_text("utf-8"))
    ]

    assert [] == elsewhere


def test_a_line_that_is_printed_elsewhere_is_one_of_the_page() -> None:
    """So that a release, which changes the page, finds the copies."""
    lines = re.findall(r"^\| [^|]* \| `([^`]+)` \|$", PAGE.read_text("utf-8"), re.MULTILINE)
    printed = {
        line
        for path in texts()
        for line in re.findall(r"^\S*pytest-sopbench\[.*$", path.read_text("utf-8"), re.MULTILINE)
    }

    assert printed
    assert printed <= {*lines}


@pytest.mark.parametrize(
    "line",
    [
        "pip install pytest-sopbench",
        'pip install -r requirements.txt "pytest-sopbench[xdist]"',
        'pip install "PATH[xdist]"',
    ],
)
def test_a_line_that_says_it_is_found(line: str) -> None:
    assert INSTALLS.search(line) is not None


def test_the_page_names_every_extra() -> None:
    project = (ROOT / "pyproject.toml").read_text("utf-8")
    extras = project.split("[project.optional-dependencies]\n")[1].split("\n[")[0]

    names = re.findall(r"^([\w-]+) = ", extras, re.MULTILINE)

    assert {"all", "sop-maze", "xdist"} <= {*names}
    assert [] == [name for name in names if f"| `{name}` |" not in PAGE.read_text("utf-8")]
