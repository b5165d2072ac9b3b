"""The end states that the reference policy of a domain leaves, found when they are asked for."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import replace
from threading import Lock, Thread
from time import monotonic
from typing import Final, TypeAlias, cast

from pytest_sopbench._core.domain import Domain, StateRules
from pytest_sopbench._core.hiding import ready_to_cut
from pytest_sopbench._core.model.task import Task
from pytest_sopbench._core.model.world import StateChange
from pytest_sopbench._core.protocols import Policy
from pytest_sopbench._core.values.json import JsonValue, to_json_value
from pytest_sopbench._running.observing import Output, captured, message_of, name_of
from pytest_sopbench.errors import SopbenchError

from .domain_code import load_manager_factory, load_policy
from .toolbox import ToolboxFactory

PolicyState: TypeAlias = tuple[StateChange, ...] | str

_MOST_CALLS: Final = 10_000
_SECONDS: Final = 60.0
"""How long a policy may take for a task; right ones take a thousandth of it."""
_SHOWN: Final = 120


def with_policy(domain: Domain, *, trusted: bool) -> StateRules | None:
    """Return how the end state is judged, with a policy to be asked if it says what is right."""
    state = domain.state
    if state is None or not state.by_policy:
        return state
    return replace(state, expected=PolicyStates(domain, trusted=trusted))


class PolicyStates(Mapping[str, PolicyState]):
    """What the policy changes in the world of each task, or why nobody knows that.

    The policy runs once for a task, with tools of its own, in the process that judges a run. One
    that does not end is left behind in its thread, and asked for no other task.

    Args:
        domain: the domain; its code is run only if it is `trusted`.
        trusted: whether it is.
    """

    def __init__(self, domain: Domain, *, trusted: bool) -> None:
        self._domain = domain
        self._trusted = trusted
        self._places = {task: place for place, task in enumerate(domain.task_ids)}
        self._lock = Lock()
        self._known: dict[str, PolicyState] = {}
        self._run: Callable[[Task], PolicyState] | None = None

    def __getitem__(self, task_id: str) -> PolicyState:
        with self._lock:
            if task_id not in self._known:
                task = self._domain.tasks[self._places[task_id]]
                self._run = self._run or self._loaded()
                self._known[task_id] = self._in_time(self._run, task)
            return self._known[task_id]

    def __iter__(self) -> Iterator[str]:
        return iter(self._places)

    def __len__(self) -> int:
        return len(self._places)

    def _in_time(self, run: Callable[[Task], PolicyState], task: Task) -> PolicyState:
        found: list[PolicyState] = []
        # Whoever stops the session interrupts the wait, and no daemon holds the process back.
        thread = Thread(target=lambda: found.append(run(task)), name="sop-policy", daemon=True)
        try:
            thread.start()
        except (RuntimeError, MemoryError):
            return "the system gives no thread for the reference policy"
        thread.join(_SECONDS)
        if found:
            return found[0]
        why = f"the reference policy did not end within {_SECONDS:g} s on task {task.id}"
        self._run = lambda _: f"{why}, and is not asked again"
        return why

    def _loaded(self) -> Callable[[Task], PolicyState]:
        if not self._trusted:
            return lambda _: "the domain is not trusted, so its policy.py is not run"
        domain = self._domain
        try:
            decide = load_policy(domain)
            code = load_manager_factory(domain) if domain.tools_file is not None else None
            factory = ToolboxFactory(domain, code)
        except SopbenchError as fault:
            why = str(fault)
            return lambda _: why
        return lambda task: _state_of(decide, factory, task)


def _state_of(decide: Policy, factory: ToolboxFactory, task: Task) -> PolicyState:
    try:
        box = factory.open(task, max_calls=_MOST_CALLS, clock=monotonic)
        try:
            with captured(Output()):
                decide(cast("dict[str, JsonValue]", to_json_value(task.inputs)), box.tools.call)
            return box.state or ()
        finally:
            box.close()
    except BaseException as error:  # noqa: BLE001 - a domain's own code may raise anything
        said = f"the reference policy raised {name_of(error)}: {message_of(error)}"
        return ready_to_cut(said)[:_SHOWN]
