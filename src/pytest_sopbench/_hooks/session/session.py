"""What one process knows of the SOP session: options, domains, agents and the plan."""

from __future__ import annotations

import json
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field, replace
from functools import cached_property
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from pytest_sopbench._core.documents.published import refuse_without_libraries
from pytest_sopbench._core.domain import Domain, JudgingRules, judging_rules
from pytest_sopbench._core.gates.quarantine import NOTHING_FORGIVEN
from pytest_sopbench._core.hiding import masking
from pytest_sopbench._core.model.task import RunKey, Scoring, labels_of, parameter_of
from pytest_sopbench._core.model.usage import Prices
from pytest_sopbench._core.records.record import RunRecord
from pytest_sopbench._core.verdict import Outcome
from pytest_sopbench._hooks.session.domains import (
    ActiveDomain,
    TaskRef,
    choose,
    comparers_of,
    select,
)
from pytest_sopbench._hooks.settings.marks import domain_id
from pytest_sopbench._hooks.settings.options import Options
from pytest_sopbench._loading.finding import FoundDomain, Origin, SearchPaths, find_domains
from pytest_sopbench._loading.load import load_domain
from pytest_sopbench._loading.prices import (
    INSTALL,
    NAME,
    LibraryPrices,
    has_library,
    read_price_file,
)
from pytest_sopbench._reports.text import counted
from pytest_sopbench._running.comparing import Comparers
from pytest_sopbench._running.tools.policy_states import with_policy
from pytest_sopbench._sessions.atomic import try_writing
from pytest_sopbench._sessions.header import SessionOptions
from pytest_sopbench.errors import LoadingError, SopbenchError

# What a session is to run: the denominator, known before the first run and never smaller.
#
# A run is planned once, whoever asks for it: an agent, a domain, a task and a trial are one key.
#
# Every process computes the plan of the built-in tests by itself. What a user's tests ask for,
# only the process that collects them can know; a worker of xdist sends it with its first report,
# since a task is never read back from a node id.


@dataclass(slots=True)
class Part:
    """The plan of one kind of tests.

    `keys` gives the run of each item that is left after deselection, `selected` the runs that
    the `--sop-*` options select.
    """

    keys: dict[str, RunKey] = field(default_factory=dict[str, RunKey])
    selected: dict[RunKey, None] = field(default_factory=dict[RunKey, None])


