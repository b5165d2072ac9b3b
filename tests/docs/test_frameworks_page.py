"""The page on agents has what `make frameworks` runs; that itself takes minutes."""

from __future__ import annotations

import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
PAGE = (ROOT / "docs" / "how-to" / "connect-an-agent.md").read_text(encoding="utf-8")
CODES = dict(re.findall(r"```python\n# file: (with_\S+)\n(.*?)```", PAGE, re.DOTALL))
PINS = sorted((ROOT / "tests" / "frameworks" / "requirements").glob("*.txt"))


def test_each_framework_has_its_code_and_its_pins() -> None:
    assert sorted(CODES) == [f"with_{path.stem}.py" for path in PINS]
    assert 6 == len(PINS)


@pytest.mark.parametrize("path", PINS, ids=[path.stem for path in PINS])
def test_every_version_is_pinned(path: Path) -> None:
    lines = path.read_text(encoding="utf-8").splitlines()

    assert lines
    assert [] == [line for line in lines if not re.fullmatch(r"[\w\[\]-]+==[\d.]+", line)]


@pytest.mark.parametrize("path", PINS, ids=[path.stem for path in PINS])
def test_what_is_run_is_what_the_page_has_installed(path: Path) -> None:
    """`langgraph` alone lacks `langchain`, which its code imports."""
    section = PAGE.partition(f"# file: with_{path.stem}.py")[0].rpartition("\n## ")[2]
    (command,) = re.findall(r"`pip install (.*?)`", section)

    pinned = [line.partition("==")[0] for line in path.read_text(encoding="utf-8").splitlines()]
    assert sorted(pinned) == sorted(command.replace('"', "").split())


@pytest.mark.parametrize("name", sorted(CODES))
def test_the_code_is_short_and_tells_what_it_consumed(name: str) -> None:
    compile(CODES[name], name, "exec")

    assert len(CODES[name].splitlines()) < 40
    assert re.search(r"tools\.report\(usage=.*model=|\"usage\": .*\"model\":", CODES[name])
