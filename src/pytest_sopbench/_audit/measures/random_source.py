"""What in a source gives another value each time."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Final

_RANDOM: Final = (
    "random randint randrange choice choices sample shuffle uniform gauss getrandbits randbytes"
)
_CHANGING: Final[Mapping[str, str]] = {
    "random": f"{_RANDOM} SystemRandom betavariate normalvariate triangular",
    "uuid": "uuid1 uuid4",
    "secrets": "token_hex token_bytes token_urlsafe choice randbelow",
    "datetime": "now utcnow today",
    "date": "today",
    "time": "time time_ns monotonic perf_counter localtime",
    "os": "urandom getpid",
}
"""Functions by the module or class that has them."""


def changing_calls(source: str) -> Iterator[tuple[int, str]]:
    """Yield line and name of each call whose value differs from one time to the next."""
    try:
        tree = ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return
    names = dict(_imported(tree))
    seeded = any(_called(node, names) == ("random", "seed") for node in ast.walk(tree))
    for node in ast.walk(tree):
        module, name = _called(node, names)
        if name in _CHANGING.get(module, "").split() and not (seeded and module == "random"):
            yield getattr(node, "lineno", 1), f"{module}.{name}"


def _imported(tree: ast.AST) -> Iterator[tuple[str, tuple[str, str]]]:
    """The names of a module, and what each stands for: a module, or a name of it."""
    for node in ast.walk(tree):
        if isinstance(node, ast.Import):
            for one in node.names:
                yield one.asname or one.name, (one.name, "")
        elif isinstance(node, ast.ImportFrom):
            for one in node.names:
                yield one.asname or one.name, (node.module or "", one.name)


def _called(node: ast.AST, names: Mapping[str, tuple[str, str]]) -> tuple[str, str]:
    if not isinstance(node, ast.Call):
        return "", ""
    function = node.func
    if isinstance(function, ast.Name):
        return names.get(function.id, ("", ""))
    if not isinstance(function, ast.Attribute):
        return "", ""
    of = function.value
    if isinstance(of, ast.Name) and of.id in names:
        module, inner = names[of.id]
        # `datetime.now()` of a class that was imported from its module.
        return (inner or module), function.attr
    if isinstance(of, ast.Attribute):
        return of.attr, function.attr
    return "", ""