@dataclass(slots=True)
class Plan:
    """The runs of a session, of built-in tests and of the user's.

    `specs` tells for each domain the value of `--sop-domain` that finds it again, `contents` by
    hashes what this process read of it. `fixture` is the project's fixture that stands for
    `sop_agent`, or empty. `deselected` are selected runs whose items some plugin deselected, and
    said so. `agents` are those of which some collected test asks for a run, whether it is selected
    or not. `has_tasks` tells whether an item of any task was collected. `made` tells how the runs
    ended that were entered; `missing` is what `missing_runs` found when the session ended, `None`
    before.
    """

    builtin: Part = field(default_factory=Part)
    tests: Part = field(default_factory=Part)
    specs: dict[str, str] = field(default_factory=dict[str, str])
    contents: dict[str, dict[str, str]] = field(default_factory=dict[str, dict[str, str]])
    fixture: str = ""
    deselected: dict[RunKey, None] = field(default_factory=dict[RunKey, None])
    agents: dict[str, None] = field(default_factory=dict[str, None])
    has_tasks: bool = False
    made: Mapping[RunKey, Outcome] = field(default_factory=dict[RunKey, Outcome], compare=False)
    missing: dict[RunKey, None] | None = field(default=None, compare=False)

    @property
    def planned(self) -> dict[RunKey, None]:
        """The runs that some item asks for, each once, in the order of collection."""
        keys = [*self.builtin.keys.values(), *self.tests.keys.values()]
        return dict.fromkeys(keys)

    @property
    def selected(self) -> dict[RunKey, None]:
        """The runs that the options select, whether an item asks for them or not."""
        return {**self.builtin.selected, **self.tests.selected}

    @property
    def taken_away(self) -> int:
        """How many selected runs no item asks for."""
        planned = self.planned
        return sum(key not in planned for key in self.selected)

    def key(self, nodeid: str) -> RunKey | None:
        """Return the run that an item asks for."""
        return self.builtin.keys.get(nodeid) or self.tests.keys.get(nodeid)

    def to_json(self) -> str:
        """The part of the user's tests as one ASCII text, for `add_json` of another process."""
        part = self.tests
        every = {**part.selected, **dict.fromkeys(part.keys.values()), **self.deselected}
        places = {key: place for place, key in enumerate(every)}
        return json.dumps(
            {
                "runs": list(places),
                "keys": {nodeid: places[key] for nodeid, key in part.keys.items()},
                "selected": [places[key] for key in part.selected],
                "deselected": [places[key] for key in self.deselected],
                "agents": list(self.agents),
                "has_tasks": self.has_tasks,
                "specs": self.specs,
                "contents": self.contents,
                "fixture": self.fixture,
            }
        )

    def add_json(self, text: str) -> dict[str, dict[str, str]]:
        """Take over what a worker sent, and return its `contents`; every worker sends the same."""
        data: dict[str, Any] = json.loads(text)
        runs: list[RunKey] = [RunKey(*run) for run in data["runs"]]
        keys: dict[str, int] = data["keys"]
        selected: list[int] = data["selected"]
        deselected: list[int] = data["deselected"]
        self.tests.keys.update({nodeid: runs[place] for nodeid, place in keys.items()})
        self.tests.selected.update(dict.fromkeys(runs[place] for place in selected))
        self.deselected.update(dict.fromkeys(runs[place] for place in deselected))
        self.agents.update(dict.fromkeys(data["agents"]))
        self.has_tasks |= data["has_tasks"]
        self.specs.update(data["specs"])
        self.fixture = data["fixture"]
        contents: dict[str, dict[str, str]] = data["contents"]
        return contents


SESSION = pytest.StashKey["SopSession"]()
REF = pytest.StashKey[TaskRef]()
BUILTIN = pytest.StashKey[bool]()
"""Stands on the items of a domain's data file, and on no item of the user."""

LISTINGS = ("collectonly", "setupplan", "showfixtures", "show_fixtures_per_test")
"""Options with which pytest collects tests and runs none, as it calls them itself."""

IN_PROJECT = frozenset({Origin.PROJECT, Origin.PATH})
NO_DOMAIN = (
    "no domain: give --sop-domain NAME on the command line, set sop_domain in the configuration, "
    "or mark the test with @pytest.mark.sop(domain=...)"
)


