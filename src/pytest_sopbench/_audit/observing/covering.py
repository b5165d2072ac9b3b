"""See what each task of a domain exercises: lines and conditions of its policy, rules, tools.

The policy is run once for each task, with its conditions watched: which of them held, which did
not, and where the two sides of a comparison were equal. This runs in the child process; what the
source has to be watched is told by `conditions_of`, which both processes ask.
"""

from __future__ import annotations

import ast
import operator
from collections import defaultdict
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any, Final

from pytest_sopbench._audit.observing.probing import Book
from pytest_sopbench._audit.observing.suite import Suite, decide_of, follow_expected_calls, traced
from pytest_sopbench._core.domain import Domain
from pytest_sopbench._core.model.trace import Ending, Trace
from pytest_sopbench._running.tools.domain_code import ManagerFactory

HELD: Final = "true"
NOT_HELD: Final = "false"
EQUAL: Final = "equal"

_ORDERS: Final[Mapping[type[ast.cmpop], Callable[[Any, Any], Any]]] = {
    ast.Lt: operator.lt,
    ast.LtE: operator.le,
    ast.Gt: operator.gt,
    ast.GtE: operator.ge,
}
_SAW: Final = "_sopbench_saw"
_COMPARED: Final = "_sopbench_compared"


@dataclass(frozen=True, slots=True, kw_only=True)
class Condition:
    """A condition of a policy that is no `and`, `or` or `not` of others.

    Attributes:
        line: the line on which it stands.
        text: its source.
        names: what it reads, such as constants.
        is_cut_off: whether it compares by order, so that rows can lie on either side.
    """

    line: int
    text: str
    names: frozenset[str]
    is_cut_off: bool


@dataclass(slots=True)
class Watched(ast.NodeTransformer):
    """Puts a call around each condition of a source, which tells what came of it."""

    conditions: list[Condition] = field(default_factory=list[Condition])
    orders: dict[int, Callable[[Any, Any], Any]] = field(
        default_factory=dict[int, Callable[[Any, Any], Any]]
    )

    def visit_If(self, node: ast.If | ast.While) -> ast.AST:
        node.test = self._watched(node.test)
        node.body = [self.visit(one) for one in node.body]
        node.orelse = [self.visit(one) for one in node.orelse]
        return node

    visit_While = visit_If  # noqa: N815 - so it is called

    def visit_IfExp(self, node: ast.IfExp) -> ast.AST:
        node.test = self._watched(node.test)
        node.body, node.orelse = self.visit(node.body), self.visit(node.orelse)
        return node

    def visit_comprehension(self, node: ast.comprehension) -> ast.AST:
        node.iter = self.visit(node.iter)
        node.ifs = [self._watched(one) for one in node.ifs]
        return node

    def visit_BoolOp(self, node: ast.BoolOp) -> ast.AST:
        *asked, last = node.values
        # `found or 0` asks of `found` alone; the last of `a and b == c` is a condition as well.
        is_asked = isinstance(last, ast.Compare | ast.BoolOp | ast.UnaryOp)
        ended = self._watched(last) if is_asked else self.visit(last)
        node.values = [*map(self._watched, asked), ended]
        return node

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        order = _ORDERS.get(type(node.ops[0]))
        if order is None or len(node.ops) > 1:
            return self.generic_visit(node)
        number = self._enter(node, is_cut_off=True)
        self.orders[number] = order
        sides = [self.visit(one) for one in (node.left, node.comparators[0])]
        return _call(_COMPARED, number, sides, node)

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        node.value = self.visit(node.value) if node.value is not None else None
        return node

    def _watched(self, node: ast.expr) -> Any:
        if isinstance(node, ast.BoolOp):
            node.values = [self._watched(one) for one in node.values]
            return node
        if isinstance(node, ast.Constant):
            return node
        if isinstance(node, ast.UnaryOp) and isinstance(node.op, ast.Not):
            node.operand = self._watched(node.operand)
            return node
        if isinstance(node, ast.Compare) and len(node.ops) == 1 and type(node.ops[0]) in _ORDERS:
            return self.visit(node)
        number = self._enter(node, is_cut_off=False)
        return _call(_SAW, number, [self.visit(node)], node)

    def _enter(self, node: ast.expr, *, is_cut_off: bool) -> int:
        names = (one.id for one in ast.walk(node) if isinstance(one, ast.Name))
        self.conditions.append(
            Condition(
                line=node.lineno,
                text=" ".join(ast.unparse(node).split()),
                names=frozenset(names),
                is_cut_off=is_cut_off,
            )
        )
        return len(self.conditions) - 1


