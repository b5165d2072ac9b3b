"""The script of the page: it parses, makes no markup of data, and fits into its element."""

from __future__ import annotations

import re
import shutil
import subprocess
from pathlib import Path

import pytest

from pytest_sopbench._reports.html.page import ROOM, SCRIPTS, script_text

MARKUP = re.compile(
    r"innerHTML|outerHTML|insertAdjacentHTML|document\.write|createContextualFragment|\beval\(|"
    r"new Function|setAttribute\(\"(?:style|on)|srcdoc|fetch\(|XMLHttpRequest|sendBeacon"
)


def test_every_file_of_the_folder_is_a_part_of_the_script() -> None:
    assert sorted(SCRIPTS) == sorted(path.stem for path in (ROOM / "script").glob("*.js"))


@pytest.mark.parametrize("name", SCRIPTS)
def test_no_part_makes_markup_of_data_or_asks_a_network(name: str) -> None:
    assert [] == MARKUP.findall((ROOM / "script" / f"{name}.js").read_text("utf-8"))


def test_it_cannot_end_its_own_element() -> None:
    text = script_text()

    assert "</" not in text
    assert "<!--" not in text
    assert "\r" not in text


@pytest.mark.skipif(shutil.which("node") is None, reason="no node here, which parses scripts")
def test_it_parses(tmp_path: Path) -> None:
    path = tmp_path / "page.js"
    path.write_text(script_text(), "utf-8")

    done = subprocess.run(["node", "--check", path], check=False, capture_output=True)  # noqa: S607

    assert 0 == done.returncode, done.stderr.decode()
