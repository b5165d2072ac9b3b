"""Break the agent of a domain on purpose, and see what its suite says; in the child process.

A policy is changed in one place and run on every task that comes to this place. A trajectory that
is right is changed as agents go wrong, and made again with the real tools. Each run is judged as
any other run is, so a mutant is noticed by what a session would say of it.
"""

from __future__ import annotations

import ast
import copy
import io
import re
import signal
import sys
import tokenize
from collections import Counter, defaultdict
from collections.abc import Callable, Generator, Iterator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import chdir, contextmanager, suppress
from dataclasses import dataclass, field
from pathlib import Path
from time import monotonic
from types import MappingProxyType, ModuleType
from typing import Any, Final, TypeAlias, cast

from pytest_sopbench._audit.observing.probing import Book
from pytest_sopbench._audit.observing.remedies import Key, Remedy, Trial, most_successes, remedy_for
from pytest_sopbench._core.answers.find import read_returned
from pytest_sopbench._core.domain import Domain, JudgingRules
from pytest_sopbench._core.judging import breaches, judge
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.model.trace import Ending, Problem, ToolCall, Trace
from pytest_sopbench._core.values.json import JsonValue, to_json_value
from pytest_sopbench._core.verdict import Verdict
from pytest_sopbench._running.tools.domain_code import ManagerFactory
from pytest_sopbench._running.tools.policy_states import with_policy
from pytest_sopbench._running.tools.toolbox import Toolbox, ToolboxFactory
from pytest_sopbench.errors import ToolError

MOST_CALLS: Final = 200
"""Tool calls of one run."""

SECONDS: Final = 1.0
"""Processor time of one run, of which no load of the machine takes anything away."""

ENOUGH_ENDLESS: Final = 2
"""Runs of a mutant that did not end; the others are not made."""

FAILING: Final = frozenset({"answer", "crash", "rule"})
"""What fails a run, with no option and no gate."""

# Places of a source that can be changed, and what stands there then.

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
_OTHER_VALUES: Final = 2
_STRENGTH: Final = ("steps", "calls", "should", "rule", "crash", "answer")