def _call(name: str, number: int, arguments: Sequence[Any], node: ast.expr) -> ast.Call:
    function = ast.Name(name, ast.Load())
    call = ast.Call(func=function, args=[ast.Constant(number), *arguments], keywords=[])
    return ast.fix_missing_locations(ast.copy_location(call, node))


def conditions_of(source: str) -> Sequence[Condition]:
    """Return the conditions of a policy, in the order of their numbers.

    Raises:
        SyntaxError: the source is no Python.
    """
    watched = Watched()
    watched.visit(ast.parse(source))
    return watched.conditions


def cover(domain: Domain, factory: ManagerFactory | None, book: Book) -> None:
    """Run the policy on every task, or else the expected calls, and say what each exercises."""
    suite = Suite(domain, factory)
    if domain.policy_file is not None:
        _cover_policy(suite, domain.policy_file, book)
        return
    follow_expected_calls(suite)
    for position, right in suite.right.items():
        trace = Trace(ending=Ending.RETURNED, calls=right.calls)
        _say(suite, position, trace, book, lines=set(), seen={})


def _cover_policy(suite: Suite, path: Path, book: Book) -> None:
    book.doing(step="import", tool="policy.py")
    seen: dict[int, set[str]] = defaultdict(set)
    watched = Watched()
    tree = watched.visit(ast.parse(path.read_text(encoding="utf-8-sig")))

    def saw(number: int, value: Any) -> Any:
        seen[number].add(HELD if value else NOT_HELD)
        return value

    def compared(number: int, one: Any, other: Any) -> Any:
        if one == other:
            seen[number].add(EQUAL)
        return saw(number, watched.orders[number](one, other))

    decide = decide_of(tree, path, {_SAW: saw, _COMPARED: compared})
    for position, task in enumerate(suite.tasks):
        book.doing(step="policy", row=position)
        seen.clear()
        lines: set[int] = set()
        trace = suite.run(task, traced(decide, str(path), lines))
        _say_run(position, trace, book)
        if trace.ending is Ending.RETURNED:
            _say(suite, position, trace, book, lines=lines, seen=seen)


def _say_run(position: int, trace: Trace, book: Book) -> None:
    """Say what the policy came to, for who writes rows and knows no label yet."""
    returned, problem = trace.returned, trace.problem
    answer = None if returned is None or not returned.mapping else returned.mapping
    error = f"{problem.type}: {problem.message}" if problem is not None else ""
    if not error and not answer:
        error = "it returned no fields" if trace.ending is Ending.RETURNED else trace.ending.value
    book.say(
        ran=position,
        answer=answer,
        error=error,
        tools=sorted({call.name for call in trace.calls}),
        calls=[[call.name, call.arguments] for call in trace.calls],
    )


def _say(
    suite: Suite,
    position: int,
    trace: Trace,
    book: Book,
    *,
    lines: set[int],
    seen: Mapping[int, set[str]],
) -> None:
    rules = suite.judged(position, trace).rules
    book.say(
        covered=position,
        lines=sorted(lines),
        seen={number: sorted(sides) for number, sides in seen.items()},
        tools=sorted({call.name for call in trace.calls}),
        rules=[one.id for one in rules if one.applies],
    )