class SopSession:
    """The SOP side of one pytest session, in one process."""

    def __init__(self, config: pytest.Config, options: Options) -> None:
        self.config = config
        self.options = options
        self.plan = Plan()
        # What the saved session's header has beside what was asked.
        self.recorded = SessionOptions()
        self.forgiven = NOTHING_FORGIVEN
        # The agents of the options that the plugin's own fixture has given to a test or a fixture.
        self.given: dict[str, None] = {}
        # Tests that failed and are no misses; unknown until the session comes to its end.
        self.failures: int | None = None
        # Whether a test failed in its set-up, where it may have been about to ask for a run.
        self.lacks_set_up = False
        # What code of the project broke in its process, each once.
        self.broken: dict[str, None] = {}
        # The run whose failure has shown a traceback, by the type and the frames.
        self.tracebacks: dict[tuple[str, ...], RunKey] = {}
        self._active: dict[str, ActiveDomain] = {}
        self._labels: dict[str, str | None] = {}

    @cached_property
    def where(self) -> SearchPaths:
        return SearchPaths(
            rootdir=self.config.rootpath,
            invocation_dir=self.config.invocation_params.dir,
            sop_paths=self.options.paths,
            trusted=self.options.trusted,
        )

    @cached_property
    def domains(self) -> tuple[ActiveDomain, ...]:
        """The domains that the options or the project's configuration name.

        Raises:
            pytest.UsageError: there is none, or one cannot be used.
        """
        return self.find(self.options.domains)

    @cached_property
    def prices(self) -> Prices | None:
        """By what costs are reckoned that agents do not report; `None` if nothing is there.

        Raises:
            pytest.UsageError: the file of prices cannot be used, or the library is not there.
        """
        asked = self.options.prices
        if isinstance(asked, Path):
            try:
                return read_price_file(asked)
            except LoadingError as error:
                msg = f"sop_prices: {error}"
                raise pytest.UsageError(msg) from None
        if asked == NAME and not has_library():
            msg = f"sop_prices={NAME}: it is not installed\n{INSTALL}; or name a file of prices"
            raise pytest.UsageError(msg)
        return LibraryPrices() if asked in ("", NAME) and has_library() else None

    @property
    def has_domains(self) -> bool:
        """Whether the command line or the configuration names a domain."""
        return bool(self.options.domains)

    @cached_property
    def agents(self) -> tuple[str, ...]:
        """What runs of the session's agents are filed under, known before anything is collected."""
        return tuple(one.name for one in self.options.agents) or ("sop_agent",)

    @cached_property
    def has_agents(self) -> bool:
        """Whether the options name several agents, so that each task is run by each of them."""
        return len(self.agents) > 1

    @property
    def agent_label(self) -> str:
        """What the session's agents are called together."""
        return ", ".join(self.agents)

    @cached_property
    def labels(self) -> Mapping[str, str]:
        """What stands for each agent of the options in the ids of items, if there are several."""
        return labels_of(self.agents) if self.has_agents else {}

    def label_of(self, agent: str) -> str | None:
        """Return what stands for an agent in the id of an item; `None` if nothing does."""
        if agent not in self._labels:
            self._labels[agent] = self.labels.get(agent, parameter_of(agent))
        return self._labels[agent]

    def has_at_hand(self, agent: str, current: str) -> bool:
        """Tell whether an agent is known while another one runs; a fixture may have to make it."""
        return agent == current or (self.has_agents and {agent, current} <= {*self.agents})

    def spec_of(self, agent: str) -> str | None:
        """Return the spec of an agent of the options, `None` if they do not name it."""
        for one in self.options.agents:
            if one.name == agent:
                return one.spec
        return None

    @property
    def agent_shown(self) -> str:
        """What the session's agent is called: a fixture of the project's may stand for it."""
        return self.plan.fixture or self.agent_label

    @property
    def agents_run(self) -> str:
        """What the agents are called together by which tests ask for runs; else `agent_shown`."""
        planned = {one.agent: None for one in self.plan.planned}
        # What the hash leaves to a shard says nothing of the whole.
        asked = self.plan.agents if self.options.shard is not None else planned
        if not asked or self.plan.fixture:
            return self.agent_shown
        mine = [one for one in self.agents if one in asked]
        return ", ".join((*mine, *(one for one in asked if one not in mine)))

    @property
    def makes_runs(self) -> bool:
        """Whether items are run, and not only listed, planned or collected."""
        # Asked for each test, and pytest's own way to look an option up takes a while.
        return not any(map(vars(self.config.option).get, LISTINGS))

    def find(self, values: Sequence[str]) -> tuple[ActiveDomain, ...]:
        """Load the domains that these values of `--sop-domain` name, each once.

        Raises:
            pytest.UsageError: there is none, or one cannot be used.
        """
        if not values:
            raise pytest.UsageError(NO_DOMAIN)
        try:
            found = find_domains(values, self.where)
            named: dict[str, set[str] | None] = {}
            for one in found:
                # A domain that is named alone asks for all of its tasks.
                if one.task is None:
                    named[one.name] = None
                elif (tasks := named.setdefault(one.name, set())) is not None:
                    tasks.add(one.task)
            places = {one.name: one for one in found}
            return tuple(self._load(one, named[name]) for name, one in places.items())
        except SopbenchError as error:
            raise pytest.UsageError(str(error)) from None

    @property
    def actives(self) -> tuple[ActiveDomain, ...]:
        """The domains that were loaded so far."""
        return tuple(self._active.values())

    def find_active(self, name: str) -> ActiveDomain:
        """Return a domain in use by its name, loading it if only a worker has done so."""
        if name not in self._active:
            self.find((self.plan.specs.get(name, name),))
        return self._active[name]

    def shown(self, path: Path) -> str:
        """Write a path as the user would type it."""
        here = self.config.invocation_params.dir
        return str(path.relative_to(here)) if path.is_relative_to(here) else str(path)

    def _load(self, found: FoundDomain, named: set[str] | None) -> ActiveDomain:
        known = self._active.get(found.name)
        if known is not None and known.domain.folder == found.folder and named is None:
            return known
        # What errors and warnings of it quote is masked before it is cut.
        with masking(self.options.redaction.text):
            domain = load_domain(found.folder, name=found.name)
        unknown = (named or set()) - set(domain.task_ids)
        if unknown:
            msg = f"domain {found.name}: it has no task {min(unknown)!r}"
            raise SopbenchError(msg, hint=f"sopbench list {found.name} counts its tasks")
        comparers = comparers_of(self.config, self.options, domain, trusted=found.trusted)
        pool = choose(domain, self.options, frozenset(named or ()))
        active = ActiveDomain(
            domain=domain,
            rules=self._rules(domain, comparers, trusted=found.trusted),
            spec=self._spec(found),
            nodeid=domain_id(domain, self.config.rootpath, in_project=found.origin in IN_PROJECT),
            trusted=found.trusted,
            comparers=comparers,
            pool=pool,
            positions=select(domain, self.options, pool),
        )
        self._active[found.name] = active
        self.plan.specs[found.name] = active.spec
        self.plan.contents[found.name] = active.contents
        return active

    def _rules(self, domain: Domain, comparers: Comparers, *, trusted: bool) -> JudgingRules:
        if domain.document is not None and self.options.scoring is Scoring.PUBLISHED:
            refuse_without_libraries(domain.name)
        return replace(
            judging_rules(domain),
            scoring=self.options.scoring,
            contract=None if self.options.contract == "off" else domain.contract,
            comparers=comparers.identities,
            state=with_policy(domain, trusted=trusted),
        )

    def _spec(self, found: FoundDomain) -> str:
        if found.origin is not Origin.PATH:
            return found.name
        path = self.shown(found.folder)
        return path if "/" in path else f"./{path}"


