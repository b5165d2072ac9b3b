"""The suite of a domain in the child process: its tasks, tools and judge, and the right runs.

Agents that run here are a policy, a changed one, or calls that are made one after the other.
"""

from __future__ import annotations

import ast
import signal
import sys
from collections.abc import Callable, Generator, Mapping, Sequence
from collections.abc import Set as AbstractSet
from contextlib import chdir, contextmanager, suppress
from dataclasses import dataclass, field, replace
from pathlib import Path
from time import monotonic
from types import MappingProxyType, ModuleType
from typing import Any, Final, TypeAlias

from pytest_sopbench._core.answers.find import read_returned
from pytest_sopbench._core.domain import Domain, judging_rules
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

FAILING: Final = frozenset({"answer", "crash", "rule"})
"""What fails a run, with no option and no gate."""


Step: TypeAlias = "tuple[str, Any]"
"""A call: the name of its tool, and its arguments."""


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
        self._rules = replace(judging_rules(domain), state=with_policy(domain, trusted=True))
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

    def judged(self, position: int, trace: Trace) -> Verdict:
        return judge(self._rules, self.tasks[position], trace)

    def enter(self, position: int, answer: JsonValue, trace: Trace, lines: set[int]) -> bool:
        """Keep a run as the right one of its task; false if the suite fails it already."""
        verdict = self.judged(position, trace)
        broken = breaches(verdict.rules, verdict.outcome, enforce=True)
        if not verdict.correct or broken:
            otherwise = "breaks a rule" if verdict.correct else "gives another answer"
            ended = trace.ending is Ending.RETURNED
            self.left_out[position] = otherwise if ended else "ends without an answer"
            return False
        self.right[position] = _Base(answer, trace.calls, verdict, frozenset(lines))
        return True

    def noticed_by(self, position: int, trace: Trace) -> tuple[str, Sequence[str]]:
        """By what the suite notices a run, and the rules that only should hold, if by these.

        It is `answer`, `crash`, `rule`, ... or nothing. `calls` are expected calls that were not
        made, which a gate can see; `steps` is their order, or a further call, which none sees.
        """
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
    # It rings again if a `finally` or a bare `except` has swallowed it.
    signal.setitimer(signal.ITIMER_VIRTUAL, seconds, 0.1)
    try:
        yield
    finally:
        signal.setitimer(signal.ITIMER_VIRTUAL, 0)
        signal.signal(signal.SIGVTALRM, before)
        sys.unraisablehook = hook


def is_same(right: _Base, answer: Any, trace: Trace) -> bool:
    """Whether a run is the right one in every way, so that its verdict is the same as well."""
    if trace.ending is not Ending.RETURNED or len(trace.calls) != len(right.calls):
        return False
    return to_json_value(answer) == right.answer and all(
        one.name == other.name and one.arguments == other.arguments and one.error == other.error
        for one, other in zip(trace.calls, right.calls, strict=True)
    )


def keeping(decide: Callable[..., Any], told: list[Any]) -> Callable[..., Any]:
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
            exec(compile(tree, str(path), "exec"), vars(module))  # noqa: S102 - the domain's own code
    finally:
        sys.path.remove(str(path.parent))
    decide: Callable[..., Any] = vars(module)["decide"]
    return decide


# Right runs, if there is no policy: the expected calls, and the expected answer.


def follow_expected_calls(suite: Suite) -> None:
    """Without a policy the right run makes the expected calls, and gives the expected answer."""
    for position, task in enumerate(suite.tasks):
        expected = suite.domain.expected_calls.get(task.id)
        if expected is None:
            suite.left_out[position] = "has no expected calls"
            continue
        steps = [(one.name, one.arguments) for one in expected]
        answer = to_json_value(task.expected_as_written)
        suite.enter(position, answer, suite.run(task, following(steps, answer)), set())


def following(steps: Sequence[Step], answer: Any) -> Callable[..., Any]:
    def agent(_inputs: Any, call: Callable[..., Any]) -> Any:
        for name, arguments in steps:
            with suppress(ToolError):
                call(name, **arguments)
        return answer

    return agent
