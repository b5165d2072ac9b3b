"""The numbers that a reference policy decides by, read from its source."""

from __future__ import annotations

import ast
import io
import json
import re
import tokenize
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import suppress
from dataclasses import dataclass
from decimal import Decimal, InvalidOperation
from typing import Any, Final, TypeAlias

from pytest_sopbench._core.values.json import JsonValue

_CITED: Final = re.compile(
    r"\bclauses?\s+([0-9.]+(?:(?:\s*,\s*|\s+and\s+)[0-9.]+)*)", re.IGNORECASE
)
_TRIVIAL: Final = frozenset({Decimal(0), Decimal(1), Decimal(100)})
"""Nothing, one, and all of it in percent."""

_NOTHING: Final = frozenset({Decimal(0)})
_SCALES: Final = tuple(map(Decimal, (100, 1000, 60)))
_NUMBER: Final = re.compile(r"-?[0-9]+(\.[0-9]+)?")
_EXACT: Final = frozenset({"Decimal", "Fraction"})
_CONVERTED: Final = (ast.Mult, ast.Div, ast.FloorDiv, ast.Mod, ast.Pow)


Numbers: TypeAlias = AbstractSet[Decimal]


@dataclass(frozen=True, slots=True)
class PolicyNumber:
    """A number of the source: its line, and the clauses that a comment beside it names.

    `near` are the numbers that say the same in another comparison: above 2 is 3 or more.
    """

    value: Decimal
    line: int
    clauses: tuple[str, ...] = ()
    near: tuple[Decimal, ...] = ()

    def is_in(self, stated: Numbers, claimed: Numbers = frozenset()) -> bool:
        """Whether a text with these numbers states it, in this unit or a usual other one.

        A number of another unit that is `claimed` stands for another number of the policy.
        """
        if self.value in stated or not stated.isdisjoint(self.near):
            return True
        return not stated.isdisjoint(set(same_numbers(self.value)) - claimed)


def same_numbers(value: Decimal) -> Iterator[Decimal]:
    """A number as other units write it: cents, thousands, hours, percent."""
    yield value
    for scale in _SCALES:
        yield value * scale
        yield value / scale


def parsed(source: str) -> ast.Module:
    """Return the tree of a source; an empty one if it is no Python, of which another rule tells."""
    try:
        return ast.parse(source)
    except (SyntaxError, ValueError, RecursionError):
        return ast.Module(body=[], type_ignores=[])


def policy_numbers(source: str) -> tuple[PolicyNumber, ...]:
    """Return the numbers that a policy decides by; what only converts a unit is none."""
    reader = _Reader(_comments(source))
    with suppress(RecursionError):
        reader.visit(parsed(source))
    return tuple(reader.found)


def every_number(source: str) -> frozenset[Decimal]:
    """Return all numbers of a source, also trivial ones, and those that are written as text."""
    tree = parsed(source)
    told = {
        id(node.value)
        for node in ast.walk(tree)
        if isinstance(node, ast.Expr) and isinstance(node.value, ast.Constant)
    }
    written = [
        node.value
        for node in ast.walk(tree)
        # A text that stands alone is a docstring, which names clauses.
        if isinstance(node, ast.Constant) and id(node) not in told
    ]
    numbers = (_decimal(value) for value in written)
    texts = (
        Decimal(match)
        for value in written
        if isinstance(value, str)
        for match in re.findall(r"[0-9]+(?:\.[0-9]+)?", value)
    )
    return frozenset({*(one for one in numbers if one is not None), *texts})


class _Reader(ast.NodeVisitor):
    """Walks over the source with the statement that it is in."""

    def __init__(self, comments: Mapping[int, str]) -> None:
        self.found: list[PolicyNumber] = []
        self._comments = comments
        self._first = 1
        self._near: tuple[int, ...] = ()

    def visit(self, node: ast.AST) -> None:
        if isinstance(node, ast.stmt):
            self._first = node.lineno
        super().visit(node)

    def visit_Expr(self, node: ast.Expr) -> None:
        # A text that stands alone is a docstring.
        if not isinstance(node.value, ast.Constant):
            self.generic_visit(node)

    def visit_Subscript(self, node: ast.Subscript) -> None:
        # What is counted out of a list is no number of the procedure.
        self.visit(node.value)

    def visit_BinOp(self, node: ast.BinOp) -> None:
        for part in (node.left, node.right):
            if not (isinstance(node.op, _CONVERTED) and isinstance(part, ast.Constant)):
                self.visit(part)

    def visit_Compare(self, node: ast.Compare) -> None:
        self.visit(node.left)
        for operator, part in zip(node.ops, node.comparators, strict=True):
            self._near = _NEAR.get(type(operator), ())
            self.visit(part)
            self._near = ()

    def visit_Call(self, node: ast.Call) -> None:
        name = node.func.id if isinstance(node.func, ast.Name) else ""
        attribute = node.func.attr if isinstance(node.func, ast.Attribute) else ""
        if name in {"range", "round"} or attribute in {"quantize", "sub", "compile", "replace"}:
            return
        if name in _EXACT and node.args and isinstance(node.args[0], ast.Constant):
            self._add(node.args[0].value, node.lineno)
            return
        self.generic_visit(node)

    def visit_Constant(self, node: ast.Constant) -> None:
        if not isinstance(node.value, str):
            self._add(node.value, node.lineno)

    def _add(self, written: object, line: int) -> None:
        value = _decimal(written)
        if value is None and isinstance(written, str) and _NUMBER.fullmatch(written):
            value = Decimal(written)
        clauses = self._clauses(line)
        if value is None or abs(value) in (_NOTHING if clauses else _TRIVIAL):
            return
        near = tuple(abs(value) + one for one in self._near)
        self.found.append(PolicyNumber(abs(value), line, clauses, near))

    def _clauses(self, line: int) -> tuple[str, ...]:
        said = self._comments.get(line) or self._comments.get(self._first) or ""
        cited = _CITED.search(said)
        return tuple(re.findall(r"[0-9]+(?:\.[0-9]+)*", cited[1])) if cited else ()