# What took selected tasks away: a gate is checked on all of them, or not at all.
#
# What is selected, the domains tell, in the process that records results, whatever was collected.

_SELECTORS = {
    "-k": "keyword",
    "-m": "markexpr",
    "--lf": "lf",
    "--sw": "stepwise",
    "--deselect": "deselect",
}
_SHOWN = 3


def deselection_reason(sop: SopSession) -> str:
    """Say what took selected tasks away, or nothing if all of them were asked for."""
    missing = missing_runs(sop)
    if missing:
        cause = " (the set-up of a test failed)" if sop.lacks_set_up else ""
        return f"no test asked for {_missing_text(sop, missing)}{cause}"
    unused = unused_agents(sop)
    if unused:
        return f"no test asked for a run of the typed agent {', '.join(unused)}"
    count, of = sop.plan.taken_away, len(sop.plan.selected)
    if not of and is_narrowed(sop.config):
        # If all of them go, the controller of xdist may be told of none.
        count = of = len(list(expected_runs(sop)))
    if not count:
        return ""
    reasons = [name for name, given in _SELECTORS.items() if _option(sop.config, given)]
    blame = ", ".join(reasons) or "node ids or another plugin"
    return f"{blame} took {count} of {of} selected {_noun(sop)} away"


def lacks_runs(sop: SopSession) -> bool:
    """Tell whether something was asked for that no test made, which fails the session."""
    return bool(missing_runs(sop) or unused_agents(sop))


