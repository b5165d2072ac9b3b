"""No test decides by a clock: what a loaded machine delays is no fault of the code.

A law of growth is counted in steps, and a duration comes from a clock that the test moves. The
only readers of a real clock are guards against hanging, which are listed here by name.
"""

from __future__ import annotations

import ast
import itertools
import re
import textwrap
from collections.abc import Iterator
from pathlib import Path

import pytest

TESTS = Path(__file__).parent

HANG_GUARDS = {
    "campaign/killing.py::_gone",
    "hooks/test_budget_crashes.py::DEADLY",
    "hooks/test_in_flight_crashes.py::test_a_process_that_is_killed_leaves_the_runs_that_had_ended",
    "hooks/test_in_flight_limits.py::eventually",
    "hooks/test_mcp_tools.py::wait_for_end",
    "hooks/test_in_flight_output.py::test_ctrl_c_keeps_what_has_ended_before_its_test_came",
    "running/test_engine_limits.py::eventually",
    "running/test_time_used.py::eventually",
}
"""Loops that wait for what is sure to come, for 60 seconds and more."""

MOMENTS = {"campaign/killing.py::_kill_from_outside"}
"""Clocks that choose when something is done to a session; no result depends on them."""

CLOCKS = {
    "clock_gettime", "default_timer", "getrusage", "monotonic", "now", "perf_counter",
    "process_time", "thread_time", "time", "times", "today", "utcnow",
}  # fmt: skip
MODULES = {"time", "timeit", "datetime", "date", "os", "resource", "loop"}
DURATIONS = {"duration", "duration_s", "durations", "durations_s", "elapsed", "elapsed_s"}
# A program in a text may begin a line with a name: `time` of `"\ntime.time()"` is a word.
WORD = re.compile(
    rf"(?:\\[nt]|(?<!\w))(?:(?:{'|'.join(CLOCKS)})(?:_ns)?|{'|'.join(DURATIONS)})(?!\w)"
)
ORDER = (ast.Lt, ast.LtE, ast.Gt, ast.GtE)
UNREADABLE = "a program in a text that reads a clock, and does not parse"


def findings(source: str, *, names: frozenset[str] = frozenset()) -> list[str]:
    """Return the place of each comparison with a clock: `NAME:LINE`, the text's own line."""
    if not names and not WORD.search(source):
        # To look through a tree takes its time, and two of three files name no clock at all.
        return []
    tree = ast.parse(source)
    owners = _owners(tree)
    clocks = _Clocks(tree, names)
    found = [
        f"{owners[node]}:{node.lineno}"
        for node in ast.walk(tree)
        if isinstance(node, ast.Compare | ast.Assert) and clocks.decides(node)
    ]
    for node, program in _programs(tree):
        try:
            inner = findings(program, names=frozenset(clocks.aliases))
        except SyntaxError:
            inner = [UNREADABLE] if _names_a_clock(program) else []
        found += [f"{owners[node]}:{node.lineno}" for _ in inner]
    return list(dict.fromkeys(found))


class _Clocks:
    """Which expressions of a module depend on a real clock."""

    def __init__(self, tree: ast.Module, inherited: frozenset[str]) -> None:
        self.aliases = {*inherited, *_imported(tree)}
        self._names: set[str] = set()
        assigned = list(_assignments(tree))
        # A name that was set from a clock sets others: until nothing new is found.
        while True:
            new = {name for name, value in assigned if self._reads(value)} - self._names
            if not new:
                break
            self._names |= new

    def decides(self, node: ast.Compare | ast.Assert) -> bool:
        if isinstance(node, ast.Assert):
            return self._reads(node.test)
        if any(self._reads(one) for one in (node.left, *node.comparators)):
            return True
        ordered = any(isinstance(one, ORDER) for one in node.ops)
        return ordered and any(_is_duration(one) for one in (node.left, *node.comparators))

    def _reads(self, node: ast.AST) -> bool:
        return any(
            (isinstance(one, ast.Call) and self._is_clock(one.func))
            or (isinstance(one, ast.Name | ast.Attribute) and _key(one) in self._names)
            for one in ast.walk(node)
        )

    def _is_clock(self, called: ast.expr) -> bool:
        if isinstance(called, ast.Name):
            return called.id in self.aliases
        if not isinstance(called, ast.Attribute):
            return False
        owner = _key(called.value) if isinstance(called.value, ast.Name | ast.Attribute) else ""
        known = owner in MODULES or owner in self.aliases or isinstance(called.value, ast.Call)
        return known and called.attr.removesuffix("_ns") in CLOCKS


def _imported(tree: ast.Module) -> set[str]:
    names: set[str] = set()
    for node in ast.walk(tree):
        if isinstance(node, ast.ImportFrom) and node.module in MODULES:
            taken = (one for one in node.names if one.name.removesuffix("_ns") in CLOCKS)
            names |= {one.asname or one.name for one in taken}
            names |= {one.asname for one in node.names if one.name in MODULES and one.asname}
        if isinstance(node, ast.Import):
            names |= {one.asname for one in node.names if one.name in MODULES and one.asname}
    return names


