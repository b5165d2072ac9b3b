"""The domains of a session."""

from __future__ import annotations

import json
import random
import secrets
import sys
from collections import defaultdict
from collections.abc import Generator, Iterable, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, replace
from functools import cache, cached_property, partial
from importlib.metadata import PackageNotFoundError, version
from typing import TYPE_CHECKING, Any, Final, cast

import pluggy
import pytest

from pytest_sopbench._core.domain import Domain, JudgingRules, rules_fingerprint
from pytest_sopbench._core.model.task import Compare, OutputField, RunKey, Task, shard_number
from pytest_sopbench._hooks.outgoing import BREAKAGE, kept_descriptors
from pytest_sopbench._hooks.settings.options import Options
from pytest_sopbench._loading.evidence import read_strong_sample
from pytest_sopbench._loading.rows import TaskRows
from pytest_sopbench._running.comparing import SOURCES, Comparer, Comparers, Place, find_comparers
from pytest_sopbench._running.importing import SlowImportError, limited_import
from pytest_sopbench._running.limits import HIGHEST, START, Limit
from pytest_sopbench._settings.readers import Sample
from pytest_sopbench.errors import ComparerError

if TYPE_CHECKING:
    from pytest_sopbench._judge.judging import Judging

# A domain in use, and the runs that items ask for of its tasks.


@dataclass(frozen=True, slots=True)
class TaskRef:
    """One run that an item asks for, its task by position, so that no item holds a row.

    `variant` is empty, or that of a run beside the original, which is counted nowhere.
    """

    domain: ActiveDomain
    position: int
    key: RunKey
    variant: str = ""

    @property
    def line(self) -> int:
        """The line of the data file on which the task's row starts, from 1."""
        # Without building the task, if it is not built yet.
        rows = self.domain.domain.tasks
        if isinstance(rows, TaskRows):
            return rows.line_at(self.position)
        return rows[self.position].line

    @property
    def task(self) -> Task:
        return self.domain.domain.tasks[self.position]

    @property
    def selected(self) -> bool:
        return self.position in self.domain.selected

    def by(self, agent: str) -> TaskRef:
        """Return the same run by another agent."""
        return (
            self if agent == self.key.agent else replace(self, key=self.key._replace(agent=agent))
        )


@dataclass(frozen=True, eq=False)
class ActiveDomain:
    """A domain in use: as loaded, how it is judged, and which of its tasks are selected.

    `spec` is the value of `--sop-domain` that finds it again, `nodeid` the id of its collector.
    `pool` are the positions of the tasks that shards share out, `positions` the selected ones.
    """

    domain: Domain
    rules: JudgingRules
    spec: str
    nodeid: str
    trusted: bool
    comparers: Comparers
    pool: tuple[int, ...]
    positions: tuple[int, ...]

    @cached_property
    def selected(self) -> frozenset[int]:
        """The positions of the tasks that the options select."""
        return frozenset(self.positions)

    @cached_property
    def places(self) -> Mapping[str, int]:
        """The position of each task by its id."""
        return {task_id: position for position, task_id in enumerate(self.domain.task_ids)}

    @property
    def contents(self) -> dict[str, str]:
        """Hashes of what decides on the verdicts; equal on machines that judge alike."""
        return {
            **self.domain.hashes,
            "judging": rules_fingerprint({self.domain.name: self.rules}),
            "pytest-sopbench": own_version(),
        }

    def refs(self, agents: Sequence[str], trials: int) -> Sequence[TaskRef]:
        """Return every task, selected or not: pytest and other plugins must see the others go.

        The first trials of all tasks come before the second ones: whatever ends a session early,
        a budget, `-x` or Ctrl-C, it has tried as many tasks as it could, and not a few of them
        again and again. Runs that are made at the same time are of different tasks then. All
        agents try a task before the next one comes, so that they are compared on what was tried.
        """
        name = self.domain.name
        return [
            TaskRef(self, position, RunKey(name, task_id, trial, agent))
            for trial in range(1, trials + 1)
            for position, task_id in enumerate(self.domain.task_ids)
            for agent in agents
        ]


@cache
def own_version() -> str:
    """Return the version of this package; its metadata are read once.

    It is empty if the package lies on the path without having been installed.
    """
    try:
        return version("pytest-sopbench")
    except PackageNotFoundError:
        return ""


# How many runs this process may have in flight, and how far it may run ahead of its tests.

AHEAD: Final = 8
"""Runs that may be begun before their tests come, for each run in flight: a run that takes long
holds up the tests behind it, and with fewer the others would soon stand still."""