_NEAR: Final[Mapping[type[ast.cmpop], tuple[int, ...]]] = {
    ast.Gt: (1,),
    ast.Lt: (-1,),
    ast.GtE: (-1,),
    ast.LtE: (1,),
}
"""More than 2 is 3 or more; fewer than 5 is 4 or fewer."""


def _decimal(value: object) -> Decimal | None:
    if isinstance(value, bool) or not isinstance(value, int | float):
        return None
    try:
        return Decimal(str(value))
    except InvalidOperation:
        return None


def _comments(source: str) -> Mapping[int, str]:
    found: dict[int, str] = {}
    with suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type == tokenize.COMMENT:
                found[token.start[0]] = token.string
    return found


# What in a source gives another value each time.

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
    tree = parsed(source)
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


# Decision stumps: how many labels a rule of one question about one column gets right.

FEWEST_OF_A_CATEGORY: Final = 5
"""Rows that a value needs for a rule of its own; rarer values are one value together."""


# `json.dumps` would make one for each of the cells of a table, of which there are thousands.
_ENCODER: Final = json.JSONEncoder(sort_keys=True)


def frozen(value: JsonValue) -> str:
    """A value as a text, which can be counted."""
    return _ENCODER.encode(value)


def leaves(name: str, value: JsonValue) -> Iterator[tuple[str, JsonValue]]:
    """A value itself, or, of a list or an object, its size and what lies in it."""
    if isinstance(value, Mapping):
        for key, part in value.items():
            yield from leaves(f"{name}.{key}", part)
    elif isinstance(value, list):
        yield f"{name}.length", len(value)
        for place, part in enumerate(value):
            yield from leaves(f"{name}.{place}", part)
    else:
        yield name, value


def flat_columns(rows: Sequence[Mapping[str, JsonValue]]) -> dict[str, list[JsonValue]]:
    """The columns of rows, laid out flat; what a row does not have is `None`."""
    found: dict[str, list[JsonValue]] = {}
    for number, row in enumerate(rows):
        for name, value in row.items():
            for leaf, part in leaves(name, value):
                found.setdefault(leaf, [None] * len(rows))[number] = part
    return found


def right_by_one_question(cells: Sequence[JsonValue], labels: Sequence[str]) -> int:
    """Rows that the best rule of one question about these cells has right."""
    return max(right_by_category(cells, labels), right_by_cut_off(cells, labels))


def right_by_category(cells: Sequence[JsonValue], labels: Sequence[str]) -> int:
    """Rows that the most frequent label of each value has right; rare values are one value."""
    texts = [frozen(cell) for cell in cells]
    sizes = Counter(texts)
    groups: dict[str, Counter[str]] = {}
    for text, label in zip(texts, labels, strict=True):
        common = text if sizes[text] >= FEWEST_OF_A_CATEGORY else "rare"
        groups.setdefault(common, Counter())[label] += 1
    return sum(max(group.values()) for group in groups.values())


def right_by_cut_off(cells: Sequence[Any], labels: Sequence[str]) -> int:
    """Rows that the best cut-off has right: one label below it, one from it on, one for none."""
    pairs = list(zip(cells, labels, strict=True))
    without = Counter(label for cell, label in pairs if cell is None)
    present = [(cell, label) for cell, label in pairs if cell is not None]
    if len({type(cell) is str for cell, _ in present}) != 1:
        return 0
    present.sort(key=lambda pair: pair[0])
    below: Counter[str] = Counter()
    above = Counter(label for _, label in present)
    best = max(above.values())
    for number, (cell, label) in enumerate(present):
        if number and present[number - 1][0] != cell:
            best = max(best, max(below.values()) + max(above.values()))
        below[label] += 1
        above[label] -= 1
    return best + max(without.values(), default=0)