@dataclass(frozen=True, slots=True, kw_only=True)
class Change:
    """One change of a source: where it is, what it says, and how it is made and taken back.

    Attributes:
        kind: what is changed: `comparison`, `constant`, `and-or`, `operand`, `branch`, `call` ...
        line: the line on which it stands.
        function: the function or the constant that it is a part of.
        text: such as `days > 14 -> days >= 14`.
        lines: the lines of its statement, by which it is known who comes there; empty where
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


# Runs: the policy, or one of its mutants, with the real tools and the real judge.


class EndlessError(BaseException):
    """A run has used its time; no `except Exception` of a policy stops it."""


@dataclass(frozen=True, slots=True)
class _Base:
    """The right run of a task: what was answered and called, and what the judge said."""

    answer: JsonValue
    calls: tuple[ToolCall, ...]
    verdict: Verdict
    lines: AbstractSet[int] = field(default_factory=frozenset[int])


class Suite:
    """The tasks of a domain with their tools, their judge, and the right run of each."""

    def __init__(self, domain: Domain, factory: ManagerFactory | None) -> None:
        self.domain = domain
        self.tasks = tuple(domain.tasks)
        self._boxes = ToolboxFactory(domain, factory)
        self._rules = JudgingRules(
            fields=domain.fields,
            sop=domain.sop,
            contract=domain.contract,
            expected_calls=domain.expected_calls,
            document=domain.document,
            world=domain.world,
            state=with_policy(domain, trusted=True),
        )
        self.right: dict[int, _Base] = {}
        self.left_out: dict[int, str] = {}

    def run(self, task: Task, agent: Callable[[Any, Callable[..., Any]], Any]) -> Trace:
        """Make one run within its limits of time and calls."""
        box = self._boxes.open(task, max_calls=MOST_CALLS, clock=monotonic)
        problem = returned = None
        ending = Ending.RETURNED
        try:
            with limited(SECONDS):
                value = agent(to_json_value(task.inputs), box.tools.call)
            returned = read_returned(value)
        except EndlessError:
            ending = Ending.TIMED_OUT
        except BaseException as fault:  # noqa: BLE001 - a mutant may raise anything
            ending = Ending.RAISED
            problem = Problem(type=type(fault).__name__, message=str(fault)[:300])
        if box.log.over_limit:
            ending, returned = Ending.OVER_LIMIT, None
        state = box.state
        calls = _closed(box)
        return Trace(ending=ending, returned=returned, problem=problem, calls=calls, state=state)

    @property
    def right_calls(self) -> Mapping[int, Sequence[ToolCall]]:
        return {position: base.calls for position, base in self.right.items()}

    def judged(self, position: int, trace: Trace) -> Verdict:
        return judge(self._rules, self.tasks[position], trace)

    def enter(self, position: int, answer: JsonValue, trace: Trace, lines: set[int]) -> bool:
        """Keep a run as the right one of its task; false where the suite fails it already."""
        verdict = self.judged(position, trace)
        broken = breaches(verdict.rules, verdict.outcome, enforce=True)
        if not verdict.correct or broken:
            otherwise = "breaks a rule" if verdict.correct else "gives another answer"
            ended = trace.ending is Ending.RETURNED
            self.left_out[position] = otherwise if ended else "ends without an answer"
            return False
        self.right[position] = _Base(answer, trace.calls, verdict, frozenset(lines))
        return True

    def noticed(self, position: int, trace: Trace) -> str:
        """By what the suite notices a run: `answer`, `crash`, `rule`, ... or nothing.

        `calls` are expected calls that were not made, which a gate can see; `steps` is their order,
        or a further call, which none sees.
        """
        return self.noticed_by(position, trace)[0]

    def noticed_by(self, position: int, trace: Trace) -> tuple[str, Sequence[str]]:
        """By what the suite notices a run, and the rules that only should hold, if by these."""
        right, verdict = self.right[position].verdict, self.judged(position, trace)
        if not verdict.correct:
            return "answer" if trace.ending is Ending.RETURNED else "crash", ()
        if breaches(verdict.rules, verdict.outcome):
            return "rule", ()
        if soft := breaches(verdict.rules, verdict.outcome, enforce=True):
            return "should", [one.id for one in soft]
        if verdict.unmade and not right.unmade:
            return "calls", ()
        return "steps" if verdict.departure and not right.departure else "", ()


def _closed(box: Toolbox) -> tuple[ToolCall, ...]:
    calls = box.log.calls
    box.close()
    return calls


@contextmanager
def limited(seconds: float) -> Generator[None]:
    """End a changed policy that takes longer, in seconds of processor time.

    Raises:
        EndlessError: it was not done by then.
    """

    def ring(*_: object) -> None:
        raise EndlessError

    def unheard(told: Any) -> None:
        # Raised in a callback of the garbage collector it is lost, and rings again.
        if told.exc_type is not EndlessError:
            hook(told)

    hook, sys.unraisablehook = sys.unraisablehook, unheard
    before = signal.signal(signal.SIGVTALRM, ring)
    # It rings again where a `finally` or a bare `except` has swallowed it.
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 0.1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        sys.unraisablehook = hook


@dataclass(frozen=True, slots=True, kw_only=True)
class Part:
    """A part of the mutants, on a part of the rows; what is not said is no limit.

    Attributes:
        wants: whether a mutant is run, by its kind and by its function or `tool.argument`.
        rows: those that are tried.
        enough: failing rows of a mutant, after which the others are not tried.
    """

    wants: Callable[[str, str], bool] = lambda _kind, _where: True
    rows: AbstractSet[int] | None = None
    enough: int | None = None

    def has(self, row: int) -> bool:
        return self.rows is None or row in self.rows

    def is_done(self, noticed: Mapping[int, str]) -> bool:
        fails = sum(by in FAILING for by in noticed.values())
        return self.enough is not None and fails >= self.enough


ALL: Final = Part()


def mutate(
    domain: Domain,
    factory: ManagerFactory | None,
    book: Book,
    skip: Sequence[int] = (),
    part: Part = ALL,
) -> None:
    """Run every mutant of a domain, or a part, but those that have ended a process before."""
    suite = Suite(domain, factory)
    if domain.policy_file is not None:
        _mutate_policy(suite, domain.policy_file, book, frozenset(skip), part)
    else:
        follow_expected_calls(suite)
    if suite.right and any(one.calls for one in suite.right.values()) and -1 not in skip:
        _mutate_trajectories(suite, book, part)
    rules = {
        position: [one.id for one in base.verdict.rules if one.applies]
        for position, base in suite.right.items()
    }
    book.say(judged=sorted(suite.right), rules=rules, left_out=suite.left_out)


# Mutants of a policy.


def _mutate_policy(
    suite: Suite, path: Path, book: Book, skip: AbstractSet[int], part: Part
) -> None:
    source = path.read_text(encoding="utf-8-sig")
    tree, cited = ast.parse(source), cited_clauses(source)
    book.doing(step="import", tool="policy.py")
    decide = decide_of(tree, path)
    reached: dict[int, set[int]] = defaultdict(set)
    for position, task in enumerate(suite.tasks):
        book.doing(step="policy", row=position)
        lines: set[int] = set()
        told: list[Any] = []
        agent = _kept(traced(decide, str(path), lines), told)
        trace = suite.run(task, agent)
        suite.enter(position, to_json_value(told[0] if told else None), trace, lines)
    for position, base in suite.right.items():
        for line in base.lines:
            reached[line].add(position)
    book.say(reached={line: sorted(found) for line, found in reached.items()}, cited=cited)
    for number, change in enumerate(changes_of(tree)):
        if number in skip or not part.wants(change.kind, change.function):
            continue
        at = sorted({row for line in change.lines for row in reached[line]})
        positions = at if change.lines else sorted(suite.right)
        clauses = clauses_at(cited, change)
        told_of: dict[str, Any] = {
            "kind": change.kind,
            "line": change.line,
            "function": change.function,
            "text": change.text,
            "clauses": clauses,
            "reached": len(positions),
        }
        book.doing(step="mutant", mutant=number, **told_of)
        back = change.apply()
        try:
            rows = list(filter(part.has, positions))
            trial = Trial(remedy=_remedy_of(suite, change, clauses))
            changed = _agent_of(tree, path)
            found = _outcome(suite, changed, rows, book, part, trial)
            mends: Sequence[int] = () if found["noticed"] else _mended(suite, changed, part)
            book.say(mutant=number, **told_of, **found, mends=mends)
        finally:
            back()


def _remedy_of(suite: Suite, change: Change, clauses: Sequence[str]) -> Remedy | None:
    if change.tool not in {one.name for one in suite.domain.tool_specs}:
        return None
    return remedy_for((change.kind, change.tool, ""), clause=clauses[0] if clauses else "")


def _agent_of(tree: ast.Module, path: Path) -> Callable[..., Any] | str:
    """A changed policy, or why it cannot be imported."""
    try:
        return decide_of(tree, path)
    except BaseException as fault:  # noqa: BLE001 - a mutant may raise anything
        return f"{type(fault).__name__}: {fault}"[:200]


def _outcome(
    suite: Suite,
    decide: Callable[..., Any] | str,
    positions: Sequence[int],
    book: Book,
    part: Part,
    trial: Trial,
) -> Mapping[str, Any]:
    """What the suite says of a mutant: by what it is noticed on which row, and where it differs."""
    found: dict[str, Any] = {"noticed": {}, "differs": [], "broken": "", "soft": {}, "remedy": None}
    if not positions:
        return found
    if isinstance(decide, str):
        return {**found, "broken": decide}
    noticed: dict[int, str] = {}
    differs: list[int] = []
    soft: Counter[str] = Counter()
    endless = 0
    pulse = _Pulse(book)
    for position in positions:
        pulse.beat()
        told: list[Any] = []
        trace = suite.run(suite.tasks[position], _kept(decide, told))
        right = suite.right[position]
        if told and is_same(right, told[0], trace):
            continue
        differs.append(position)
        by, rules = suite.noticed_by(position, trace)
        soft.update(rules)
        if by:
            noticed[position] = by
        if by not in FAILING:
            trial.hold(position, suite.tasks[position], trace)
        endless += trace.ending is Ending.TIMED_OUT
        if endless >= ENOUGH_ENDLESS or part.is_done(noticed):
            break
    remedy = trial.told(suite.right_calls, suite.tasks)
    return {**found, "noticed": noticed, "differs": differs, "soft": soft, "remedy": remedy}


def _mended(suite: Suite, decide: Callable[..., Any] | str, part: Part) -> Sequence[int]:
    """The tasks left out that a mutant does right: there it may be the policy that is wrong."""
    mended: list[int] = []
    if isinstance(decide, str):
        return mended
    for position in filter(part.has, suite.left_out):
        trace = suite.run(suite.tasks[position], decide)
        if trace.ending is Ending.TIMED_OUT:
            break
        if suite.judged(position, trace).correct:
            mended.append(position)
    return mended


class _Pulse:
    """Says once a second that the process goes on, however little a busy machine gives it."""

    def __init__(self, book: Book) -> None:
        self._book = book
        self._last = monotonic()

    def beat(self) -> None:
        now = monotonic()
        if now - self._last >= 1:
            self._last = now
            self._book.say(alive=True)


def is_same(right: _Base, answer: Any, trace: Trace) -> bool:
    """Whether a run is the right one in every way, so that its verdict is the same as well."""
    if trace.ending is not Ending.RETURNED or len(trace.calls) != len(right.calls):
        return False
    return to_json_value(answer) == right.answer and all(
        one.name == other.name and one.arguments == other.arguments and one.error == other.error
        for one, other in zip(trace.calls, right.calls, strict=True)
    )


def _kept(decide: Callable[..., Any], told: list[Any]) -> Callable[..., Any]:
    def agent(inputs: Any, call: Callable[..., Any]) -> Any:
        told.append(decide(inputs, call))
        return told[0]

    return agent


def traced(decide: Callable[..., Any], file: str, lines: set[int]) -> Callable[..., Any]:
    """Note the lines of a file that are run."""

    def local(frame: Any, event: str, _: Any) -> Any:
        if event == "line":
            lines.add(frame.f_lineno)
        return local

    def trace(frame: Any, _event: str, _: Any) -> Any:
        if frame.f_code.co_filename != file:
            return None
        lines.add(frame.f_lineno)
        return local

    def run(inputs: Any, call: Callable[..., Any]) -> Any:
        before = sys.gettrace()
        sys.settrace(trace)
        try:
            return decide(inputs, call)
        finally:
            sys.settrace(before)

    return run


def decide_of(
    tree: ast.Module, path: Path, given: Mapping[str, object] = MappingProxyType({})
) -> Callable[..., Any]:
    """Import a changed source as if it stood in the file, with names that are given to it."""
    name = "_sopbench_mutant_policy"
    module = ModuleType(name)
    module.__file__ = str(path)
    vars(module).update(given)
    sys.modules[name] = module
    sys.path.insert(0, str(path.parent))
    try:
        with chdir(path.parent), limited(SECONDS):
            exec(compile(ast.fix_missing_locations(tree), str(path), "exec"), vars(module))  # noqa: S102 - the domain's own code
    finally:
        sys.path.remove(str(path.parent))
    decide: Callable[..., Any] = vars(module)["decide"]
    return decide


# Mutants of trajectories: right calls, changed as agents go wrong. The answer stays right.

Step: TypeAlias = "tuple[str, Any]"


def follow_expected_calls(suite: Suite) -> None:
    """Without a policy the right run makes the expected calls, and gives the expected answer."""
    for position, task in enumerate(suite.tasks):
        expected = suite.domain.expected_calls.get(task.id)
        if expected is None:
            suite.left_out[position] = "has no expected calls"
            continue
        steps = [(one.name, one.arguments) for one in expected]
        answer = to_json_value(task.expected_as_written)
        suite.enter(position, answer, suite.run(task, _following(steps, answer)), set())


def _following(steps: Sequence[Step], answer: Any) -> Callable[..., Any]:
    def agent(_inputs: Any, call: Callable[..., Any]) -> Any:
        for name, arguments in steps:
            with suppress(ToolError):
                call(name, **arguments)
        return answer

    return agent


def _mutate_trajectories(suite: Suite, book: Book, part: Part) -> None:
    kept = {
        position: [one for one in base.calls if isinstance(one.arguments, Mapping)]
        for position, base in suite.right.items()
    }
    ways = _Ways(suite, kept)
    pulse = _Pulse(book)
    tallies: dict[Key, dict[int, set[str]]] = defaultdict(dict)
    noticed: dict[Key, dict[int, str]] = defaultdict(dict)
    soft: dict[Key, dict[str, set[int]]] = defaultdict(lambda: defaultdict(set))
    trials: dict[Key, Trial] = {}
    for position in filter(part.has, kept):
        book.doing(step="trajectory", mutant=-1, row=position)
        for key, changed, told in ways.of(position):
            pulse.beat()
            kind, tool, other = key
            if not part.wants(kind, f"{tool}.{other}") or part.is_done(noticed[key]):
                continue
            task = suite.tasks[position]
            trace = suite.run(task, _following(changed, told))
            by, rules = suite.noticed_by(position, trace)
            tallies[key].setdefault(position, set()).add(by)
            for rule in rules:
                soft[key][rule].add(position)
            if by not in FAILING:
                if key not in trials:
                    trials[key] = Trial(remedy=_remedy(key, kept, suite))
                trials[key].hold(position, task, trace)
        for key, found in tallies.items():
            # On one task a tool may be called twice: it is noticed there if each of its ways is.
            if "" not in found.get(position, {""}):
                weakest = next(one for one in _STRENGTH if one in found[position])
                noticed[key][position] = weakest
    for key, found in tallies.items():
        kind, tool, other = key
        trial = trials.get(key)
        book.say(
            trajectory={"kind": kind, "tool": tool, "other": other, "reached": len(found)},
            noticed=noticed[key],
            on=sorted(found),
            soft={rule: len(rows) for rule, rows in soft[key].items()},
            remedy=trial.told(kept, suite.tasks) if trial else None,
        )


def _remedy(key: Key, kept: Mapping[int, Sequence[ToolCall]], suite: Suite) -> Remedy | None:
    kind, tool, other = key
    source = _source(kept, suite, tool, other) if kind == "value" else ""
    return remedy_for(key, most=most_successes(tool, kept.values()), source=source)


def _steps(calls: Sequence[ToolCall]) -> list[Step]:
    return [(one.name, one.arguments) for one in calls]


class _Ways:
    """How agents go wrong on each task, and what they know from others."""

    def __init__(self, suite: Suite, kept: Mapping[int, Sequence[ToolCall]]) -> None:
        self._suite = suite
        self._kept = kept
        self._values = _values(kept)
        self._labels = _labels(suite)
        self._next = _usual_next(kept)

    def of(self, position: int) -> Iterator[tuple[Key, Sequence[Step], Any]]:
        answer, calls = self._suite.right[position].answer, self._kept[position]
        for key, changed in _wrong_ways(calls, self._values):
            yield key, changed, answer
        for key, changed in self._going_on(position):
            yield key, changed, answer
        for key, other in _wrong_answers(answer, self._labels):
            yield key, _steps(calls), other

    def _going_on(self, position: int) -> Iterator[tuple[Key, Sequence[Step]]]:
        """Ignore an error: make the call that follows where the tool succeeds."""
        calls = self._kept[position]
        steps, made = _steps(calls), {one.name for one in calls}
        own: dict[str, Any] = {**self._suite.tasks[position].inputs}
        for number, (tool, arguments) in enumerate(steps):
            own |= arguments
            name, usual = self._next.get(tool, (tool, {}))
            if calls[number].error and name not in made:
                given = {argument: own.get(argument, value) for argument, value in usual.items()}
                changed = [*steps[: number + 1], (name, given), *steps[number + 1 :]]
                yield ("ignored", tool, name), changed


def _usual_next(kept: Mapping[int, Sequence[ToolCall]]) -> Mapping[str, Step]:
    """For each tool a call of the one that follows most often where it succeeds."""
    counts: dict[str, Counter[str]] = defaultdict(Counter)
    some: dict[tuple[str, str], Step] = {}
    for calls in kept.values():
        for call, (name, arguments) in zip(calls, _steps(calls)[1:], strict=False):
            if not call.error and call.name != name:
                counts[call.name][name] += 1
                some.setdefault((call.name, name), (name, arguments))
    return {tool: some[tool, found.most_common(1)[0][0]] for tool, found in counts.items()}


def _wrong_ways(
    calls: Sequence[ToolCall], values: Mapping[tuple[str, str], Sequence[Any]]
) -> Iterator[tuple[Key, Sequence[Step]]]:
    steps = _steps(calls)
    for number, (name, arguments) in enumerate(steps):
        before, after = [*steps[:number]], [*steps[number + 1 :]]
        again = "retried" if calls[number].error else "repeated"
        yield ("left-out", name, ""), [*before, *after]
        yield (again, name, ""), [*before, steps[number], steps[number], *after]
        yield ("stopped", name, ""), before
        yield ("invented", name, ""), [*before, (name, {**arguments, "remark": "as usual"}), *after]
        if after and after[0][0] != name:
            yield ("swapped", name, after[0][0]), [*before, after[0], steps[number], *after[1:]]
        for argument, value in arguments.items():
            other = next((one for one in values[name, argument] if one != value), None)
            if other is not None:
                changed = (name, {**arguments, argument: other})
                yield ("value", name, argument), [*before, changed, *after]


def _values(kept: Mapping[int, Sequence[ToolCall]]) -> Mapping[tuple[str, str], Sequence[Any]]:
    """A few values of each argument, as the right runs of other rows have them."""
    found: dict[tuple[str, str], list[Any]] = defaultdict(list)
    for calls in kept.values():
        for name, arguments in _steps(calls):
            for argument, value in arguments.items():
                some = found[name, argument]
                if len(some) < _OTHER_VALUES and value not in some:
                    some.append(value)
    return found


def _labels(suite: Suite) -> Mapping[str, Sequence[Any]]:
    """The answers of each output field, the most frequent first."""
    found: dict[str, Counter[str]] = defaultdict(Counter)
    for base in suite.right.values():
        if isinstance(base.answer, Mapping):
            for name, value in base.answer.items():
                if isinstance(value, str):
                    found[name][value] += 1
    return {name: [one for one, _ in counts.most_common()] for name, counts in found.items()}


def _wrong_answers(
    answer: Any, labels: Mapping[str, Sequence[Any]]
) -> Iterator[tuple[tuple[str, str, str], Any]]:
    for name, known in labels.items():
        if isinstance(answer, Mapping) and name in answer:
            other = next((one for one in known if one != answer[name]), None)
            if other is not None:
                yield ("label", "", name), {**answer, name: other}


def _source(
    kept: Mapping[int, Sequence[ToolCall]], suite: Suite, tool: str, argument: str
) -> Mapping[str, str] | str:
    """Where an argument always comes from: an input of its name, or a result of an earlier tool."""
    inputs: set[str] | None = None
    results: set[str] | None = None
    for position, calls in kept.items():
        for number, (name, arguments) in enumerate(_steps(calls)):
            if name != tool or argument not in arguments:
                continue
            value = arguments[argument]
            task = suite.tasks[position]
            inputs = _both(inputs, {one for one, held in task.inputs.items() if held == value})
            earlier = calls[:number]
            results = _both(results, {one for call in earlier for one in _held(call, value)})
    for key, found in (("equals_input", inputs), ("equals_result", results)):
        if found:
            return {key: argument if argument in found else min(found)}
    return ""


def _both(found: set[str] | None, further: set[str]) -> set[str]:
    return further if found is None else found & further


def _held(call: ToolCall, value: Any) -> Iterator[str]:
    if isinstance(call.result, Mapping):
        for name, held in call.result.items():
            if held == value:
                yield f"{call.name}.{name}"