SHARE: Final = "sop_share"
"""What a worker is told: its part of the session's concurrency."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Pace:
    """How a process makes its runs.

    `ahead` is how many runs may be begun before their tests come. If `direct`, each run is
    made in the main thread, without a limit of time, when its test asks for it.
    """

    limit: Limit
    ahead: int
    timeout: float | None

    @property
    def direct(self) -> bool:
        return self.limit.highest == 1 and self.timeout is None


def pace_of(config: pytest.Config, options: Options) -> Pace:
    """Return the pace of this process, which may be one of several workers."""
    if needs_main_thread(config):
        return Pace(limit=Limit.fixed(1), ahead=0, timeout=None)
    limit = _limit(config, options)
    # One run at a time begins when its test asks, as a test's own code would do it.
    ahead = AHEAD * limit.highest if limit.highest > 1 else 0
    stops_early = bool(config.getoption("maxfail", 0))
    if stops_early or (options.budget.usd is not None and hasattr(config, "workerinput")):
        # What is begun beyond the test that ends the session is paid for in vain, and what a
        # worker has spent the controller learns in the order of the tests.
        ahead = min(ahead, limit.highest)
    return Pace(limit=limit, ahead=ahead, timeout=options.timeout)


def needs_main_thread(config: pytest.Config) -> bool:
    """Tell whether the user wants to talk to the agent, by a debugger or at the terminal."""
    option = config.option
    return bool(option.usepdb or option.trace or getattr(option, "capture", "") == "no")


def shares(total: int, workers: int) -> list[int]:
    """Share `total` runs in flight out among workers, as evenly as whole numbers allow."""
    least, more = divmod(total, workers)
    return [least + (place < more) for place in range(workers)]


def _limit(config: pytest.Config, options: Options) -> Limit:
    workerinput: dict[str, Any] = getattr(config, "workerinput", {})
    workers: int = workerinput.get("workercount", 1)
    if options.concurrency is None:
        return Limit.fixed(1)
    if options.concurrency == "auto":
        return Limit.adaptive(start=max(1, START // workers), highest=max(1, HIGHEST // workers))
    # A worker that takes over from a dead one is told its share; without a controller of ours
    # that could tell it, the smaller share never is too much.
    least = max(1, options.concurrency // workers)
    return Limit.fixed(workerinput.get(SHARE, least))


# Imports of what the project names: bounded in time, and reported if they take long.


@contextmanager
def import_limit(config: pytest.Config, options: Options, what: str) -> Generator[None]:
    """Bound the import of `what`, which is made inside, by the time limit of runs.

    Raises:
        pytest.UsageError: it took longer.
    """
    # A user who debugs the import may take his time.
    seconds = None if needs_main_thread(config) else options.timeout
    breakage = config.stash[BREAKAGE]
    breakage.keep_streams()
    try:
        with (
            kept_descriptors(breakage.note, f"while {what} was imported"),
            limited_import(what, seconds, partial(_say, config)),
        ):
            yield
    except SlowImportError as error:
        msg = f"{what}: importing it {error}\nraise --sop-timeout, or let it do less when imported"
        raise pytest.UsageError(msg) from None


def _say(config: pytest.Config, line: str) -> None:
    capture: Any = config.pluginmanager.get_plugin("capturemanager")
    if capture is None:
        print(line, file=sys.stderr, flush=True)  # noqa: T201 - there is no reporter yet
        return
    with capture.global_and_fixture_disabled():
        print(line, file=sys.stderr, flush=True)  # noqa: T201 - there is no reporter yet


# The comparers of a domain in use: named by the domain, registered by packages and conftests.


def comparers_of(
    config: pytest.Config, options: Options, domain: Domain, *, trusted: bool
) -> Comparers:
    """Find what compares the fields of a domain that others compare.

    Raises:
        ComparerError: one cannot be found or used.
        JudgeError: a field has a judge, and none is set or can be used.
    """

    def judged(output: OutputField, place: Place) -> Comparer:
        # Asked only if a field has a judge, whose room no other session loads.
        return judging_of(config, options).comparer(output, place)

    place = Place(
        domain=domain.name,
        folder=domain.folder,
        trusted=trusted,
        path=config.rootpath,
        registered=_registered(config),
    )
    find = partial(
        find_comparers,
        domain.fields,
        options.scoring,
        place,
        seconds=options.comparer_timeout,
        sources={**SOURCES, Compare.JUDGE: judged},
    )
    if not any(one.compare is Compare.CALL for one in domain.fields):
        return find()
    with import_limit(config, options, f"the comparers of domain {domain.name}"):
        return find()


def _registered(config: pytest.Config) -> Mapping[str, object]:
    """Return the comparers that conftests and plugins register, each under its own name."""
    hook: pluggy.HookCaller = config.hook.pytest_sop_comparers
    found: dict[str, object] = {}
    for some in hook():
        if not isinstance(some, Mapping):
            msg = f"pytest_sop_comparers: comparers by name expected, got {type(some).__name__}"
            raise ComparerError(msg, hint='return {"name": function} from the hook')
        for name, function in cast("Mapping[str, object]", some).items():
            if name in found and found[name] is not function:
                msg = f"pytest_sop_comparers: two comparers are called {name!r}"
                raise ComparerError(msg, hint="rename one of them")
            found[name] = function
    return found


# Which tasks of a domain the options select; the same in every process.


def choose(domain: Domain, options: Options, named: frozenset[str]) -> tuple[int, ...]:
    """Return the positions of the tasks that shards share out, in the order of the rows.

    Args:
        domain: where the tasks are.
        options: of the session.
        named: the ids of tasks that were asked for by name; empty chooses all.
    """
    positions: Iterable[int] = range(len(domain.task_ids))
    if named:
        positions = [one for one in positions if domain.task_ids[one] in named]
    if options.tags:
        positions = [one for one in positions if options.tags & {*domain.tasks[one].tags}]
    return tuple(positions)


def select(domain: Domain, options: Options, pool: Sequence[int]) -> tuple[int, ...]:
    """Return the positions of the selected tasks, in the order of the rows.

    The shard takes its part of the pool; a sample is taken of that.
    """
    positions: Iterable[int] = pool
    shard = options.shard
    if shard is not None:
        ids = domain.task_ids
        positions = [one for one in pool if shard_number(ids[one], shard.count) == shard.number]
    sample = options.sample
    if sample is not None and not sample.is_first:
        positions = _sampled(domain, positions, sample)
    return tuple(positions)[: sample.size or None if sample else None]


def _sampled(domain: Domain, positions: Iterable[int], sample: Sample) -> list[int]:
    """Draw evenly over expected answers: each answer gives one task in turn."""
    if sample.strong:
        chosen = read_strong_sample(domain).tasks[: sample.size or None]
        return [one for one in positions if domain.task_ids[one] in chosen]
    groups: dict[str, list[int]] = defaultdict(list)
    for position in positions:
        expected = domain.tasks[position].expected_as_written
        groups[json.dumps(expected, sort_keys=True)].append(position)
    # Seeded, and over sorted groups, so that every process draws the same tasks.
    chance = random.Random(sample.seed)  # noqa: S311 - a sample needs no cryptography
    queues = [groups[answer] for answer in sorted(groups)]
    for queue in queues:
        chance.shuffle(queue)
    drawn: list[int] = []
    while len(drawn) < sample.size and any(queues):
        for queue in queues:
            if queue and len(drawn) < sample.size:
                drawn.append(queue.pop())
    return sorted(drawn)


# The model judge of a session, the same for all of its domains.

LOG: Final = "sop_judge_log"
"""What a worker is told: under which name the session counts what its judge is asked."""

_JUDGING = pytest.StashKey["Judging"]()
_LOG_NAME = pytest.StashKey[str]()


def log_name_of(config: pytest.Config) -> str:
    """Return under which name a session counts what its judge is asked, in all its processes."""
    if _LOG_NAME not in config.stash:
        given: Mapping[str, Any] = getattr(config, "workerinput", {})
        config.stash[_LOG_NAME] = given.get(LOG) or secrets.token_hex(8)
    return config.stash[_LOG_NAME]


def judging_of(config: pytest.Config, options: Options) -> Judging:
    """Return the judging of a session, the same for all that ask."""
    if _JUDGING not in config.stash:
        from pytest_sopbench._judge.judging import Judging  # noqa: PLC0415 - few sessions judge

        config.stash[_JUDGING] = Judging(
            words=options.judge,
            folder=options.judgements_dir,
            mask=options.redaction.text,
            log_name=log_name_of(config),
        )
    return config.stash[_JUDGING]


def judged_in(config: pytest.Config) -> Judging | None:
    """Return the judging of a session in which a field is judged; `None` in any other."""
    return config.stash.get(_JUDGING, None)


def doubtful_in(config: pytest.Config) -> Mapping[str, Mapping[str, str]]:
    """Return why no gate may rest on a judge, by domain and field."""
    judging = judged_in(config)
    return judging.doubtful if judging is not None else {}
