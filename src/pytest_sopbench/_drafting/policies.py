"""Two policies, each written from the text and the interface alone; checked before they run.

Then they run on rows as in the audit: in a process of its own, without an environment.
"""

from __future__ import annotations

import ast
import csv
import json
from collections.abc import Generator, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from shutil import copyfile
from tempfile import TemporaryDirectory
from typing import Any, Final

from pytest_sopbench._audit.observing.mutants import Mutation, mutate
from pytest_sopbench._audit.observing.sandbox import Limits, observe_coverage
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.values.json import JsonValue
from pytest_sopbench._drafting.asking import Question, Recordings, UnusableError, ask, code_in
from pytest_sopbench._drafting.shape import ID, KEY, Row, Shape, Tool
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench.errors import SopbenchError

_IMPORTS: Final = frozenset(
    {"datetime", "decimal", "math", "fractions", "re", "__future__", "pytest_sopbench"}
)
_FORBIDDEN: Final = frozenset(
    (
        *("open", "exec", "eval", "compile", "input", "globals", "locals", "vars", "getattr"),
        *("setattr", "delattr", "breakpoint", "__import__", "__builtins__", "help", "exit"),
        *("quit", "memoryview"),
    )
)


def write_policy(recordings: Recordings, model: str, *, sop: str, shape: Shape, which: str) -> str:
    """Have a policy written by who has seen neither the other policy nor a row.

    Raises:
        SopbenchError: none came that can be used.
    """
    question = Question(
        stage=f"3 policy {which}",
        prompt="policy",
        # Which of the two it is makes two requests of one, so that both are asked.
        texts={"sop": sop, "interface": shape.interface(), "reader": which},
        file=f"drafting/policy_{which}.py",
    )
    return ask(recordings, model, question, lambda text: checked_policy(code_in(text), shape))


def checked_policy(source: str, shape: Shape) -> str:
    """Return the source of a policy that may be run.

    This keeps out what a policy has no use for. It is no prison: the code runs in a process of its
    own as well.

    Raises:
        UnusableError: it is no policy, reaches for more than it needs, or calls a tool that there
            is not.
    """
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError) as fault:
        msg = f"it is no Python: {fault}"
        raise UnusableError(msg) from fault
    if problem := next(_problems(tree, shape), ""):
        raise UnusableError(problem)
    return source


def _problems(tree: ast.Module, shape: Shape) -> Iterator[str]:
    found = [one for one in tree.body if isinstance(one, ast.FunctionDef) and one.name == "decide"]
    if len(found) != 1 or len(found[0].args.args) != 2:  # noqa: PLR2004 - inputs and call
        yield "there is no one function decide(inputs, call)"
        return
    call = found[0].args.args[1].arg
    tools = {one.name: one for one in shape.tools}
    for node in ast.walk(tree):
        yield from _reaching(node)
        if isinstance(node, ast.Call) and isinstance(node.func, ast.Name) and node.func.id == call:
            yield from _calling(node, tools)


def _reaching(node: ast.AST) -> Iterator[str]:
    modules = list[str]()
    if isinstance(node, ast.Import):
        modules = [one.name for one in node.names]
    elif isinstance(node, ast.ImportFrom):
        modules = [node.module or "."]
        if modules == ["pytest_sopbench"] and {one.name for one in node.names} != {"ToolError"}:
            yield "it imports more than ToolError from pytest_sopbench"
    for name in modules:
        if name not in _IMPORTS or (isinstance(node, ast.Import) and name == "pytest_sopbench"):
            yield f"it imports {name!r}, which a policy has no use for"
    if isinstance(node, ast.Name) and node.id in _FORBIDDEN:
        yield f"it uses {node.id!r}, which a policy has no use for"
    if isinstance(node, ast.Attribute) and node.attr.startswith("__"):
        yield f"it uses {node.attr!r}, which a policy has no use for"