def unused_agents(sop: SopSession) -> Sequence[str]:
    """Return the agents that were typed with the command, and that no test has had run.

    Marks of the tests may name other agents, and a fixture of the project may stand for them: what
    came of those says nothing of the agent that somebody wanted to know about.
    """
    plan = sop.plan
    if not (sop.options.types_agents and sop.makes_runs):
        return ()
    if is_narrowed(sop.config) and not (plan.selected or plan.made):
        # All was taken away, of which the controller of xdist may be told nothing.
        return ()
    every: Sequence[Collection[RunKey]] = (plan.selected, plan.planned, plan.deselected, plan.made)
    asked = {key.agent for part in every for key in part} | {*sop.given}
    if sop.options.shard is not None:
        # The hash may leave a shard without a task of theirs.
        asked |= {*plan.agents}
    is_over = any(outcome is not Outcome.NOT_RUN for outcome in plan.made.values())
    if plan.fixture and is_over and not sop.has_agents:
        # Runs are filed under the agent, whoever makes them.
        asked = {*sop.given}
    return [str(one) for one in sop.options.agents if not {one.name, one.spec} & asked]


def missing_runs(sop: SopSession) -> Mapping[RunKey, None]:
    """Return the selected runs that neither an item nor a deselection accounts for.

    A worker may have died before it collected anything, a conftest may have emptied the list of
    items, tests may be of other domains than the options name: such a run was not asked for by
    anyone, and counts as `not_run`.
    """
    plan = sop.plan
    if plan.missing is not None:
        return plan.missing
    if not sop.makes_runs or is_narrowed(sop.config):
        return {}
    planned, selected, gone = plan.planned, plan.selected, plan.deselected
    found = [key for key in selected if not (key in planned or key in gone or key in plan.made)]
    # With a mark a test may ask for another agent, or for another number of trials.
    known = {
        (key.domain, key.task) for every in (selected, planned, gone, plan.made) for key in every
    }
    found += [key for key in expected_runs(sop) if (key.domain, key.task) not in known]
    return dict.fromkeys(found)


def whole_plan(sop: SopSession) -> dict[RunKey, None]:
    """Return the denominator: what items ask for, and what is missing."""
    return {**sop.plan.planned, **missing_runs(sop)}


def expected_runs(sop: SopSession) -> Iterator[RunKey]:
    """Yield the runs that the options select by themselves, whatever is collected."""
    for active in _demanded(sop):
        ids = active.domain.task_ids
        for trial in range(1, sop.options.trials + 1):
            for place in active.positions:
                for agent in sop.agents:
                    yield RunKey(active.domain.name, ids[place], trial, agent)


def _demanded(sop: SopSession) -> Sequence[ActiveDomain]:
    """Return the domains whose selected tasks must all be accounted for.

    What only the configuration names says which tasks tests may use, and demands none. If tests
    were given that ask for no run at all, such as for a toolbox alone, nothing is demanded either.
    """
    options, plan = sop.options, sop.plan
    if options.shard is not None:
        # Other shards rely on it that this one makes its part, whoever has named the domain.
        configured = sop.domains if sop.has_domains else ()
        marked = (sop.find_active(name) for name in plan.specs)
        return [*dict.fromkeys((*configured, *marked))]
    is_builtin = bool(options.named) or (
        sop.config.args_source is not pytest.Config.ArgsSource.ARGS
    )
    asked: Sequence[Collection[RunKey]] = (plan.selected, plan.planned, plan.deselected, plan.made)
    if options.typed_domains and (is_builtin or any(asked)):
        return sop.domains
    return sop.find(options.named) if options.named else ()


class SilencedTests(NamedTuple):
    """Tests of tasks, by their ids: not one report came of them; they passed and their runs not."""

    unreported: Sequence[str]
    unearned: Sequence[str]


