"""The page for contributors names what is there, and all of it."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[2]
SOURCE = ROOT / "src" / "pytest_sopbench"
PAGE = (ROOT / "docs" / "explanation" / "architecture.md").read_text("utf-8")
MAP = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)[0]
FILES = sorted({*re.findall(r"`((?:[\w.]+/)+\w+\.(?:py|toml))`", PAGE)})
ROAD = (ROOT / "docs" / "explanation" / "follow-one-task.md").read_text("utf-8")
STOPS = [
    (function, file)
    for functions, file in re.findall(r"((?:`[\w.]+`(?: and )?)+) in `([\w/]+\.py)`", ROAD)
    for function in re.findall(r"`([\w.]+)`", functions)
]


def rooms_of_the_map() -> set[str]:
    """Return the folders of the map, two levels deep, as paths with a slash behind."""
    rooms: set[str] = set()
    upper = ""
    for line in MAP.splitlines()[1:]:
        names = re.findall(r"(?<=[ ─])(\w+)/", line)
        if line.startswith("│"):
            rooms.update(f"{upper}/{name}" for name in names)
        elif names:
            upper = names[0]
            rooms.add(upper)
    return rooms


def test_the_map_has_every_room() -> None:
    folders = [path for path in (*SOURCE.glob("*/"), *SOURCE.glob("_*/*/")) if path.is_dir()]
    rooms = {path.relative_to(SOURCE).as_posix() for path in folders if any(path.glob("*.py"))}

    assert {*rooms, "bundled"} - {"."} == rooms_of_the_map()


@pytest.mark.parametrize("name", FILES)
def test_a_file_that_is_named_is_there(name: str) -> None:
    assert (ROOT / name).exists() or (SOURCE / name).exists()


@pytest.mark.parametrize(("function", "file"), STOPS, ids=[name for name, _ in STOPS])
def test_a_function_of_the_road_is_in_its_file(function: str, file: str) -> None:
    text = (SOURCE / file).read_text("utf-8")

    for part in function.split("."):
        assert re.search(rf"^ *(?:async )?(?:def|class) {part}\b", text, re.MULTILINE)


def test_the_road_is_long_enough_to_be_one() -> None:
    assert 20 <= len(STOPS)


@pytest.mark.parametrize(
    "seam",
    ["Metric", "Demand", "PageFormat", "AgentSource"],
)
def test_a_seam_has_its_row_and_a_test_that_is_there(seam: str) -> None:
    (row,) = [line for line in PAGE.splitlines() if line.startswith(f"| `{seam}` |")]
    (test,) = re.findall(r"`(tests/\S+\.py)`", row)

    assert (ROOT / test).exists()
    assert re.search(rf"^class {seam}\b", "".join(_sources()), re.MULTILINE)


def test_every_dependency_has_a_row() -> None:
    project = tomllib.loads((ROOT / "pyproject.toml").read_text("utf-8"))["project"]
    names = [re.split(r"[<>=!~]", one)[0] for one in project["dependencies"]]
    table = PAGE.partition("## Dependencies")[2]

    assert names == re.findall(r"^\| ([\w-]+) \| (?!for)", table, re.MULTILINE)


def _sources() -> list[str]:
    return [path.read_text("utf-8") for path in SOURCE.glob("_*/**/*.py")]