def _calling(node: ast.Call, tools: dict[str, Tool]) -> Iterator[str]:
    first = node.args[0] if len(node.args) == 1 else None
    name = first.value if isinstance(first, ast.Constant) else None
    if not isinstance(name, str):
        yield f"line {node.lineno}: a call of a tool names it as a text, and the rest by keyword"
    elif name not in tools:
        yield f"line {node.lineno}: it calls {name!r}, and there is no such tool"
    else:
        given = {one.arg for one in node.keywords}
        if given != set(tools[name].arguments):
            wanted = ", ".join(tools[name].arguments)
            yield f"line {node.lineno}: {name!r} takes exactly {wanted}"


# Run a policy on rows.

_LIMITS: Final = Limits(total=300.0)
EXPECTED_CALLS: Final = "expected_calls.jsonl"
_OF_ROWS: Final = frozenset({"data.csv", EXPECTED_CALLS, "policy.py"})


Calls = Sequence[tuple[str, Mapping[str, JsonValue]]]
"""Calls by the name of the tool and its arguments."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Ran:
    """What a policy did on one row.

    Attributes:
        answer: its answer, or nothing if it failed.
        error: why it failed.
        lines: the lines of its source that it came to.
        calls: the calls that it made, by name and arguments.
        writes: those of tools that write, without the keys that each row has of its own.
        sides: by the number of a condition whether it held, did not, and whether both sides of its
            comparison were equal.
    """

    answer: Mapping[str, JsonValue] | None
    error: str = ""
    lines: frozenset[int] = frozenset()
    calls: Calls = ()
    writes: Calls = ()
    sides: Mapping[int, frozenset[str]]

    @property
    def told(self) -> str:
        """What it came to, for people, and to tell two readings apart."""
        if self.answer is None:
            return f"fails: {self.error}"
        return ", ".join(f"{name} {value}" for name, value in self.answer.items())

    def against(self, other: Ran) -> tuple[str, str]:
        """Return what this and another policy came to: equal texts if they did the same.

        What they write differently is named, and not quoted: its values differ with each row.
        """
        named = ", ".join(_differing(self.writes, other.writes))
        if not named or self.error or other.error:
            return self.told, other.told
        return f"{self.told}; its own {named}", f"{other.told}; another {named}"


def _differing(one: Calls, other: Calls) -> list[str]:
    if [name for name, _ in one] != [name for name, _ in other]:
        every = dict.fromkeys(name for name, _ in (*one, *other))
        return [f"calls of {' and '.join(every)}"]
    pairs = zip(one, other, strict=True)
    return [
        *dict.fromkeys(
            f"{argument} of {name}"
            for (name, given), (_, others) in pairs
            for argument, value in given.items()
            if others.get(argument) != value
        )
    ]


@dataclass(frozen=True, slots=True, kw_only=True)
class Texts:
    """What a domain is made of beside rows and policy.

    With a `folder` everything else is as it is there; without one it follows from the shape. If
    calls are expected there, `calls` are those of the rows that are run, by id.
    """

    sop: str
    shape: Shape
    folder: Path | None = None
    calls: Mapping[str, Calls] = field(default_factory=dict[str, "Calls"])


def run_policy(texts: Texts, source: str, rows: Sequence[Row]) -> list[Ran]:
    """Run a policy on every row.

    Raises:
        SopbenchError: its process ended before, or it called a tool that there is not.
    """
    with _domain(texts, source, rows) as domain:
        lines, incidents = observe_coverage(domain, _LIMITS)
    runs = {one["ran"]: one for one in lines if "ran" in one}
    if len(runs) < len(rows):
        ends = [*(one["refused"] for one in lines if "refused" in one)]
        ends += (f"{one.kind} {one.detail}".strip() for one in incidents)
        msg = f"a policy did not come to its end on every row: {'; '.join(ends) or 'it ended'}"
        raise SopbenchError(msg, hint="edit or remove the policy, and run the command again")
    _refuse_unknown_tools(texts.shape, runs.values())
    covered = {one["covered"]: one for one in lines if "covered" in one}
    return [_ran(runs[number], covered.get(number, {}), texts.shape) for number in range(len(rows))]


def mutants(texts: Texts, source: str, rows: Sequence[Row]) -> Mutation:
    """Change the policy on purpose, and see which labelled rows notice."""
    with _domain(texts, source, rows) as domain:
        return mutate(domain, _LIMITS)


def _ran(run: Mapping[str, Any], covered: Mapping[str, Any], shape: Shape) -> Ran:
    # What is no answer of this domain can be no label either.
    error = run["error"] or shape.fault_of(run["answer"])
    calls = tuple((name, arguments) for name, arguments in run["calls"])
    writers = {one.name for one in shape.writers}
    keys = {one.name for one in shape.columns if one.type == KEY}
    return Ran(
        answer=None if error else run["answer"],
        error=error,
        lines=frozenset(map(int, covered.get("lines", ()))),
        calls=calls,
        writes=tuple(
            (name, {one: value for one, value in given.items() if one not in keys})
            for name, given in calls
            if name in writers
        ),
        sides={
            int(number): frozenset(map(str, sides))
            for number, sides in covered.get("seen", {}).items()
        },
    )


def _refuse_unknown_tools(shape: Shape, runs: Iterable[Mapping[str, Any]]) -> None:
    known = {one.name for one in shape.tools}
    called = {name for run in runs for name in run["tools"]}
    for name in sorted(called - known):
        msg = f"a policy calls {name!r}, and there is no such tool"
        raise SopbenchError(msg, hint="edit or remove the policy, and run the command again")


@contextmanager
def _domain(texts: Texts, source: str, rows: Sequence[Row]) -> Generator[Domain]:
    """Lay a domain out in a folder of its own; rows without a label are given one of its type."""
    placed = [{**texts.shape.placeholders(), **row} for row in rows]
    with TemporaryDirectory(prefix="sopbench-draft-") as name:
        folder = Path(name) / "draft"
        folder.mkdir()
        files = {"data.csv": texts.shape.data(placed, _header(texts)), "policy.py": source}
        if texts.folder is not None:
            copy_files(texts.folder, folder)
            if (texts.folder / EXPECTED_CALLS).is_file():
                files[EXPECTED_CALLS] = call_lines(
                    {str(row[ID]): texts.calls.get(str(row[ID]), ()) for row in rows}
                )
        else:
            files |= {
                "sop.md": texts.sop,
                "toolspecs.json": texts.shape.tool_specs(),
                "metadata.json": texts.shape.metadata("draft", "", ""),
            }
            if texts.shape.writers:
                files["world.json"] = texts.shape.world()
        for file, text in files.items():
            (folder / file).write_text(text, encoding="utf-8", newline="")
        yield load_domain(folder)


def _header(texts: Texts) -> Sequence[str]:
    """The columns of a domain that is there; some are none of its shape, such as tags."""
    if texts.folder is None:
        return ()
    with (texts.folder / "data.csv").open(encoding="utf-8-sig", newline="") as stream:
        return next(csv.reader(stream), list[str]())


def call_lines(calls: Mapping[str, Calls]) -> str:
    """Return lines of `expected_calls.jsonl`, one for each task."""
    lines = (
        {"task": name, "calls": [{"name": tool, "arguments": given} for tool, given in one]}
        for name, one in calls.items()
    )
    return "".join(f"{json.dumps(one, ensure_ascii=False)}\n" for one in lines)


def copy_files(folder: Path, to: Path) -> None:
    """Copy what decides about rows, but no rows, and no calls that are expected on them."""
    for path in folder.iterdir():
        if path.is_file() and path.name not in _OF_ROWS and not path.name.startswith("test_"):
            copyfile(path, to / path.name)