def _assignments(tree: ast.Module) -> Iterator[tuple[str, ast.AST]]:
    """Yield each name with what is put into it; a function's name with what it returns."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Assign):
            for target in node.targets:
                yield from _pairs(target, node.value)
        elif isinstance(node, ast.AnnAssign | ast.AugAssign | ast.NamedExpr) and node.value:
            yield from _pairs(node.target, node.value)
        elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            for one in ast.walk(node):
                if isinstance(one, ast.Return | ast.Yield) and one.value is not None:
                    yield node.name, one.value


def _pairs(target: ast.expr, value: ast.expr) -> Iterator[tuple[str, ast.AST]]:
    if isinstance(target, ast.Tuple) and isinstance(value, ast.Tuple):
        for one, part in zip(target.elts, value.elts, strict=False):
            yield from _pairs(one, part)
        return
    for one in ast.walk(target):
        if isinstance(one, ast.Name | ast.Attribute) and _key(one) != "self":
            yield _key(one), value


def _key(node: ast.expr) -> str:
    if isinstance(node, ast.Attribute):
        return node.attr
    return node.id if isinstance(node, ast.Name) else ""


def _is_duration(node: ast.expr) -> bool:
    if isinstance(node, ast.Subscript) and isinstance(node.slice, ast.Constant):
        return node.slice.value in DURATIONS
    return isinstance(node, ast.Attribute) and node.attr in DURATIONS


def _programs(tree: ast.Module) -> Iterator[tuple[ast.expr, str]]:
    """Yield the texts of several lines, which may be programs of their own."""
    parts = {part for node in ast.walk(tree) if isinstance(node, ast.JoinedStr)
             for part in node.values}  # fmt: skip
    for node in ast.walk(tree):
        if isinstance(node, ast.JoinedStr):
            text = "".join(
                str(part.value) if isinstance(part, ast.Constant) else "FILLED"
                for part in node.values
            )
        elif isinstance(node, ast.Constant) and isinstance(node.value, str) and node not in parts:
            text = node.value
        else:
            continue
        if "\n" in text:
            yield node, textwrap.dedent(text)


def _names_a_clock(text: str) -> bool:
    return any(f"{name}(" in text for name in CLOCKS - {"time", "times", "now", "today"})


def _owners(tree: ast.Module) -> dict[ast.AST, str]:
    """The outermost function, class or name that each node stands in."""
    owners: dict[ast.AST, str] = {}
    for statement in tree.body:
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
            name = statement.name
        elif isinstance(statement, ast.Assign):
            name = _key(statement.targets[0])
        else:
            name = "module"
        owners |= dict.fromkeys(ast.walk(statement), name)
    return owners


FILES = sorted(path for path in TESTS.rglob("*.py") if path != Path(__file__))


def test_no_test_compares_with_a_clock() -> None:
    found = {
        f"{path.relative_to(TESTS).as_posix()}::{place.rpartition(':')[0]}"
        for path in FILES
        for place in findings(path.read_text(encoding="utf-8"))
    }

    assert sorted(HANG_GUARDS | MOMENTS) == sorted(found)


READERS = [
    "import time\nassert time.perf_counter() - 1 < 4",
    "import time as t\nassert t.monotonic() < 4",
    "from time import perf_counter as tick\nassert 2.0 > tick() - start",
    "from time import process_time_ns\nbegan = process_time_ns()\nassert process_time_ns() < 4",
    "import time\nbegan = time.time()\ntook = 5 - began\nwork()\nassert took <= 1",
    "import time\na, b = time.time(), 1\nassert a == b",
    "import time\nassert limit >= (end := time.monotonic())",
    "import time\ndef now():\n    return time.time()\nassert now() < 3",
    "import time\nclass A:\n    def f(self):\n        self.t0 = time.time()\nassert a.t0 < 3",
    "import time\nbegan = time.time()\nassert soon(time.time() - began)",
    "from datetime import datetime\nassert datetime.now() < day",
    "import datetime\nassert datetime.datetime.now().hour < 12",
    "import asyncio\nassert asyncio.get_running_loop().time() < 3",
    "from timeit import default_timer\nassert default_timer() < 3",
    "import time\nwhile time.monotonic() < end:\n    pass",
    'assert saved["duration_s"] < 600',
    "assert 0 < trace.duration < 5",
    'code = """\nimport time\nprint(time.perf_counter() < 5)\n"""',
    'code = f"""\nimport time\nfor {x} in 1, 2:\n    print(time.perf_counter() < {y})\n"""',
    'code = """\nimport time, {}\n{}\n  print(time.perf_counter() < 5)\n"""',
]


@pytest.mark.parametrize("source", READERS)
def test_a_comparison_with_a_clock_is_found(source: str) -> None:
    assert findings(source)


HARMLESS = [
    "import time\nrunner(clock=time.perf_counter)",
    "import time\ntime.sleep(0.1)",
    "assert 10.0 == trace.duration",
    "assert clock() == 3",
    "import time\nbegan = time.time()\nprint(began)",
    'text = """\nit took longer than time.time() < 5\n"""',
]


@pytest.mark.parametrize("source", HARMLESS)
def test_what_decides_nothing_by_a_clock_is_left_alone(source: str) -> None:
    assert [] == findings(source)


def test_a_guard_is_listed_once_and_exists() -> None:
    files = {guard.partition("::")[0] for guard in HANG_GUARDS}

    assert [] == [name for name in files if not (TESTS / name).is_file()]


def test_it_reads_every_file_of_the_suite() -> None:
    rooms = itertools.groupby(FILES, key=lambda path: path.relative_to(TESTS).parts[0])

    assert {"core", "hooks", "running", "sessions"} <= {room for room, _ in rooms}
