"""How much a reader of the source has to hold in mind, in numbers. Nothing fails on them.

    python benchmarks/weight.py

Counted is `src` without the bundled domains. A line of code is one that is left without imports,
blank lines, comments and docstrings.
"""

from __future__ import annotations

import ast
import io
import tokenize
from collections.abc import Iterator
from pathlib import Path
from statistics import median

ROOT = Path(__file__).parents[1]
PACKAGE = "pytest_sopbench"
SOURCE = ROOT / "src" / PACKAGE


def modules(folder: Path) -> list[Path]:
    """Return the modules of a folder, those of bundled domains apart."""
    return sorted(path for path in folder.rglob("*.py") if "bundled" not in path.parts)


def is_own(node: ast.AST) -> bool:
    """Tell whether a statement imports a module of ours."""
    if isinstance(node, ast.Import):
        return any(name.name.partition(".")[0] == PACKAGE for name in node.names)
    return isinstance(node, ast.ImportFrom) and (
        bool(node.level) or (node.module or "").partition(".")[0] == PACKAGE
    )


def is_type_block(node: ast.AST) -> bool:
    """Tell whether a statement is for type checkers alone."""
    return (
        isinstance(node, ast.If)
        and isinstance(node.test, ast.Name)
        and node.test.id == "TYPE_CHECKING"
    )


def imports_inside_functions(tree: ast.Module) -> int:
    """Count the functions' own imports of modules of ours."""
    functions = (
        node for node in ast.walk(tree) if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef)
    )
    return len({id(inner) for one in functions for inner in ast.walk(one) if is_own(inner)})


def not_code(tree: ast.Module) -> Iterator[int]:
    """Yield the numbers of the lines of imports and docstrings."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import | ast.ImportFrom) or (
            isinstance(node, ast.Expr)
            and isinstance(node.value, ast.Constant)
            and isinstance(node.value.value, str)
        ):
            yield from range(node.lineno, (node.end_lineno or 0) + 1)


def lines_of_code(text: str, tree: ast.Module) -> int:
    """Count the lines that something other than an import, a comment or a docstring stands on."""
    blank = {tokenize.COMMENT, tokenize.NL, tokenize.NEWLINE, tokenize.INDENT, tokenize.DEDENT}
    held = {
        line
        for token in tokenize.generate_tokens(io.StringIO(text).readline)
        if token.type not in blank and token.string.strip()
        for line in range(token.start[0], token.end[0] + 1)
    }
    return len(held.difference(not_code(tree)))


def is_private(node: ast.AST) -> bool:
    """Tell whether a statement imports a private module of ours."""
    names = [node.module or ""] if isinstance(node, ast.ImportFrom) else []
    if isinstance(node, ast.Import):
        names = [one.name for one in node.names]
    return any(name.startswith(f"{PACKAGE}._") for name in names)


def main() -> None:
    """Print each number with what it counts."""
    texts = [path.read_text("utf-8") for path in modules(SOURCE)]
    trees = [ast.parse(text) for text in texts]
    nodes = [node for tree in trees for node in ast.walk(tree)]
    tests = [ast.parse(path.read_text("utf-8")) for path in modules(ROOT / "tests")]
    private = sum(any(is_private(node) for node in ast.walk(tree)) for tree in tests)
    functions = ast.FunctionDef | ast.AsyncFunctionDef
    rows = {
        "lines in all": sum(len(text.splitlines()) for text in texts),
        "lines of code": sum(map(lines_of_code, texts, trees)),
        "files": len(texts),
        "lines of the median file": median(len(text.splitlines()) for text in texts),
        "classes": sum(isinstance(node, ast.ClassDef) for node in nodes),
        "functions": sum(isinstance(node, functions) for node in nodes),
        "own imports inside functions": sum(map(imports_inside_functions, trees)),
        "`TYPE_CHECKING` blocks": sum(map(is_type_block, nodes)),
        f"test files of {len(tests)} that import private modules": private,
    }
    for name, number in rows.items():
        print(f"{number:>8,.0f}  {name}")


if __name__ == "__main__":
    main()