def silenced_tests(
    sop: SopSession, reported: Mapping[str, bool], breaking: Iterable[RunRecord]
) -> SilencedTests:
    """Find what a plugin or a conftest kept from running, or let pass, in the place of pytest.

    Whoever does so answers for the project's own tests. That a task was run, and was right, only
    its run can tell.

    Args:
        sop: the session, of which pytest has run all tests that it meant to.
        reported: the ids of tests, each with whether it ever did anything but pass.
        breaking: the runs that broke a rule which fails their tests.
    """
    plan, broken = sop.plan, {one.key for one in breaking}
    builtin = plan.builtin.keys
    tests = {**builtin, **plan.tests.keys}
    return SilencedTests(
        [
            nodeid
            for nodeid, key in tests.items()
            # A budget passes over tests whose runs it does not let begin, and counts them itself.
            if nodeid not in reported and (key in plan.made or not sop.options.budget)
        ],
        [
            nodeid
            for nodeid, key in builtin.items()
            if reported.get(nodeid) is False
            and (plan.made.get(key) is not Outcome.CORRECT or key in broken)
        ],
    )


def silenced_lines(sop: SopSession, found: SilencedTests) -> Iterator[str]:
    """Say which tests of tasks count as failed, since they were not run or passed unearned."""
    for ids, why in (
        (found.unreported, "never ran to a report"),
        (found.unearned, "passed although their runs are not correct"),
    ):
        keys = filter(None, map(sop.plan.key, ids))
        names = [*dict.fromkeys(f"{key.domain}/{key.task}" for key in keys)]
        if names:
            count = counted(len(ids), "test of a task", "tests of tasks")
            yield f"{count} {why}, which fails the session: {_some(names)}"


def _some(names: Sequence[str]) -> str:
    more = f" and {len(names) - _SHOWN} more" if len(names) > _SHOWN else ""
    return f"{', '.join(names[:_SHOWN])}{more}"


def _missing_text(sop: SopSession, missing: Mapping[RunKey, None]) -> str:
    """Count what is missing, and name whole domains by their name."""
    every = {**sop.plan.selected, **dict.fromkeys(expected_runs(sop)), **missing}
    names: list[str] = []
    for domain in dict.fromkeys(key.domain for key in missing):
        tasks = dict.fromkeys(key.task for key in missing if key.domain == domain)
        of = {key.task for key in every if key.domain == domain}
        names += [f"all of {domain}"] if len(tasks) == len(of) else [f"{domain}/{t}" for t in tasks]
    return f"{len(missing)} of {len(every)} selected {_noun(sop)}: {_some(names)}"


def _noun(sop: SopSession) -> str:
    several = sop.options.trials > 1 or any(key.trial > 1 for key in sop.plan.selected)
    return "runs" if several else "tasks"


def is_narrowed(config: pytest.Config) -> bool:
    """Tell whether options of pytest, or ids, may take items away."""
    given = any(_option(config, name) for name in _SELECTORS.values())
    return given or any("::" in argument for argument in config.args)


def named_tasks(sop: SopSession) -> Sequence[str]:
    """Return, as an option, each task that was selected by its name and not with its domain."""
    values = [value for value in sop.options.domains if "::" in value]
    if not values:
        return ()
    found = find_domains(sop.options.domains, sop.where)
    whole = {one.name for one in found if one.task is None}
    named = [one for one in found if one.name not in whole]
    return sorted(f"--sop-domain={one.name}::{one.task}" for one in named)


def _option(config: pytest.Config, name: str) -> bool:
    return bool(config.getoption(name, None))


# Whether what is asked for could be written, tried before a model is paid for.


def check_writable(
    sop: SopSession, option: str, path: Path, attempt: Callable[[Path], None] = try_writing
) -> None:
    """Refuse a file that the disk does not take.

    Args:
        sop: the session.
        option: what asks for the file.
        path: the file.
        attempt: tries to write it as it will be written, and raises `OSError` if it cannot.

    Raises:
        pytest.UsageError: names the option, the file, and why.
    """
    try:
        attempt(path)
    except OSError as fault:
        why = fault.strerror or str(fault)
        msg = f"{option}: {sop.shown(path)} cannot be written: {why}\nname a place that can be"
        raise pytest.UsageError(msg) from None
