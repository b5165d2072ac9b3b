"""Changes of a policy's source: places that can be changed, and what stands there then.

Beside each change stands which clauses of the procedure its place cites.
"""

from __future__ import annotations

import ast
import copy
import io
import re
import tokenize
from collections.abc import Callable, Iterator, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Any, Final, TypeAlias, cast

CITED: Final = re.compile(
    r"\b(?:clauses?|steps?|parts?)\s+([A-Z]?[0-9]+(?:\.[0-9]+)*"
    r"(?:(?:\s*,\s*|\s+and\s+)[A-Z]?[0-9]+(?:\.[0-9]+)*)*)",
    re.IGNORECASE,
)
_OPERATORS: Final[Mapping[type[ast.cmpop], type[ast.cmpop]]] = {
    ast.Lt: ast.LtE,
    ast.LtE: ast.Lt,
    ast.Gt: ast.GtE,
    ast.GtE: ast.Gt,
    ast.Eq: ast.NotEq,
    ast.NotEq: ast.Eq,
    ast.In: ast.NotIn,
    ast.NotIn: ast.In,
    ast.Is: ast.IsNot,
    ast.IsNot: ast.Is,
}
_OTHER_NAMES: Final = {"min": "max", "max": "min", "any": "all", "all": "any"}
_LONGEST_CODE: Final = 6
_LONGEST_TEXT: Final = 90


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of a source: where it is, what it says, and how it is made and taken back.

    Attributes:
        kind: what is changed: `comparison`, `constant`, `and-or`, `operand`, `branch`, `call` ...
        line: the line on which it stands.
        function: the function or the constant that it is a part of.
        text: such as `days > 14 -> days >= 14`.
        lines: the lines of its statement, by which it is known who comes there; empty if
            everybody does, since it is done when the module is imported.
        near: the lines on which its clause may be named, the nearest first.
        tool: the tool whose call is left out.
        apply: makes it; what it returns takes it back.
    """

    kind: str
    line: int
    function: str
    text: str
    lines: range
    near: tuple[int, ...] = ()
    tool: str = ""
    apply: Callable[[], Callable[[], None]]


def changes_of(tree: ast.Module) -> Iterator[Change]:
    """Yield every change of a source, in the order of its lines."""
    yield from _in_body(tree.body, name="", inside=False)


def _in_body(
    body: Sequence[ast.stmt], *, name: str, inside: bool, around: tuple[int, ...] = ()
) -> Iterator[Change]:
    before = max(around, default=0)
    for number, statement in enumerate(body):
        # A comment on the line above is its own, unless a statement stands there.
        above = () if before == statement.lineno - 1 else (statement.lineno - 1,)
        before = statement.end_lineno or statement.lineno
        owner = name or _assigned(statement)
        if isinstance(statement, ast.FunctionDef | ast.AsyncFunctionDef):
            said = (statement.body[0].lineno, statement.lineno)
            inner = statement.body
            yield from _in_body(inner, name=statement.name, inside=True, around=said)
            continue
        if isinstance(statement, ast.ClassDef):
            yield from _in_body(statement.body, name=statement.name, inside=False)
            continue
        if isinstance(statement, ast.Import | ast.ImportFrom):
            continue
        if isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Constant):
            continue
        own = _own_lines(statement)
        near = (*own, *_first_inside(statement), *above, *around)
        lines = own if inside else range(0)
        if inside and isinstance(statement, ast.Expr) and isinstance(statement.value, ast.Call):
            yield Change(
                kind="call",
                line=statement.lineno,
                function=owner,
                text=f"{_short(statement)} is left out",
                lines=lines,
                near=near,
                tool=_first_text(statement.value),
                apply=_put(body, number, ast.copy_location(ast.Pass(), statement)),
            )
        for kind, node, text, put in _in_statement(statement, inside=inside):
            line = getattr(node, "lineno", statement.lineno)
            yield Change(
                kind=kind,
                line=line,
                function=owner,
                text=text,
                lines=lines,
                near=(line, *near),
                apply=put,
            )
        further = (*own, *around)
        for part in ("body", "orelse", "finalbody"):
            rest = getattr(statement, part, [])
            yield from _in_body(rest, name=owner, inside=inside, around=further)
        for holder in (*getattr(statement, "handlers", []), *getattr(statement, "cases", [])):
            yield from _in_body(holder.body, name=owner, inside=inside, around=further)


def _first_inside(statement: ast.stmt) -> tuple[int, ...]:
    """The first line of the block that a condition opens."""
    return (statement.body[0].lineno,) if isinstance(statement, ast.If | ast.While) else ()


def _first_text(called: ast.Call) -> str:
    first = called.args[0] if called.args else None
    return str(first.value) if isinstance(first, ast.Constant) else ""


def _assigned(statement: ast.stmt) -> str:
    given: Any = statement
    targets: list[Any] = getattr(given, "targets", None) or [getattr(given, "target", None)]
    return ast.unparse(targets[0]) if targets[0] is not None else ""


def _own_lines(statement: ast.stmt) -> range:
    """The lines of a statement without those of the statements inside it."""
    inner: Any = getattr(statement, "body", None)
    last = statement.end_lineno or statement.lineno
    if isinstance(inner, list) and inner:
        first = cast("list[ast.stmt]", inner)[0]
        last = max(statement.lineno, first.lineno - 1)
    return range(statement.lineno, last + 1)


_Put: TypeAlias = "Callable[[], Callable[[], None]]"
_Found: TypeAlias = "tuple[str, ast.AST, str, _Put]"


def _put(holder: Any, key: str | int, new: Any) -> _Put:
    """Put a node in the place of another, in a list or as an attribute."""

    def apply() -> Callable[[], None]:
        if isinstance(key, int):
            old = holder[key]
            holder[key] = new
            return lambda: holder.__setitem__(key, old)
        name = key
        old = getattr(holder, name)
        setattr(holder, name, new)
        return lambda: setattr(holder, name, old)

    return apply


def _in_statement(statement: ast.stmt, *, inside: bool) -> Iterator[_Found]:
    if isinstance(statement, ast.If | ast.While):
        yield from _branch(statement, "test")
    # A constant of the module is known by its name.
    whole = statement if inside and not hasattr(statement, "body") else None
    for name, value in ast.iter_fields(statement):
        if name in {"body", "orelse", "finalbody", "handlers", "cases", "targets", "annotation"}:
            continue
        if isinstance(value, list):
            for number, one in enumerate(cast("list[object]", value)):
                if isinstance(one, ast.AST):
                    yield from _in_expression(one, value, number, whole)
        elif isinstance(value, ast.AST):
            yield from _in_expression(value, statement, name, whole)


def _branch(holder: Any, key: str | int) -> Iterator[_Found]:
    test = holder[key] if isinstance(key, int) else getattr(holder, key)
    for value in (True, False):
        if isinstance(holder, ast.While) and value:
            continue
        new = ast.copy_location(ast.Constant(value=value), test)
        text = f"if {_short(test)} -> {'always' if value else 'never'}"
        yield "branch", test, text, _put(holder, key, new)


def _in_expression(  # noqa: C901 - a case for each kind of part
    node: ast.AST, holder: Any, key: str | int, parent: ast.expr | ast.stmt | None = None
) -> Iterator[_Found]:
    yield from _changed(node, holder, key, parent)
    if isinstance(node, ast.JoinedStr | ast.Lambda) or _is_told(node):
        return
    for name, value in ast.iter_fields(node):
        if isinstance(node, ast.Subscript) and name == "slice":
            # What is taken out of a list is no number of the procedure.
            continue
        if isinstance(value, list):
            for number, one in enumerate(cast("list[object]", value)):
                if isinstance(one, ast.comprehension):
                    for place in range(len(one.ifs)):
                        yield from _branch(one.ifs, place)
                        yield from _in_expression(one.ifs[place], one.ifs, place)
                    yield from _in_expression(one.iter, one, "iter")
                elif isinstance(one, ast.keyword):
                    yield from _in_expression(one.value, one, "value", _parent(node, parent))
                elif isinstance(one, ast.expr):
                    yield from _in_expression(one, value, number, _parent(node, parent))
        elif isinstance(value, ast.expr):
            yield from _in_expression(value, node, name, _parent(node, parent))


def _parent(node: ast.AST, parent: ast.expr | ast.stmt | None = None) -> ast.expr | ast.stmt | None:
    """What a part of a node stands in; of a negative number, what the number stands in."""
    if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.USub):
        return parent
    return node if isinstance(node, ast.expr) else None


def _is_told(node: ast.AST) -> bool:
    """Whether a call only reads a text or rounds: its constants are no part of a procedure."""
    name = getattr(node.func, "attr", "") if isinstance(node, ast.Call) else ""
    return name in {"compile", "sub", "fullmatch", "match", "search", "split", "strip", "replace"}


def _changed(  # noqa: C901, PLR0912 - a case for each kind of node
    node: ast.AST, holder: Any, key: str | int, parent: ast.expr | ast.stmt | None
) -> Iterator[_Found]:
    new: Any
    match node:
        case ast.Compare():
            for number, operator in enumerate(node.ops):
                opposite = _OPERATORS[type(operator)]()
                compare = copy.copy(node)
                compare.ops = [*node.ops[:number], opposite, *node.ops[number + 1 :]]
                text = f"{_short(node)} -> {_short(compare)}"
                yield "comparison", node, text, _put(holder, key, compare)
        case ast.BoolOp():
            joined = copy.copy(node)
            joined.op = ast.Or() if isinstance(node.op, ast.And) else ast.And()
            yield "and-or", node, f"{_short(node)} -> {_short(joined)}", _put(holder, key, joined)
            for number, one in enumerate(node.values):
                rest = [*node.values[:number], *node.values[number + 1 :]]
                less: ast.expr = rest[0]
                if len(rest) > 1:
                    less = copy.copy(node)
                    less.values = rest
                text = f"{_short(node)} without {_short(one)}"
                yield "operand", one, text, _put(holder, key, less)
        case ast.UnaryOp(op=ast.Not()):
            text = f"{_short(node)} -> {_short(node.operand)}"
            yield "operand", node, text, _put(holder, key, node.operand)
        case ast.IfExp():
            yield from _branch(node, "test")
        case ast.BinOp(op=ast.Add() | ast.Sub()):
            term = copy.copy(node)
            term.op = ast.Sub() if isinstance(node.op, ast.Add) else ast.Add()
            yield "operand", node, f"{_short(node)} -> {_short(term)}", _put(holder, key, term)
        case ast.Call(func=ast.Name(id=name)) if name in _OTHER_NAMES:
            called = copy.copy(node)
            called.func = ast.copy_location(ast.Name(_OTHER_NAMES[name], ast.Load()), node.func)
            yield "operand", node, f"{_short(node)} -> {_short(called)}", _put(holder, key, called)
        case ast.Set(elts=parts) if len(parts) > 1:
            yield from _without(node, "elts", parts)
        case ast.Tuple(elts=parts) if len(parts) > 1 and all(map(_is_row, parts)):
            yield from _without(node, "elts", parts)
        case ast.Constant(value=value):
            for near in _near(value):
                new = ast.copy_location(ast.Constant(value=near), node)
                put = _put(holder, key, new)
                text = f"{_signed(value, holder)} -> {_signed(near, holder)}"
                yield "constant", node, f"{text}{_inside(parent, put, node)}", put
        case _:
            pass


def _signed(value: object, holder: ast.AST) -> str:
    """A number with the minus before it."""
    minus = isinstance(holder, ast.UnaryOp) and isinstance(holder.op, ast.USub)
    return repr(-value) if minus and isinstance(value, int | float) else repr(value)


def _inside(parent: ast.AST | None, put: _Put, node: ast.Constant) -> str:
    """In what a constant stands, and which of several equal ones it is."""
    if isinstance(parent, ast.Dict):
        pairs = zip(parent.keys, parent.values, strict=True)
        near = ((key, one) for key, one in pairs if node in {*ast.walk(one)} or key is node)
        key, value = next(near)
        return f" in {_short(key)}: {_short(value)}" if key else f" in {_short(value)}"
    if parent is None:
        return ""
    before = _short(parent)
    alike = [one for one in ast.walk(parent) if isinstance(one, ast.Constant)]
    if sum(one.value == node.value for one in alike) < _SEVERAL:
        return f" in {before}"
    back = put()
    after = _short(parent)
    back()
    return f" in {before}, that is {after}"


def _is_row(node: ast.expr) -> bool:
    return isinstance(node, ast.Tuple)


def _without(node: Any, name: str, parts: Sequence[ast.expr]) -> Iterator[_Found]:
    for number, one in enumerate(parts):
        rest = [*parts[:number], *parts[number + 1 :]]
        yield "element", one, f"{_short(one)} is left out", _put(node, name, rest)


def _near(value: object) -> Iterator[int | float | str]:
    """The values beside a constant: one off, in its last decimal place."""
    if isinstance(value, bool):
        return
    if isinstance(value, int):
        yield value + 1
        yield value - 1
    elif isinstance(value, float):
        places = len(repr(value).partition(".")[2]) if "e" not in repr(value) else 6
        yield round(value + 10**-places, places)
        yield round(value - 10**-places, places)
    elif isinstance(value, str) and re.fullmatch(rf"[0-9]{{1,{_LONGEST_CODE}}}", value):
        yield f"{int(value) + 1:0{len(value)}}"
        if int(value):
            yield f"{int(value) - 1:0{len(value)}}"


_SEVERAL: Final = 2


def _short(node: ast.AST) -> str:
    text = " ".join(ast.unparse(node).split())
    return text if len(text) <= _LONGEST_TEXT else f"{text[: _LONGEST_TEXT - 3]}..."


def cited_clauses(source: str) -> Mapping[int, tuple[str, ...]]:
    """The clauses that a comment of a line names, or the docstring that begins there."""
    found: dict[int, tuple[str, ...]] = {}
    with suppress(tokenize.TokenError, SyntaxError):
        for token in tokenize.generate_tokens(io.StringIO(source).readline):
            if token.type in {tokenize.COMMENT, tokenize.STRING}:
                named = [
                    one
                    for match in CITED.finditer(token.string)
                    for one in re.findall(r"[A-Z]?[0-9]+(?:\.[0-9]+)*", match[1])
                ]
                if named and (token.type == tokenize.COMMENT or token.string.startswith('"""')):
                    found[token.start[0]] = tuple(named)
    return found


def clauses_at(cited: Mapping[int, tuple[str, ...]], change: Change) -> tuple[str, ...]:
    """The clauses of a change: on its line, in its statement, or around it."""
    return next((cited[line] for line in change.near if line in cited), ())
