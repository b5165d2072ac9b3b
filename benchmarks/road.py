"""How long the road of one task is, from its row's item to its kept line, in calls and files.

    python benchmarks/road.py [--list | --show]

The third of five tasks, whose agent makes one tool call, in one process with a saved session.
Counted are the calls of the plugin's functions while pytest runs the item, in all threads, and
how often the next call is in another file, or in another room (a folder of the package's first
level). A generated method of a dataclass has no file and is not counted. `--list` counts the calls
of each file; `--show` prints the road, each call indented below the one that led to it.
"""

from __future__ import annotations

import itertools
import os
import sys
import threading
from collections import Counter
from collections.abc import Generator
from pathlib import Path
from types import FrameType
from typing import Any

import pytest
from projects import Project

import pytest_sopbench

HOME = str(Path(pytest_sopbench.__file__).parent) + os.sep
MOST_FILES, MOST_ROOMS = 35, 30
THIRD = 3
AGENT = """
def agent(inputs, tools):
    tools.call("look_up", sample_id=inputs["sample_id"])
    return {"grade": "pass"}
"""
PROJECT = Project(
    domain="lab",
    columns=("sample_id", "ph", "grade"),
    rows=[(f"S_{number}", "7.1", "pass") for number in range(1, 6)],
    tools={"look_up": {"key": ["sample_id"], "returns": ["ph"]}},
    parameters=("sample_id",),
    files={"own.py": AGENT},
)


class Road:
    """Follows the calls made while an item runs."""

    def __init__(self) -> None:
        self.steps: list[str] = []
        # Each call with how many of ours it stands below, in its thread.
        self.calls: list[tuple[int, str]] = []
        self._items = 0
        self._follows = False
        # A thread that makes runs is older than the item that is looked at.
        threading.setprofile(self._follow)
        sys.setprofile(self._follow)

    @pytest.hookimpl(wrapper=True, tryfirst=True)
    def pytest_runtest_protocol(self) -> Generator[None, Any, Any]:
        self._items += 1
        self._follows = self._items == THIRD
        try:
            return (yield)
        finally:
            self._follows = False

    def _follow(self, frame: FrameType, event: str, _: object) -> None:
        name = frame.f_code.co_filename
        if self._follows and event == "call" and name.startswith(HOME):
            self.steps.append(name.removeprefix(HOME))
            self.calls.append((depth_of(frame), frame.f_code.co_qualname))


def depth_of(frame: FrameType) -> int:
    """Return below how many calls of the plugin's functions a call stands."""
    depth, caller = 0, frame.f_back
    while caller is not None:
        depth += caller.f_code.co_filename.startswith(HOME)
        caller = caller.f_back
    return depth


def main() -> int:
    """Run the task, and print what was counted."""
    os.environ["PYTEST_DISABLE_PLUGIN_AUTOLOAD"] = "1"
    with PROJECT.written() as folder:
        os.chdir(folder)
        sys.path.insert(0, str(folder))
        road = Road()
        arguments = ["-q", "-psopbench", "--sop-domain=lab", "--agent=own:agent"]
        status = pytest.main(arguments, plugins=[road])
        os.chdir("/")
    if status != 0 or not road.steps:
        print("the session of the benchmark failed")
        return 1
    rooms = [step.partition(os.sep)[0] for step in road.steps]
    files = Counter(road.steps)
    changed = sum(one != other for one, other in itertools.pairwise(rooms))
    moved = sum(one != other for one, other in zip(road.steps, road.steps[1:], strict=False))
    print(f"{len(road.steps)} calls, {len(files)} files (at most {MOST_FILES}), ", end="")
    print(f"{moved} changes of file, {changed} changes of room (at most {MOST_ROOMS})")
    if "--list" in sys.argv:
        for name, count in files.most_common():
            print(f"{count:5} {name}")
    if "--show" in sys.argv:
        for step, (depth, call) in zip(road.steps, road.calls, strict=True):
            print(f"{'  ' * depth}{call}  {step}")
    return 0


if __name__ == "__main__":
    sys.exit(main())
