"""Two policies, each written from the text and the interface alone; checked before they run."""

from __future__ import annotations

import ast
from collections.abc import Iterator
from typing import Final

from pytest_sopbench._drafting.asking import Question, Recordings, UnusableError, ask, code_in
from pytest_sopbench._drafting.shape import Shape, Tool

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
